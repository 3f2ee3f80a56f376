"""The silences between subtitle blocks (EDOS, Appendix C, Figure 5), and whether 5 seconds is the right cut between
dialogues.

    python evaluation/gaps.py SOURCE... --scripts FOLDER --out evaluation/gaps

reads each source as `edos curate` does and writes to the folder:

    gaps.json     histogram and quantiles of each source's gaps, and dialogue lengths for each cut;
                  evaluation of each cut against scene breaks, for all films with a script
    blocks.png    the histograms
    cuts.png      precision, recall and F1 of the cuts, and the dialogue lengths

A gap is the time from the end of a block to the start of the next. OPUS documents contain sentences, so only gaps
between sentences are known.
"""

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from edos_dataset.arrays import unnest
from edos_dataset.commands.curate import SHARD_SENTENCES, cut_films
from edos_dataset.recipes.subtitles import subtitles_to_dialogues
from edos_dataset.runs.pipeline import Stage, count_units
from edos_dataset.runs.recipes import override
from edos_dataset.runs.run import run_stage
from edos_dataset.runs.shards import write_text
from edos_dataset.segmentation.turns.stage import SegmentTurns
from edos_dataset.sources.encodings import decode
from edos_dataset.sources.inventory import find_films
from evaluation.charts import COLOURS, DASHES, save_picture
from training.scenes.corpus import LEAST_SHARED, breaks_of_script
from training.transcripts.alignment import find_scripts
from training.transcripts.scripts import Speech, read_script

if TYPE_CHECKING:
    from matplotlib.axes import Axes


WIDTH, LONGEST = 0.25, 20.0
"""Width of a histogram bin and end of the last bin, in seconds."""

CUT = 5.0
"""The papers' cut, in seconds."""

CUTS: tuple[float, ...] = tuple(np.arange(1, 15.01, 0.5).tolist())
"""The cuts to evaluate, in seconds."""

PAPERS_TURNS = 4.70
"""Mean number of turns in the papers' OpenSubtitles dialogues (Xie & Pu, Table 1)."""


def draw_blocks(axes: "Axes", sources: Mapping[str, Mapping[str, Any]]) -> None:
    """Draw the histograms as steps, with counts on a logarithmic scale."""
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
    """Draw precision, recall and F1 of each cut."""
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
    """Draw the turns per dialogue for each cut."""
    for number, (name, source) in enumerate(sources.items()):
        rows = source["dialogues"]
        axes.plot(
            [row["seconds"] for row in rows],
            [row["turns_per_dialogue"] for row in rows],
            color=COLOURS[number % 6],
            linestyle=DASHES[number % 4],
            label=name,
        )
    axes.axhline(PAPERS_TURNS, color="#666666", linewidth=1)
    axes.annotate("the papers: 4.70", (CUTS[-1], PAPERS_TURNS), xytext=(-2, 3), textcoords="offset points", ha="right")
    axes.axvline(CUT, color="black", linewidth=1)
    axes.set(
        xlabel="Cut: silence in seconds", ylabel="Turns per clean dialogue", ylim=(0, None), xlim=(CUTS[0], CUTS[-1])
    )
    axes.set_title("Length of the dialogues", fontsize=11)
    axes.legend(loc="upper left", edgecolor="none", framealpha=1)


Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Silences:
    """The silences of one film, in seconds, by their relation to the scenes of its script.

    Attributes:
        at_breaks: [breaks] the longest silence between the last sentence known to be in a scene and the first in a
            later one.
        within: [boundaries] the silences between adjacent sentences of one scene.
        unplaced: number of breaks left out because times are missing there, or the sentences around them are not
            aligned.
    """

    at_breaks: Numbers
    within: Numbers
    unplaced: int


def silences_of_films(table: pa.Table, scripts: Path) -> list[Silences]:
    """Find the script of each film and relate the silences of the film to its scenes.

    Args:
        table: SENTENCES.
        scripts: folder of texts for `read_script`; files without speech are skipped.

    Returns:
        One entry for each film with a script.

    Raises:
        ValueError: no film has a script.
    """
    speeches = _read_scripts(scripts)
    sentences, offsets = unnest(table, "sentences")
    films = [sentences.slice(start, stop - start) for start, stop in zip(offsets[:-1], offsets[1:], strict=True)]
    chosen, shared = find_scripts(
        [film.field("text").to_pylist() for film in films], [[speech.text for speech in script] for script in speeches]
    )
    silences = [
        measure_film(film, speeches[script])
        for film, script, share in zip(films, chosen, shared, strict=True)
        if share >= LEAST_SHARED
    ]
    if not silences:
        raise ValueError(
            f"none of the {len(films)} films shares its words with any of the {len(speeches)} scripts in {scripts}"
        )
    return silences


