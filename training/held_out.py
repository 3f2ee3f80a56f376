"""What of other makers' labelled sets no model may learn from: `evaluation/domain.py` measures there.

A set that comes with a part for this keeps it whole (`HELD_OUT_FILES`). Of a set with one file a fifth is held out, by
a digest, so that training and evaluation agree without a list.
"""

import re
from hashlib import sha256

from edos_dataset.crowd.splits import plain_text

HELD_OUT_FILES = {"meld": "meld/dev_sent_emo.csv", "goemotions": "goemotions/dev.tsv", "swda": "swda/val.txt"}
"""Source → the file of the data folder that is held out whole."""

PARTED = ("emorynlp", "xed", "dailydialog", "esconv")
"""Sources with one file, of which a part is held out."""

ONE_IN = 5
"""One key of so many is held out."""

READINGS_ONE_IN = 8
"""One dialogue of so many is held out of those that we labelled by reading."""


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
    return int.from_bytes(sha256(f"{source}\n{same}".encode()).digest()[:8], "big") % ONE_IN == 0


def held_out_reading(dialogue_id: str) -> bool:
    """Tell whether a dialogue of `labels.readings` is kept from training, for validation and calibration: one of eight.

    Args:
        dialogue_id: as `read_readings` gives it; tasks of the crowd that show one dialogue, `ID` and `ID#2`, are on the
            same side.
    """
    digest = sha256(b"films\0" + re.sub(r"#\d+$", "", dialogue_id).encode()).digest()
    return digest[-1] % READINGS_ONE_IN == 0
