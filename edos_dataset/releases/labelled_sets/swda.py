"""The Switchboard dialogue acts: telephone calls, each utterance with an act (Jurafsky et al., 1997)."""

import re
from collections.abc import Iterator
from pathlib import Path

from edos_dataset.releases.labelled_sets.record import LabelledDialogue, Turn, dialogue_of, lines_of
from edos_dataset.releases.labelled_sets.texts import spoken_text
from edos_dataset.releases.raw import Reject

_TRANSCRIBER = re.compile(r"\*.*|\b[a-z]+_[a-z]+\b")


def read_swda(path: Path) -> Iterator[LabelledDialogue | Reject]:
    """Yield the conversations of `train.txt`, `val.txt` or `test.txt`, lines `speaker|text|act`, which "# NUMBER"
    opens; a file that doesn't number them is one.

    Turns are the utterances as they stand, several of one speaker in a row, for each has an act of its own. Noises and
    the transcribers' remarks ("child_talking", and all behind "*") go.
    """
    name, turns = path.stem, list[Turn | Reject]()
    for number, line in lines_of(path):
        if line.startswith("#"):
            yield from dialogue_of("swda", path.name, name, turns)
            name, turns = line.strip("# "), []
            continue
        values = line.split("|")
        if len(values) != 3:
            turns.append(Reject(path.name, number, "wrong_columns", line[:60]))
        else:
            speaker, text, act = values
            said = spoken_text(_TRANSCRIBER.sub("", text))
            turns.append(Turn(number, said, speaker.strip() or None, (act.strip().replace('_"', ""),)))
    yield from dialogue_of("swda", path.name, name, turns)
