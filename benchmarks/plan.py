"""The estimates of `edos plan` from a sample, compared with the cost of `edos curate` on the whole corpus; and the
encoder's figures in the plan's table of devices.

    python -m benchmarks.plan FOLDER_WITH_SUBTITLES --sample 40
    python -m benchmarks.plan FOLDER_WITH_SUBTITLES --sample 20 --only labels

Both are separate processes, run one after the other on the same machine, once without labels and once with them.
Reported are the ratios of estimated to real processor seconds (which other work on the machine disturbs least), wall
time, disk, and peak memory of the largest worker. Without --only, the label stages are then run on dialogues of that
corpus in one thread, to measure the floating-point operations per second of the encoder's linear layers, and the
fraction of the time outside the encoder, which a GPU would leave to the processor. Writes benchmarks/plan.json, in
which figures that are not measured again are kept.
"""

import argparse
import json
import resource
import sys
import tempfile
import time
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.growth import run_watched
from benchmarks.machine import command_line, describe_machine, write_result
from edos_dataset.labeling.stages import AnnotateDialogues, EncodeTurns, LabelTurns
from edos_dataset.runs.pipeline import count_units
from edos_dataset.runs.shards import read_shard

_ENOUGH_TURNS = 4_000


def edos(*words: str) -> tuple[dict[str, Any], dict[str, float]]:
    """Run `edos` in separate processes; return its --json output and its cost: seconds, and MiB."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    printed, _, peaks = run_watched([sys.executable, "-m", "edos_dataset", *words, "--json"])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(printed), {"wall": time.perf_counter() - began, "processor": used, **peaks}


def beside(source: Path, folder: Path, labels: str, sample: int) -> dict[str, Any]:
    """Plan from a sample, run the whole corpus, and return both with their ratios."""
    found, planning = edos("plan", str(source), labels, "--sample", str(sample))
    (one,) = found["plans"]
    estimated = one["total"]
    workers = sum(one["workers"].values())
    manifest, took = edos("curate", str(source), labels, "--out", str(folder), "--workers", str(workers))
    disk = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    sentences = next(stage["read"] for stage in manifest["stages"] if stage["stage"] == "turns")
    # starting the main process and each worker, which the plan includes in wall time but not in core hours
    starting = found["sample"]["start_seconds"] * (1 + workers)
    seconds = {"wall": estimated["hours"] * 3600, "processor": estimated["core_hours"] * 3600 + starting}
    memory = estimated["memory"] >> 20
    return {
        "films": found["corpus"]["films"],
        "sample": {name: found["sample"][name] for name in ("films", "sentences", "waited", "start_seconds")},
        "planning_seconds": {name: round(value, 1) for name, value in planning.items()},
        "sentences": {"estimated": found["corpus"]["sentences"], "real": sentences},
        "workers": workers,
        "seconds": {name: {"estimated": round(seconds[name], 1), "real": round(took[name], 1)} for name in seconds},
        "disk": {"estimated": estimated["disk"], "real": disk},
        "memory_mib": {
            "estimated": estimated["memory"] >> 20,
            "real": took["worker_mib"],
            "leader": took["driver_mib"],
        },
        "ratio": {
            "memory": round(memory / took["worker_mib"], 2),
            **{name: round(seconds[name] / took[name], 2) for name in seconds},
            "disk": round(estimated["disk"] / disk, 2),
            "sentences": round(found["corpus"]["sentences"] / sentences, 2),
        },
        "stages": [
            {
                "stage": stage["stage"],
                "estimated": next(row["units"] for row in one["stages"] if row["stage"] == stage["stage"]),
                "real": stage["read"],
            }
            for stage in manifest["stages"]
        ],
    }


def some_dialogues(folder: Path) -> pa.Table:
    """Return dialogues from the shards of a folder, with enough turns to measure."""
    paths = [path for path in sorted(folder.glob("*.parquet")) if "removals" not in path.name]
    dialogues = pa.concat_tables(map(read_shard, paths))
    rows = int(dialogues.num_rows * min(1.0, _ENOUGH_TURNS / count_units(dialogues, "turns")))
    return dialogues.slice(0, max(1, rows))


def encoder_figures(dialogues: pa.Table) -> dict[str, Any]:
    """Label dialogues with the default models in one thread; return the encoder's speed and the fraction of the time
    outside it.
    """
    stages = (EncodeTurns("weak"), LabelTurns(), AnnotateDialogues())
    model: Any = stages[0].encoder
    first = dialogues.slice(0, 1)
    for stage in stages:
        first = stage(first)
    encoder = model._labeler._model.encoder
    multiplied = sum(parameter.numel() for parameter in encoder.encoder.parameters())  # no multiplication in embeddings
    tokens, forward, began = 0, 0.0, 0.0

    def before(_: object, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        nonlocal tokens, began
        tokens += int(named["attention_mask"].sum())
        began = time.process_time()

    def after(*_: object) -> None:
        nonlocal forward
        forward += time.process_time() - began

    hooks = [encoder.register_forward_pre_hook(before, with_kwargs=True), encoder.register_forward_hook(after)]
    start = time.process_time()
    labelled = dialogues
    for stage in stages:
        labelled = stage(labelled)
    took = time.process_time() - start
    for hook in hooks:
        hook.remove()
    turns = count_units(dialogues, "turns")
    return {
        "turns": turns,
        "turns_per_second": round(turns / took, 1),
        "tokens_per_turn": round(tokens / turns, 1),
        "parameters_multiplied": multiplied,
        "core_gflops": round(2 * multiplied * tokens / forward / 1e9, 1),
        "host_share": round(1 - forward / took, 4),
    }


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("--sample", type=int, default=40)
    parser.add_argument("--only", choices=("labels", "no-labels"), help="run only one of the two")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args()
    result = json.loads(arguments.out.read_text(encoding="utf-8")) if arguments.out.exists() else {}
    with tempfile.TemporaryDirectory() as place:
        for labels in [arguments.only] if arguments.only else ["no-labels", "labels"]:
            row = beside(arguments.source, Path(place) / labels, f"--{labels}", arguments.sample)
            facts = {"command": command_line(), "date": date.today().isoformat(), "machine": describe_machine()}
            result[labels] = facts | row
        if not arguments.only:
            result["encoder"] = encoder_figures(some_dialogues(next(Path(place).glob("*/.run/04-certainty"))))
    write_result(arguments.out, result)


if __name__ == "__main__":
    main()
