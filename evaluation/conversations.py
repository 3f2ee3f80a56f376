"""How whole the published conversations are, on films of which it is known who speaks: a curve over recipes and
`least_certainty`.

    python evaluation/conversations.py DATA/frasier/subtitles --gold DATA/frasier/scripts
    python evaluation/conversations.py DATA/sitcom_speakers --gold DATA/sitcom_speakers/friends_lines.csv
    python evaluation/conversations.py DATA/film_scripts/12.tsv --point default --point turns.scorer=context

An exchange is a pair of neighbouring sentences of two known speakers, at most 5 seconds and no known change of scene
apart. For each point of the curve, from a whole run without labels:

- `turns`: turns a dialogue; `kept`: the fraction of the sentences in published dialogues;
- `recall`: the fraction of the exchanges that stand in neighbouring turns of one dialogue;
- `precision`: the fraction of the published boundaries at which another speaker of the same scene begins. A turn that
  was removed may lie between them;
- `right_of_four`: the fraction of the dialogues of 4 turns without an error, in a boundary or inside a turn;
- `cut`: the fraction of the dialogues that begin or end inside an exchange of at most 2 seconds, of those at both ends
  of which the speakers are known; `in_cue`: the fraction that end inside a block;
- `by_length`: dialogues and the fraction without an error, by the number of turns;
- `by_certainty`: the curve of boundaries with a certainty of at least each value, where turns have one.

The scorers must not have been trained on the films: give `turns.scorer=FOLDER` for those of which they were. Writes
evaluation/conversations.json with --report; a record of several sources has one entry for each.
"""

import argparse
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from benchmarks.machine import command_line, describe_machine
from edos_dataset.arrays import Bools, Doubles, Ints, unnest
from edos_dataset.recipes.subtitles import DEFAULT, pipeline_of
from edos_dataset.runs.pipeline import CorpusStep, Output, Stage, Steps, split_rejects
from edos_dataset.runs.shards import write_shard, write_text
from edos_dataset.sources.read import ReadFilms
from evaluation.known_speakers import Spoken, Voices, read_known, voices

NEAR, AT_ONCE = 5.0, 2.0
"""Seconds between the sentences of an exchange at most, and of one that no dialogue should end in."""

