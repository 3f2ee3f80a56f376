"""The effect of three rules before turn segmentation, on subtitles whose speakers are known from scripts: sentences
that continue after a dash, missing full stops, and words broken by character recognition.

    python evaluation/sentence_borders.py DATA_DIR [--shown build/boundaries.txt]

For each rule alone and for all together: the boundaries that it removes and adds, each with the speakers' label
("same", "new", or unknown), and the metrics of the default recipe's turns, on all labelled boundaries with a confidence
of at least 0.5. A boundary that is not made counts nowhere, so wrong boundaries are also given as a count. The
boundaries can be written to a file for reading. Writes evaluation/sentence_borders.json.
"""

import argparse
import re
from collections import Counter
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.machine import write_result
from edos_dataset.arrays import unnest
from edos_dataset.cleaning.lines import CleanLines
from edos_dataset.runs.shards import write_text
from edos_dataset.segmentation.sentences import SplitSentences
from edos_dataset.segmentation.turns.stage import SegmentTurns
from training.turns.data import Split, read_frasier, read_friends_srt
from training.turns.labels import split_lines

CORPORA: dict[str, Callable[[Path, Split], pa.Table]] = {
    "frasier": lambda data_dir, split: read_frasier(data_dir, plain=False, split=split),
    "friends_srt": lambda data_dir, split: read_friends_srt(data_dir, split=split),
}
RULES = {
    "none": (False, False, False),
    "go_on_at_dash": (True, False, False),
    "end_at_capital": (False, True, False),
    "mend": (False, False, True),
    "all": (True, True, True),
}
"""Name → go_on_at_dash, end_at_capital, mend."""

SAID = {0: "new", 1: "same", -1: "unknown"}
_NOT_LETTER = re.compile(r"[\W_]+")

Boundaries = dict[tuple[str, int], tuple[str, str]]


def split_by(rule: str) -> Split:
    """Return the splitter of LINES by a rule in RULES."""
    at_dash, at_capital, mend = RULES[rule]
    stage = SplitSentences(go_on_at_dash=at_dash, end_at_capital=at_capital)
    return partial(split_lines, clean=CleanLines(mend=mend), split=stage)


def boundaries(table: pa.Table) -> Boundaries:
    """Return the speakers' label of every boundary between sentences, and the two sentences; keyed by document and
    number of letters before it, which no rule changes.
    """
    found: Boundaries = {}
    for row in table.select(["document_id", "sentences", "same_turn"]).to_pylist():
        letters, before = 0, ""
        for sentence, same in zip(row["sentences"], row["same_turn"], strict=True):
            found[row["document_id"], letters] = SAID[same], f"{before} | {sentence['text']}"
            letters += len(_NOT_LETTER.sub("", sentence["text"]))
            before = sentence["text"]
    return found


def turns(table: pa.Table) -> dict[str, float]:
    """Measure the turns of the default recipe on the labelled boundaries."""
    stage = SegmentTurns()
    begins = stage.begins(table, stage.score(table))
    same, sure = (table[name].combine_chunks().flatten().to_numpy() for name in ("same_turn", "label_confidence"))
    _, offsets = unnest(table, "sentences")
    known = (same >= 0) & (sure >= 0.5)
    known[offsets[:-1][np.diff(offsets) > 0]] = False
    wrong = (begins != (same == 0)) & known
    return {
        "seams": int(known.sum()),
        "wrong": int(wrong.sum()),
        "accuracy": round(1 - float(wrong.sum() / known.sum()), 4),
    }


def main() -> None:
    """Measure, and write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("--shown", type=Path)
    args = parser.parse_args()
    report: dict[str, Any] = {"date": date.today().isoformat()}
    shown: list[str] = []
    for corpus, read in CORPORA.items():
        tables = {rule: read(args.data_dir, split_by(rule)) for rule in RULES}
        plain = boundaries(tables["none"])
        report[corpus] = {}
        for rule, table in tables.items():
            here = boundaries(table)
            gone = {place: plain[place] for place in plain.keys() - here.keys()}
            made = {place: here[place] for place in here.keys() - plain.keys()}
            report[corpus][rule] = {
                "borders_gone": dict(sorted(Counter(said for said, _ in gone.values()).items())),
                "borders_made": dict(sorted(Counter(said for said, _ in made.values()).items())),
                **turns(table),
            }
            for kind, some in (("gone", gone), ("made", made)):
                shown += [f"{corpus}\t{rule}\t{kind}\t{said}\t{text}" for said, text in some.values()]
    if args.shown:
        write_text(args.shown, "\n".join(sorted(shown)) + "\n")
    write_result(Path(__file__).with_suffix(".json"), report)


if __name__ == "__main__":
    main()
