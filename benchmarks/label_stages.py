"""Seconds of the label stages of `edos curate` with its default models, compared with other models on the same
dialogues.

    python benchmarks/label_stages.py FOLDER_WITH_SUBTITLES --limit 40 --repeats 3

The films are curated once, without labels. Every measurement resumes a copy of that run in a separate process, `edos
curate` with one worker, which only repeats the stages after the dialogues (encode, weak_label, select, annotate). Their
seconds are those in the manifest, without the start of the process, but with what models load on first use: use enough
films, since with few turns only loading is measured. The seconds of the whole process are given too. Both sides
alternate, so that a busy machine slows both; the ratio is that of the minima. Writes benchmarks/label_stages.json.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.machine import command_line, describe_machine, write_result
from edos_dataset.labeling.stages import AnnotateDialogues, LabelTurns
from edos_dataset.recipes.subtitles import subtitles_to_dialogues
from edos_dataset.runs.pipeline import Output

BEFORE = {item.name for item in subtitles_to_dialogues() if not isinstance(item, Output)}
"""Stages that make the dialogues."""
LIMIT = 1.1
"""Maximum ratio of the label stages' time with the default models to that with the others (issue 16)."""


class Models(NamedTuple):
    """The models for single turns, and for turns with their history."""

    weak_model: str
    model: str


def curate(films: Path, out: Path, limit: int | None, *options: str) -> dict[str, Any]:
    """Run `edos curate` with one worker in a separate process; return its manifest.

    Raises:
        RuntimeError: the command failed.
    """
    limited = [] if limit is None else ["--limit", str(limit)]
    command = [sys.executable, "-m", "edos_dataset", "curate", str(films), "--out", str(out), "--workers", "1"]
    done = subprocess.run(
        [*command, "--json", *limited, *options],
        capture_output=True,
        text=True,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )
    if done.returncode:
        raise RuntimeError(f"edos curate {' '.join(options)} ended with {done.returncode}: {done.stderr[-500:]}")
    manifest: dict[str, Any] = json.loads(done.stdout)
    return manifest


def label_once(films: Path, dialogues: Path, limit: int | None, models: Models) -> dict[str, Any]:
    """Label a copy of a run without labels; return the seconds of every label stage, of `all` of them, and of the
    `process`; and the number of `turns`.

    Raises:
        RuntimeError: the command failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        shutil.copytree(dialogues, out)
        began = time.perf_counter()
        options = ["--weak-model", models.weak_model, "--model", models.model, "--force"]
        manifest = curate(films, out, limit, *options)
        whole = time.perf_counter() - began
    own = {stage["stage"]: stage for stage in manifest["stages"] if stage["stage"] not in BEFORE}
    seconds = {name: round(stage["seconds"], 3) for name, stage in own.items()}
    return {
        "seconds": {**seconds, "all": round(sum(seconds.values()), 3), "process": round(whole, 2)},
        "turns": own["weak_label"]["read"],
    }


def compare(films: Path, limit: int | None, sides: Mapping[str, Models], repeats: int) -> dict[str, Any]:
    """Run the sides alternately; return their models, the seconds of every repeat, the minima, and the ratio of the
    first side to the second.
    """
    times: dict[str, list[dict[str, float]]] = {name: [] for name in sides}
    turns = 0
    with tempfile.TemporaryDirectory() as folder:
        dialogues = Path(folder) / "run"
        curate(films, dialogues, limit, "--no-labels")
        for _ in range(repeats):
            for name, models in sides.items():
                found = label_once(films, dialogues, limit, models)
                times[name].append(found["seconds"])
                turns = found["turns"]
                sys.stderr.write(f"{name}: {found['seconds']}\n")
    least = {name: {key: min(each[key] for each in own) for key in own[0]} for name, own in times.items()}
    first, second = (least[name]["all"] for name in sides)
    return {
        "turns": turns,
        "models": {name: models._asdict() for name, models in sides.items()},
        "seconds": times,
        "least_seconds": least,
        "turns_per_second": {name: round(turns / own["all"]) for name, own in least.items()},
        "ratio": round(first / second, 3),
        "limit": LIMIT,
    }


def parse_arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="folder of subtitles")
    parser.add_argument("--limit", type=int, help="maximum number of films")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--weak-model", default=LabelTurns.model, help="default: that of `edos curate`")
    parser.add_argument("--model", default=AnnotateDialogues.model, help="default: that of `edos curate`")
    parser.add_argument("--beside-weak-model", default="linear-weak")
    parser.add_argument("--beside-model", default="linear-dialogue")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args(given)
    if arguments.repeats < 1:
        parser.error(f"--repeats must be at least 1, got {arguments.repeats}")
    return arguments


def main() -> None:
    """Measure and report."""
    arguments = parse_arguments()
    sides = {
        "default": Models(arguments.weak_model, arguments.model),
        "beside": Models(arguments.beside_weak_model, arguments.beside_model),
    }
    try:
        result = compare(arguments.source, arguments.limit, sides, arguments.repeats)
    except (OSError, RuntimeError) as error:
        sys.exit(f"error: {error}")
    facts = {
        "command": command_line(),
        "date": date.today().isoformat(),
        "machine": describe_machine(),
    }
    write_result(arguments.out, {**facts, **result})


if __name__ == "__main__":
    main()