def _read_scripts(folder: Path) -> list[list[Speech]]:
    scripts = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        try:
            scripts.append(read_script(decode(path.read_bytes(), None, "en")[0]))
        except ValueError:
            continue
    return scripts


def measure_film(sentences: pa.StructArray, speeches: Sequence[Speech]) -> Silences:
    """Relate the silences of a film to the scenes of its script.

    Args:
        sentences: structs of schema.LINE.
        speeches: the speeches of the script.
    """
    breaks = breaks_of_script(sentences.field("text").to_pylist(), speeches)
    start, end = (sentences.field(name).to_numpy(zero_copy_only=False) for name in ("start", "end"))
    silence = np.r_[np.nan, start[1:] - end[:-1]]
    longest = np.array(
        [np.fmax.reduce(silence[first : last + 1]) for first, last in zip(breaks.first, breaks.last, strict=True)],
        np.float64,
    )
    known = ~np.isnan(longest)
    within = silence[breaks.within]
    return Silences(longest[known], within[~np.isnan(within)], breaks.unplaced + int((~known).sum()))


def judge_thresholds(
    films: Sequence[Silences], thresholds: Sequence[float], seed: int = 0, samples: int = 1000
) -> dict[str, Any]:
    """Evaluate "a silence longer than this ends a scene" for each threshold.

    Args:
        films: their silences.
        thresholds: in seconds.
        seed: seed of the bootstrap over films, which gives the uncertainty of the best threshold.
        samples: number of bootstrap samples.

    Returns:
        `films`, `scene_breaks`, `unplaced_breaks` and `seams_within_scenes`: counts; `thresholds`: rows of `seconds`,
        `precision` (1 minus the fraction of cuts inside a scene), `recall` (fraction of scene breaks found), `f1`, and
        `cuts_a_film`; `best`: the row with the best F1, and `best_interval`, which contains the best threshold of 95 %
        of the samples.
    """
    limits = np.asarray(thresholds)[:, None]
    right = np.array([(film.at_breaks > limits).sum(1) for film in films], float)  # [films, thresholds]
    wrong = np.array([(film.within > limits).sum(1) for film in films], float)
    breaks = np.array([len(film.at_breaks) for film in films], float)
    precision, recall, f1 = _scores(right.sum(0), wrong.sum(0), breaks.sum())
    picks = np.random.default_rng(seed).integers(len(films), size=(samples, len(films)))
    best = [
        float(thresholds[int(_scores(right[pick].sum(0), wrong[pick].sum(0), breaks[pick].sum())[2].argmax())])
        for pick in picks
    ]
    columns = zip(thresholds, precision, recall, f1, (right + wrong).mean(0), strict=True)
    names = ("seconds", "precision", "recall", "f1", "cuts_a_film")
    rows = [dict(zip(names, (round(float(value), 4) for value in row), strict=True)) for row in columns]
    return {
        "films": len(films),
        "scene_breaks": int(breaks.sum()),
        "unplaced_breaks": sum(film.unplaced for film in films),
        "seams_within_scenes": sum(len(film.within) for film in films),
        "thresholds": rows,
        "best": rows[int(f1.argmax())],
        "best_interval": np.quantile(best, [0.025, 0.975]).tolist(),
    }


def _scores(right: Numbers, wrong: Numbers, breaks: float) -> tuple[Numbers, Numbers, Numbers]:
    """Return precision, recall and F1; without cuts the precision is 1."""
    precision = np.where(right + wrong > 0, right / np.maximum(right + wrong, 1), 1.0)
    return precision, right / max(breaks, 1), 2 * right / np.maximum(right + wrong + breaks, 1)


QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)


def run_stages(table: pa.Table, stages: Sequence[Stage]) -> pa.Table:
    """Run stages on a table, without the rows that they reject."""
    for stage in stages:
        table, _, _ = run_stage(stage, stage, table)
    return table


def block_gaps(table: pa.Table) -> npt.NDArray[np.float64]:
    """Return the seconds between adjacent blocks of LINES, float64; negative if blocks overlap, NaN if a time is
    missing.
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
    """Return the counts of gaps in bins of WIDTH seconds from 0 to LONGEST and outside, and the quantiles and fractions
    of known gaps.
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
    """Return the lengths of the dialogues into which each cut divides SENTENCES, after cleaning by the
    papers' rules.
    """
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
    """Return the content of gaps.json.

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
