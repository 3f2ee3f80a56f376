"""The dots by which subtitles mark that a sentence goes on."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import flags


def smooth(texts: pa.StringArray, starts: np.ndarray) -> pa.StringArray:
    """Take away the marks of continuation where a turn goes on: "if it..." and "...rains" are "if it rains"."""
    opens = flags(pc.match_substring_regex(texts, r"^(?:\.\.\.|…)"))
    opens[starts] = False
    if not opens.any():
        return texts
    closes = np.r_[opens[1:], False]
    texts = pc.if_else(pa.array(opens), pc.replace_substring_regex(texts, r"^(?:\.\.\.|…)\s*", ""), texts)
    return pc.if_else(pa.array(closes), pc.replace_substring_regex(texts, r"\s*(?:\.\.\.|…)$", ""), texts)
