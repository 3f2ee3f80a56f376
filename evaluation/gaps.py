"""The silences between subtitle blocks (EDOS, Appendix C, Figure 5), and whether 5 seconds are the right cut between
dialogues.

    python evaluation/gaps.py SOURCE... --scripts FOLDER --out evaluation/gaps

reads each source as `edos curate` does and writes to the folder:

    gaps.json     for each source histogram and quantiles of the gaps, and the length of the dialogues that each cut \
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
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import unnest
from edos_dataset.commands.curate import SHARD_SENTENCES, subtitles_to_dialogues
from edos_dataset.runs.phases import run_stage
from edos_dataset.runs.pipeline import Stage, count_units
from edos_dataset.runs.recipes import override
from edos_dataset.runs.run import pack
from edos_dataset.runs.shards import replacing, write_text
from edos_dataset.segmentation.turns.stage import SegmentTurns
from edos_dataset.sources.inventory import estimate_sentences, find_films
from evaluation.scene_breaks import judge_thresholds, silences_of_films

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, LONGEST = 0.25, 20.0
"""Seconds: width of a bin of the histogram, and where the last one ends."""

CUT = 5.0
"""Seconds: the papers' cut."""

CUTS: tuple[float, ...] = tuple(np.arange(1, 15.01, 0.5).tolist())
"""Seconds: the cuts that are tried."""

PAPERS_TURNS = 4.70
"""Turns per dialogue of the papers' OpenSubtitles dialogues (Xie & Pu, Table 1)."""

QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")  # Okabe and Ito (2008)
DASHES = ("-", "--", "-.", ":")


def run_stages(table: pa.Table, stages: Sequence[Stage]) -> pa.Table:
    """Run stages over a table, without what they drop."""
    for stage in stages:
        table, _, _ = run_stage(stage, stage, table)
    return table


def block_gaps(table: pa.Table) -> np.ndarray:
    """Return the seconds between each two adjacent blocks of LINES, float64; negative where blocks overlap, NaN where a
    time is missing.
    """
    lines, offsets = unnest(table, "lines")
    start, end = (lines.field(name).to_numpy(zero_copy_only=False) for name in ("start", "end"))
    first, last = (lines.field(name).to_numpy() for name in ("first_block", "last_block"))
    adjacent = first[1:] != last[:-1]
    inner = offsets[1:-1]
    adjacent[inner[(inner > 0) & (inner < len(lines))] - 1] = False
    gaps: np.ndarray = (start[1:] - end[:-1])[adjacent]
    return gaps


def describe_gaps(gaps: np.ndarray) -> dict[str, Any]:
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
            for stage in override(subtitles_to_dialogues(), [f"turns.max_pause={cut}", f"dialogues.gap={cut}"])
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


def read_source(source: Path) -> tuple[np.ndarray, pa.Table]:
    """Return the gaps between the blocks of a source, and its SENTENCES."""
    read, *others = [stage for stage in subtitles_to_dialogues()[:3] if isinstance(stage, Stage)]
    films = find_films([source], "en").films
    gaps, sentences = [], []
    for shard in pack(films, estimate_sentences(films), SHARD_SENTENCES):
        lines = run_stages(shard, [read])
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


def draw_blocks(axes: "Axes", sources: Mapping[str, Mapping[str, Any]]) -> None:
    """Draw the histograms as steps, counts on a logarithmic scale."""
    edges = np.arange(round(LONGEST / WIDTH) + 1) * WIDTH
    for number, (name, row) in enumerate(sources.items()):
        counts = np.array(row["counts"], float)
        counts[counts == 0] = np.nan
        axes.stairs(
            counts,
            edges,
            color=COLOURS[number % 6],
            linestyle=DASHES[number % 4],
            linewidth=1.4,
            baseline=None,
            label=f"{name} ({row['gaps']:,} gaps)",
        )
    axes.axvline(CUT, color="black", linewidth=1)
    axes.annotate(
        f"{CUT:g} s",
        (CUT, 0.97),
        xycoords=("data", "axes fraction"),
        xytext=(4, 0),
        textcoords="offset points",
        va="top",
    )
    axes.set_yscale("log")
    axes.set(
        xlabel="Seconds from the end of a block to the start of the next",
        ylabel=f"Gaps per {WIDTH:g} s (logarithmic)",
        xlim=(0, LONGEST),
    )
    axes.set_title("Silences between adjacent subtitle blocks", fontsize=11)
    axes.legend(frameon=False)


def draw_cuts(axes: "Axes", cuts: Mapping[str, Any]) -> None:
    """Draw precision, recall and F1 by cut."""
    rows = cuts["thresholds"]
    for number, (measure, label) in enumerate(
        {"precision": "cuts that are at a scene break", "recall": "scene breaks that are cut", "f1": "F1"}.items()
    ):
        axes.plot(
            [row["seconds"] for row in rows],
            [100 * row[measure] for row in rows],
            color=COLOURS[number],
            linestyle=DASHES[number],
            label=label,
        )
    axes.plot(cuts["best"]["seconds"], 100 * cuts["best"]["f1"], "o", color=COLOURS[2])
    axes.axvline(CUT, color="black", linewidth=1)
    axes.set(xlabel="Cut: silence in seconds", ylabel="%", ylim=(0, 101), xlim=(CUTS[0], CUTS[-1]))
    axes.set_title(f"Silences as scene breaks ({cuts['scene_breaks']:,} breaks, {cuts['films']} films)", fontsize=11)
    axes.legend(loc="upper right", frameon=False)


def draw_lengths(axes: "Axes", sources: Mapping[str, Mapping[str, Any]]) -> None:
    """Draw the turns per dialogue by cut."""
    for number, (name, source) in enumerate(sources.items()):
        rows = source["dialogues"]
        style = {"color": COLOURS[number % 6], "linestyle": DASHES[number % 4]}
        axes.plot([row["seconds"] for row in rows], [row["turns_per_dialogue"] for row in rows], **style, label=name)
    axes.axhline(PAPERS_TURNS, color="#666666", linewidth=1)
    axes.annotate("the papers: 4.70", (CUTS[-1], PAPERS_TURNS), xytext=(-2, 3), textcoords="offset points", ha="right")
    axes.axvline(CUT, color="black", linewidth=1)
    axes.set(
        xlabel="Cut: silence in seconds", ylabel="Turns per clean dialogue", ylim=(0, None), xlim=(CUTS[0], CUTS[-1])
    )
    axes.set_title("Length of the dialogues", fontsize=11)
    axes.legend(loc="upper left", edgecolor="none", framealpha=1)


def save_picture(path: Path, *panels: Callable[["Axes"], None]) -> None:
    """Draw panels side by side to a PNG file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2.2 + 5.0 * len(panels), 4.8), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        axes.grid(color="#DDDDDD", linewidth=0.6)
        axes.set_axisbelow(True)
        panel(axes)
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png", dpi=150, metadata={"Software": None})  # the same bytes whoever draws


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
