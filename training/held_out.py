"""The parts of third-party labelled sets that are held out from all training, since `evaluation/domain.py` measures on
them.

A set with a file for evaluation holds out that whole file (`HELD_OUT_FILES`). Of a set in one file a fifth is held out
by a digest, so that training and evaluation agree without a list.
"""

import re
from hashlib import sha256

from edos_dataset.crowd.splits import plain_text

HELD_OUT_FILES = {"meld": "meld/dev_sent_emo.csv", "goemotions": "goemotions/dev.tsv", "swda": "swda/val.txt"}
"""Source → the file of the data folder that is held out."""

SPLIT_BY_DIGEST = ("emorynlp", "emotyda", "mustard", "xed", "dailydialog", "esconv")
"""Sources in one file, part of which is held out."""

ONE_IN = 5
"""One in this many keys is held out."""

READINGS_ONE_IN = 8
"""One in this many of the dialogues that we labelled by reading is held out."""


def held_out(source: str, key: str) -> bool:
    """Return whether a dialogue or sentence of a set in one file is held out from training.

    Args:
        source: one of `SPLIT_BY_DIGEST`.
        key: the dialogue's id; for "xed" the sentence, whose letters and digits are compared in lower case, so that
            copies are in the same split.

    Raises:
        ValueError: the set has a separate file for evaluation, or is unknown.
    """
    if source not in SPLIT_BY_DIGEST:
        raise ValueError(
            f"{source!r} is not split by a digest: {', '.join(SPLIT_BY_DIGEST)} are; the others have files for it, "
            f"{', '.join(HELD_OUT_FILES.values())}"
        )
    same = plain_text(key) if source == "xed" else key
    return int.from_bytes(sha256(f"{source}\n{same}".encode()).digest()[:8], "big") % ONE_IN == 0


def held_out_reading(dialogue_id: str) -> bool:
    """Return whether a dialogue of `labels.readings` is held out for validation and calibration: one in eight.

    Args:
        dialogue_id: as returned by `read_readings`; crowd tasks about one dialogue, `ID` and `ID#2`, are in the same
            split.
    """
    digest = sha256(b"films\0" + re.sub(r"#\d+$", "", dialogue_id).encode()).digest()
    return digest[-1] % READINGS_ONE_IN == 0
