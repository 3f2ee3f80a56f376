"""What of other makers' labelled sets no model may learn from: `evaluation/domain.py` measures there.

A set that comes with a part for this keeps it whole (`HELD_OUT_FILES`). Of a set with one file a part is held out, by
a digest, so that training and evaluation agree without a list.
"""

from hashlib import sha256

from edos_dataset.crowd.splits import plain_text

HELD_OUT_FILES = {"meld": "meld/dev_sent_emo.csv", "goemotions": "goemotions/dev.tsv", "swda": "swda/val.txt"}
"""Source → the file of the data folder that is held out whole."""

READINGS = "films"
"""The turns of films that we labelled by reading."""

PARTED = {"emorynlp": 5, "xed": 5, "dailydialog": 5, "esconv": 5, READINGS: 8}
"""Sources with one file, of which a part is held out: one key of so many."""


def held_out(source: str, key: str) -> bool:
    """Tell whether a dialogue or sentence of a set with one file is kept from training.

    Args:
        source: one of `PARTED`.
        key: the dialogue's id; for "xed" the sentence itself, of which only letters and digits count, lower-cased, so
            that copies are on the same side.

    Raises:
        ValueError: the set has files of its own for this, or is not known.
    """
    if source not in PARTED:
        raise ValueError(
            f"{source!r} is not shared out by a digest: {', '.join(PARTED)} are; the others have files for it, "
            f"{', '.join(HELD_OUT_FILES.values())}"
        )
    same = plain_text(key) if source == "xed" else key
    return int.from_bytes(sha256(f"{source}\n{same}".encode()).digest()[:8], "big") % PARTED[source] == 0
