"""MELD: utterances of Friends, each with one of seven emotions (Poria et al., 2019)."""

from collections.abc import Iterator
from pathlib import Path

from edos_dataset.releases.labelled_sets.record import LabelledDialogue, Turn, dialogue_of
from edos_dataset.releases.labelled_sets.texts import plain_text, spoken_text
from edos_dataset.releases.raw import Reject, read_csv

_COLUMNS = ("Utterance", "Speaker", "Emotion", "Dialogue_ID", "Utterance_ID")


def read_meld(path: Path) -> Iterator[LabelledDialogue | Reject]:
    """Yield the dialogues of `train_sent_emo.csv`, `dev_sent_emo.csv` or `test_sent_emo.csv`, their utterances by
    number.

    Some dialogues lack utterances that MELD's authors left out; what is there makes the dialogue. A row that cannot be
    placed is rejected.

    Raises:
        ValueError: the file is no CSV in UTF-8, or lacks a column.
    """
    dialogues: dict[str, dict[int, Turn]] = {}
    for line, row in read_csv(path, _COLUMNS):
        if isinstance(row, Reject):
            yield row
            continue
        name, number = row["Dialogue_ID"].strip(), row["Utterance_ID"].strip()
        turns = dialogues.setdefault(name, {})
        if not name or not number.isdecimal():
            yield Reject(path.name, line, "no_id", f"{name}: {number}")
        elif int(number) in turns:
            yield Reject(path.name, line, "repeated_id", f"{name}: {number}")
        else:
            text, speaker = spoken_text(row["Utterance"]), plain_text(row["Speaker"]) or None
            turns[int(number)] = Turn(line, text, speaker, (row["Emotion"].strip().lower(),))
    for name, turns in dialogues.items():
        yield from dialogue_of("meld", path.name, name, (turns[number] for number in sorted(turns)))
