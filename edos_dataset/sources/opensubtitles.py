"""OPUS OpenSubtitles XML: whole sentences with the times of their blocks."""

import re
import unicodedata

import numpy as np
from lxml import etree

from edos_dataset.sources.parsed import Facts, Parsed, ReadError
from edos_dataset.sources.times import check_times, parse_times


def parse_opus(data: bytes, language: str | None = None) -> Parsed:
    """Read an OPUS OpenSubtitles XML file."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise ReadError("malformed_xml", str(error)) from error
    ids, texts, values, kinds, first, last = [], [], [], [], [], []
    for sentence in root.iter("s"):
        words, gaps = [], []
        for element in sentence.iter():
            if element.tag == "time":
                values.append(element.get("value", ""))
                kinds.append(element.get("id", "").endswith("S"))
            elif (element.text or "").strip():
                words.append(element.text.strip())
                gaps.append(len(values))
            if element is not sentence and (element.tail or "").strip():
                words.append(element.tail.strip())
                gaps.append(len(values))
        if words:
            ids.append(int(sentence.get("id", len(ids) + 1)))
            texts.append(re.sub(r" (?=[.,!?;:]|\.|'\w)", "", " ".join(words)))
            first.append(gaps[0])
            last.append(gaps[-1])
    if not texts:
        raise ReadError("not_subtitles", "no sentence found")
    times = parse_times(values)
    opens = np.concatenate([[False], kinds])
    closes = np.concatenate([~np.array(kinds, dtype=bool), [False]])
    starts = np.where(opens, np.concatenate([[np.nan], times]), np.nan)
    ends = np.where(closes, np.concatenate([times, [np.nan]]), np.nan)
    is_block = opens.astype(bool)
    is_block[first] = True
    is_block[last] = True
    number = (np.cumsum(is_block) - 1).astype(np.int32)
    starts[is_block], ends[is_block] = check_times(starts[is_block], ends[is_block])
    bad = int(np.isnan(starts[is_block]).sum() + np.isnan(ends[is_block]).sum())
    texts = [unicodedata.normalize("NFC", text) for text in texts]
    facts = Facts()
    return Parsed(np.array(ids, dtype=np.int32), texts, starts[first], ends[last], number[first], number[last], bad, "utf-8", 1.0, facts)
