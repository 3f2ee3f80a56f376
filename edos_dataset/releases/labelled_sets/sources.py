"""The labelled sets that can be read, where they lie, and what may be done with what is learned from them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from edos_dataset.releases.labelled_sets.dailydialog import read_dailydialog
from edos_dataset.releases.labelled_sets.emorynlp import read_emorynlp
from edos_dataset.releases.labelled_sets.esconv import read_esconv
from edos_dataset.releases.labelled_sets.goemotions import read_goemotions
from edos_dataset.releases.labelled_sets.meld import read_meld
from edos_dataset.releases.labelled_sets.record import LabelledDialogue
from edos_dataset.releases.labelled_sets.swda import read_swda
from edos_dataset.releases.labelled_sets.xed import read_xed
from edos_dataset.releases.raw import Reject

Reader = Callable[[Path], Iterator[LabelledDialogue | Reject]]


class LabelledSet(NamedTuple):
    """A labelled set.

    Attributes:
        read: its reader, of one file.
        files: split → its files, below the folder of the data; a release has them all, a copy may lack some.
        licence: as its owners state it.
        commercial: whether weights learned from it may be used commercially as far as its licence goes.
    """

    read: Reader
    files: dict[str, tuple[str, ...]]
    licence: str
    commercial: bool


SOURCES: dict[str, LabelledSet] = {
    "meld": LabelledSet(
        read_meld,
        {part: (f"meld/{part}_sent_emo.csv",) for part in ("train", "dev", "test")},
        "GPL v3",
        False,  # whether weights are a work "based on" GPL data is open; industry mostly stays away
    ),
    "dailydialog": LabelledSet(
        read_dailydialog,
        {"train": ("dailydialog/train.json",), "dev": ("dailydialog/valid.json",), "test": ("dailydialog/test.json",)},
        "CC BY-NC-SA 4.0",
        False,
    ),
    "emorynlp": LabelledSet(
        read_emorynlp, {part: (f"emorynlp/{part}.json",) for part in ("train", "dev", "test")}, "Apache-2.0", True
    ),
    "xed": LabelledSet(read_xed, {"all": ("xed/en-annotated.tsv", "xed/neu_en.txt")}, "CC BY 4.0", True),
    "goemotions": LabelledSet(
        read_goemotions,
        {part: (f"goemotions/{part}.tsv",) for part in ("train", "dev", "test")},
        "CC BY 4.0",
        True,
    ),
    "esconv": LabelledSet(
        read_esconv, {part: (f"esconv/{part}.tsv",) for part in ("train", "dev", "test")}, "CC BY-NC 4.0", False
    ),
    "swda": LabelledSet(
        read_swda,
        {"train": ("swda/train.txt",), "dev": ("swda/val.txt",), "test": ("swda/test.txt",)},
        "CC BY-NC-SA 3.0; the repository GPL v3",
        False,
    ),
}
"""Name → labelled set."""
