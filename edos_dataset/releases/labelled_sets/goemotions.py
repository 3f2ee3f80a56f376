"""GoEmotions: comments of Reddit with 27 emotions and neutral (Demszky et al., 2020)."""

from collections.abc import Iterator
from pathlib import Path

from edos_dataset.releases.labelled_sets.record import LabelledDialogue, Turn, dialogue_of, lines_of
from edos_dataset.releases.labelled_sets.texts import plain_text, unquoted, with_names
from edos_dataset.releases.raw import Reject


def read_goemotions(path: Path) -> Iterator[LabelledDialogue | Reject]:
    """Yield the comments of `train.tsv`, `dev.tsv` or `test.tsv`, lines `text TAB numbers TAB id`.

    Args:
        path: the file; `labels.txt` beside it names the labels, a line each, numbers from 0.

    Raises:
        ValueError: there is no `labels.txt`.
    """
    labels = path.with_name("labels.txt")
    if not labels.is_file():
        raise ValueError(f"{labels} is not there: it names the labels of {path.name}, a line each")
    names = dict(enumerate(line.strip() for _, line in lines_of(labels)))
    for number, line in lines_of(path):
        values = line.split("\t")
        if len(values) != 3:
            yield Reject(path.name, number, "wrong_columns", line[:60])
            continue
        text, given, name = values
        if not all(value.strip().isdecimal() and int(value) in names for value in given.split(",")):
            yield Reject(path.name, number, "unknown_label", f"{name}: {given}")
            continue
        turn = Turn(
            number, with_names(plain_text(unquoted(text))), None, tuple(names[int(value)] for value in given.split(","))
        )
        yield from dialogue_of("goemotions", path.name, name, [turn])