LENGTHS = (2, 3, 4, 5, 6, 8, 12)
CERTAINTIES = (0.0, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
POINTS = ("default", "papers", *(f"both.least_certainty={least}" for least in (0.0, 0.5, 0.6, 0.75, 0.9)))
"""The points of the curve without --point; "both" stands for the stages "turns" and "dialogues"."""


@dataclass(frozen=True, eq=False)
class Truth:
    """The sentences of all films, in order, and what is known of the boundary before each.

    Attributes:
        first: document id → index of its first sentence.
        places: document id → id of a sentence in its file → index of the sentence in the film.
        opens: bool [sentences], whether it is the first of its film.
        known: bool [sentences], whether both speakers are known; false for the first of a film.
        other: bool [sentences], whether another speaker begins.
        exchange: bool [sentences], whether the boundary lies inside an exchange.
        pause: float64 [sentences], seconds before it; NaN if unknown.
        in_block: bool [sentences], whether the boundary lies inside a block.
        voices: of all films, one after the other.
    """

    first: Mapping[str, int]
    places: Mapping[str, Mapping[int, int]]
    opens: Bools
    known: Bools
    other: Bools
    exchange: Bools
    pause: Doubles
    in_block: Bools
    voices: Voices

    def __len__(self) -> int:
        """Return the number of sentences."""
        return len(self.known)


def truth_of(sentences: pa.Table, speeches: Sequence[Sequence[Any]], scenes: bool) -> Truth:
    """Lay what is known of the speakers on SENTENCES, a film a row."""
    flat, offsets = unnest(sentences, "sentences")
    texts, ids = flat.field("text").to_pylist(), flat.field("id").to_pylist()
    laid = [voices(texts[a:b], known, scenes) for (a, b), known in zip(pairwise(offsets), speeches, strict=True)]
    said = Voices(*(np.concatenate([getattr(one, name) for one in laid]) for name in ("begins", "ends", "scene")))
    names = sentences["document_id"].to_pylist()
    start, end = (flat.field(name).to_numpy(zero_copy_only=False).astype(float) for name in ("start", "end"))
    first, last = (flat.field(name).to_numpy(zero_copy_only=False) for name in ("first_block", "last_block"))
    before = np.r_[-1, said.ends[:-1]]
    inner = np.ones(len(texts), bool)
    inner[offsets[:-1]] = False
    known = inner & (before >= 0) & (said.begins >= 0)
    other = known & (before != said.begins)
    pause = np.where(inner, start - np.r_[np.nan, end[:-1]], np.nan)
    moved = said.scene != np.r_[-1, said.scene[:-1]]
    moved &= (said.scene >= 0) & (np.r_[-1, said.scene[:-1]] >= 0)
    return Truth(
        dict(zip(names, offsets[:-1].tolist(), strict=True)),
        {
            name: {number: place for place, number in enumerate(ids[a:b])}
            for name, (a, b) in zip(names, pairwise(offsets), strict=True)
        },
        ~inner,
        known,
        other & ~moved,
        other & ~moved & ~(pause > NEAR),
        pause,
        inner & (first == np.r_[-1, last[:-1]]),
        said,
    )


def dialogues_of(steps: Steps, table: pa.Table) -> pa.Table:
    """Return the dialogues that a pipeline publishes, run in this process, corpus steps and all."""
    for step in steps:
        if isinstance(step, Stage):
            table = step(table)
        elif isinstance(step, CorpusStep):
            with tempfile.TemporaryDirectory() as folder:
                shard = Path(folder) / "all.parquet"
                write_shard(shard, table)
                table = step.apply(table, next(iter(step.decide([shard]))))
        table = split_rejects(table)[0]
    return table


@dataclass(frozen=True, eq=False)
class Published:
    """The turns of published dialogues as places among all sentences.

    Attributes:
        first: [turns] its first sentence; `last`: its last one.
        last: see there.
        offsets: [dialogues + 1] positions of the dialogues among the turns.
        whole: bool [turns], whether one person says it, as far as is known.
        certainty: float64 [turns], of the boundary before it; NaN where there is none.
    """

    first: Ints
    last: Ints
    offsets: Ints
    whole: Bools
    certainty: Doubles

    @property
    def inner(self) -> Ints:
        """Numbers of the turns that are not the first of their dialogue."""
        return np.setdiff1d(np.arange(len(self.first)), self.offsets)


def published(dialogues: pa.Table, truth: Truth) -> Published:
    """Find the sentences of published dialogues."""
    turns, offsets = unnest(dialogues, "turns")
    lists = turns.field("sentence_ids")
    ends = lists.offsets.to_numpy() - lists.offsets[0].as_py()
    documents = np.repeat(dialogues["document_id"].to_numpy(), np.diff(offsets))
    ids = lists.flatten().to_pylist()
    places = [
        [truth.first[document] + truth.places[document][number] for number in ids[a:b]]
        for document, (a, b) in zip(documents, pairwise(ends.tolist()), strict=True)
    ]
    inside = ~truth.known | ~truth.other
    begins, said_last = truth.voices.begins, truth.voices.ends
    whole = [
        all(inside[one] if one == before + 1 else said_last[before] == begins[one] for before, one in pairwise(own))
        for own in places
    ]
    certainty = np.full(len(places), np.nan)
    if "certainty" in {field.name for field in turns.type}:
        certainty = turns.field("certainty").to_numpy(zero_copy_only=False).astype(np.float64)
    first, last = (np.array([own[end] for own in places], np.int64) for end in (0, -1))
    return Published(first, last, offsets, np.array(whole, bool), certainty)


def figures(spoken: Published, truth: Truth) -> dict[str, Any]:
    """Return the measures of published dialogues."""
    known, right = _boundaries(spoken, truth)
    inner = spoken.inner
    lengths = np.diff(spoken.offsets)
    bad = ~spoken.whole
    bad[inner] |= ~right
    unknown = np.zeros(len(bad), bool)
    unknown[inner] = ~known
    errors, doubts = (np.add.reduceat(values.astype(np.int64), spoken.offsets[:-1]) for values in (bad, unknown))
    judged: Bools = doubts == 0
    rows = {
        f"{low}" if high == low + 1 else f"{low}+" if high > 1000 else f"{low}-{high - 1}": {
            "dialogues": int(((lengths >= low) & (lengths < high)).sum()),
            "right": _share(errors[judged & (lengths >= low) & (lengths < high)] == 0),
        }
        for low, high in pairwise((*LENGTHS, 1 << 30))
    }
    begin, end = spoken.first[spoken.offsets[:-1]], (spoken.last[spoken.offsets[1:] - 1] + 1) % max(len(truth), 1)
    torn = truth.exchange & (truth.pause <= AT_ONCE)
    resolved = truth.known | truth.opens
    kept = _exchanges(spoken, truth, inner)
    recall, precision = kept / max(int(truth.exchange.sum()), 1), _share(right[known])
    return {
        "dialogues": len(lengths),
        "turns": round(float(lengths.mean()), 2) if len(lengths) else 0.0,
        "kept": round(len(set(_sentences(spoken))) / max(len(truth), 1), 4),
        "recall": round(recall, 4),
        "precision": precision,
        "f1": round(2 * recall * precision / max(recall + precision, 1e-9), 4),
        "right_of_four": _share(errors[judged & (lengths == 4)] == 0),
        "cut": _share((torn[begin] | torn[end])[resolved[begin] & resolved[end]]),
        "in_cue": _share(truth.in_block[end]),
        "by_length": rows,
        "by_certainty": _by_certainty(spoken, truth, known, right),
    }


def _boundaries(spoken: Published, truth: Truth) -> tuple[Bools, Bools]:
    """Return of which boundaries inside dialogues both speakers are known, and which are right."""
    before, here = spoken.last[spoken.inner - 1], spoken.first[spoken.inner]
    says, said, scene = truth.voices.begins[here], truth.voices.ends[before], truth.voices.scene
    moved = (scene[before] >= 0) & (scene[here] >= 0) & (scene[before] != scene[here])
    known = (says >= 0) & (said >= 0)
    return known, known & (says != said) & ~moved


def _exchanges(spoken: Published, truth: Truth, turns: Ints) -> int:
    """Return how many exchanges stand at the boundaries before some turns."""
    here = spoken.first[turns]
    return int((truth.exchange[here] & (spoken.last[turns - 1] + 1 == here)).sum())


def _by_certainty(spoken: Published, truth: Truth, known: Bools, right: Bools) -> list[dict[str, float]]:
    certainty = spoken.certainty[spoken.inner]
    if np.isnan(certainty).all():
        return []
    return [
        {
            "least": least,
            "share": _share(certainty >= least),
            "recall": round(_exchanges(spoken, truth, spoken.inner[certainty >= least]) / truth.exchange.sum(), 4),
            "precision": _share(right[known & (certainty >= least)]),
            "stated": round(float(certainty[known & (certainty >= least)].mean()), 4),
        }
        for least in CERTAINTIES
        if (known & (certainty >= least)).any()
    ]


def _sentences(spoken: Published) -> Iterator[int]:
    for first, last in zip(spoken.first.tolist(), spoken.last.tolist(), strict=True):
        yield from range(first, last + 1)


def _share(holds: Bools) -> float:
    return round(float(holds.mean()), 4) if len(holds) else 0.0


def steps_of(point: str) -> list[Any]:
    """Return the pipeline of a point, a recipe and settings with commas between them: "papers", "turns.scorer=context",
    "default,both.least_certainty=0.6".
    """
    first, *others = point.split(",")
    recipe, settings = (DEFAULT, [first, *others]) if "=" in first else (first, others)
    both = [each.replace("both.", f"{stage}.") for stage in ("turns", "dialogues") for each in settings]
    steps = pipeline_of(recipe, labels=False, settings=list(dict.fromkeys(both)))
    return [step for step in steps if not isinstance(step, ReadFilms | Output)]


def measure(spoken: Spoken, points: Iterable[str]) -> list[dict[str, Any]]:
    """Return the figures of each point on some films."""
    rows = []
    for point in points:
        steps = steps_of(point)
        split = next(place for place, step in enumerate(steps) if step.name == "films")
        sentences = dialogues_of(steps[:split], spoken.lines)
        speeches = dict(zip(spoken.lines["document_id"].to_pylist(), spoken.speeches, strict=True))
        truth = truth_of(sentences, [speeches[name] for name in sentences["document_id"].to_pylist()], spoken.scenes)
        found = figures(published(dialogues_of(steps[split:], sentences), truth), truth)
        rows.append({"point": point, "exchanges": int(truth.exchange.sum()), **found})
    return rows


def show(title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print the table, and how right dialogues are by length."""
    names = ("turns", "kept", "recall", "precision", "f1", "right_of_four", "cut", "in_cue")
    table = Table(title=title)
    for name in ("point", *names):
        table.add_column(name, justify="left" if name == "point" else "right")
    for row in rows:
        shares = (f"{100 * row[name]:.1f}" for name in names[1:])
        table.add_row(row["point"], f"{row['turns']:.2f}", *shares)
    lengths = Table(title="right dialogues, %, by number of turns")
    for name in ("point", *rows[0]["by_length"]):
        lengths.add_column(name, justify="left" if name == "point" else "right")
    for row in rows:
        cells = (f"{100 * one['right']:.0f} of {one['dialogues']:,}" for one in row["by_length"].values())
        lengths.add_row(row["point"], *cells)
    Console().print(table, lengths)


def main() -> None:
    """Measure, print and, if asked, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", type=Path, nargs="+", metavar="SOURCE", help="files or folders with known speakers")
    parser.add_argument("--gold", type=Path, help="transcripts, screenplays or a table that say who speaks")
    parser.add_argument("--point", action="append", help="recipe and settings, repeatable")
    parser.add_argument("--limit", type=int, help="number of films, the first ones")
    parser.add_argument("--report", type=Path, help="JSON file; other entries in it stay")
    parser.add_argument("--name", help="name of the entry; the first source's by default")
    args = parser.parse_args()
    spoken = read_known(args.sources, args.gold)
    if args.limit:
        spoken = Spoken(spoken.lines.slice(0, args.limit), spoken.speeches[: args.limit], spoken.scenes)
    rows = measure(spoken, args.point or POINTS)
    name = args.name or args.sources[0].name
    show(f"{name}: {spoken.lines.num_rows} films, {rows[0]['exchanges']:,} exchanges", rows)
    if args.report:
        known = json.loads(args.report.read_text(encoding="utf-8")) if args.report.exists() else {}
        entry = {"films": spoken.lines.num_rows, "date": date.today().isoformat(), "curve": rows}
        entry |= {"command": command_line(), "machine": describe_machine()}
        write_text(args.report, json.dumps({**known, name: entry}, indent=1) + "\n")


if __name__ == "__main__":
    main()
