"""The silences between subtitle blocks (EDOS, Appendix C, Figure 5), and whether 5 seconds are the right cut between
dialogues.

    python evaluation/gaps.py SOURCE... --scripts FOLDER --out evaluation/gaps

reads each source as `edos curate` does and writes to the folder:

    gaps.json     for each source histogram and quantiles of the gaps, and the length of the dialogues that each cut
        gives;
                  each cut against the scene breaks of the scripts, for the films of all sources that have one
    blocks.png    the histograms
    cuts.png      precision, recall and F1 of the cuts, and the length of the dialogues

A gap runs from the end of a block to the start of the next; of OPUS documents, which hold sentences, only gaps between
sentences are known.
"""

import argparse
import json
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from edos_dataset.arrays import unnest
from edos_dataset.commands.built_in import subtitles_to_dialogues
from edos_dataset.commands.curate import SHARD_SENTENCES, cut_films
from edos_dataset.runs.phases import run_stage
from edos_dataset.runs.pipeline import Stage, count_units
from edos_dataset.runs.settings import override
from edos_dataset.runs.shards import write_text
from edos_dataset.segmentation.turns.stage import SegmentTurns
from edos_dataset.sources.inventory import find_films
from evaluation.gaps_pictures import CUT, CUTS, LONGEST, WIDTH, draw_blocks, draw_cuts, draw_lengths, save_picture
from evaluation.scene_breaks import judge_thresholds, silences_of_films

QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)


def run_stages(table: pa.Table, stages: Sequence[Stage]) -> pa.Table:
    """Run stages over a table, without what they drop."""
    for stage in stages:
        table, _, _ = run_stage(stage, stage, table)
    return table


def block_gaps(table: pa.Table) -> npt.NDArray[np.float64]:
    """Return the seconds between each two adjacent blocks of LINES, float64; negative where blocks overlap, NaN where a
    time is missing.
    """
    lines, offsets = unnest(table, "lines")
    start, end = (lines.field(name).to_numpy(zero_copy_only=False) for name in ("start", "end"))
    first, last = (lines.field(name).to_numpy() for name in ("first_block", "last_block"))
    adjacent = first[1:] != last[:-1]
    inner = offsets[1:-1]
    adjacent[inner[(inner > 0) & (inner < len(lines))] - 1] = False
    gaps: npt.NDArray[np.float64] = (start[1:] - end[:-1])[adjacent]
    return gaps


def describe_gaps(gaps: npt.NDArray[np.float64]) -> dict[str, Any]:
    """Count gaps in bins of WIDTH seconds from 0 to LONGEST, and outside; give quantiles and shares of those that are
    known.
    """
    known = gaps[~np.isnan(gaps)]
    counts, _ = np.histogram(known, np.linspace(0, LONGEST, round(LONGEST / WIDTH) + 1))
    return {
        "gaps": len(gaps),
        "unknown": int(np.isnan(gaps).sum()),
        "overlaps": int((known < 0).sum()),
        "longer": int((known > LONGEST).sum()),
        "bin_seconds": WIDTH,
        "counts": counts.tolist(),
        "quantiles": {f"{share:g}": round(float(np.quantile(known, share)), 3) for share in QUANTILES}
        if len(known)
        else {},
        "share_above": {
            f"{seconds:g}": round(float((known > seconds).mean()), 4) for seconds in (1, 2, 3, 4, 5, 7.5, 10, 15)
        }
        if len(known)
        else {},
    }


def dialogue_lengths(sentences: pa.Table, cuts: Sequence[float]) -> list[dict[str, float]]:
    """Cut SENTENCES into dialogues at each threshold, and clean them by the papers' rules; say how long they are."""
    rows = []
    for cut in cuts:
        stages = [
            stage
            for stage in override(
                subtitles_to_dialogues(), [f"turns.max_pause={cut}", "dialogues.scenes=null", f"dialogues.gap={cut}"]
            )
            if isinstance(stage, Stage)
        ]
        raw = run_stages(sentences, stages[3:5])
        clean = run_stages(raw, stages[5:6])
        counts = {
            f"{name}turns_per_dialogue": round(count_units(made, "turns") / max(made.num_rows, 1), 3)
            for name, made in (("", clean), ("raw_", raw))
        }
        rows.append({"seconds": cut, **counts, "dialogues": clean.num_rows})
    return rows


def read_source(source: Path) -> tuple[npt.NDArray[np.float64], pa.Table]:
    """Return the gaps between the blocks of a source, and its SENTENCES."""
    read, *others = [stage for stage in subtitles_to_dialogues()[:3] if isinstance(stage, Stage)]
    films = find_films([source], "en").films
    gaps, sentences = [], []
    for shard in cut_films(films, SHARD_SENTENCES):
        lines = run_stages(shard.rows, [read])
        gaps.append(block_gaps(lines))
        sentences.append(run_stages(lines, others))
    return np.concatenate(gaps), pa.concat_tables(sentences)


def evaluate(sources: Sequence[Path], scripts: Path | None) -> dict[str, Any]:
    """Measure all that gaps.json holds.

    Raises:
        ValueError: a source cannot be read, or no film has a script.
    """
    common = Path(os.path.commonpath([source.resolve().parent for source in sources]))
    results: dict[str, Any] = {"scorer": SegmentTurns().scorer, "sources": {}}
    tables = []
    for source in sources:
        gaps, sentences = read_source(source)
        name = source.resolve().relative_to(common).as_posix()
        results["sources"][name] = {
            "documents": sentences.num_rows,
            **describe_gaps(gaps),
            "dialogues": dialogue_lengths(sentences, CUTS),
        }
        tables.append(sentences)
    if scripts:
        results["cuts"] = judge_thresholds(silences_of_films(pa.concat_tables(tables), scripts), CUTS)
    return results


def main() -> None:
    """Measure, write and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", type=Path, nargs="+", metavar="SOURCE")
    parser.add_argument("--scripts", type=Path, help="folder of transcripts or screenplays of the films")
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    arguments = parser.parse_args()
    try:
        results = evaluate(arguments.sources, arguments.scripts)
    except ValueError as error:
        raise SystemExit(f"error: {error}") from None
    sources, cuts = results["sources"], results.get("cuts")
    write_text(arguments.out / "gaps.json", json.dumps(results, indent=1) + "\n")
    save_picture(arguments.out / "blocks.png", partial(draw_blocks, sources=sources))
    scenes = [partial(draw_cuts, cuts=cuts)] if cuts else []
    save_picture(arguments.out / "cuts.png", *scenes, partial(draw_lengths, sources=sources))
    for name, source in sources.items():
        print(f"{name}: {source['gaps']:,} gaps, quantiles {source['quantiles']}, share above {source['share_above']}")  # noqa: T201
    if cuts:
        print(f"cut at {CUT:g} s: {cuts['thresholds'][CUTS.index(CUT)]}")  # noqa: T201
        print(f"best: {cuts['best']}, 95 % interval {cuts['best_interval']}")  # noqa: T201


if __name__ == "__main__":
    main()
