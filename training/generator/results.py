"""The output of a response model's training: the model folder with its record, metrics and curves."""

import argparse
import json
import re
import shutil
from pathlib import Path
from typing import Any

from accelerate import Accelerator

from edos_dataset.labeling.models.saved_model import digests_of
from edos_dataset.runs.shards import write_text
from model_cards.responders import FLAWS, PREDICTOR_FLAWS, render_response_card
from training.generator.corpus import Corpus
from training.generator.fit import measured, measured_rows, unigram
from training.generator.model import TOKENIZER, drop_doubles
from training.generator.pairs import Pairs
from training.generator.recipe import GeneratorRecipe, settings_of
from training.generator.tasks import Learner
from training.loop import Progress, circumstances, draw_learning_curves

LICENCES = {
    "empathetic_dialogues": "EmpatheticDialogues: CC BY-NC 4.0",
    "dailydialog": "DailyDialog: CC BY-NC-SA 4.0",
}
SUBTITLES = "subtitles, whose text is under their studios' copyright"
OF_A_USER = "that of its owner, not stated here"


def write_results(
    learner: Learner,
    parts: dict[str, Pairs],
    corpus: Corpus,
    recipe: GeneratorRecipe,
    progress: Progress,
    accelerator: Accelerator,
    arguments: argparse.Namespace,
) -> dict[str, Any]:
    """Measure the validation and the test split, and write the model folder; `metrics.json` is written last.

    Returns:
        The metrics of `validation`, of `test`, and of a unigram model on the test split.
    """
    model, out = accelerator.unwrap_model(learner.model, keep_fp32_wrapper=False), arguments.out
    figures = {name: measured(model, learner.task, parts[name], recipe, accelerator) for name in ("validation", "test")}
    if not accelerator.is_main_process:
        return figures
    of_labels = recipe.kind == "predictor"
    vocabulary = model.config.num_labels if of_labels else len(learner.tokenizer)
    rows = measured_rows(parts["test"], recipe)
    figures["unigram"] = unigram(learner.task, parts["train"], parts["test"], vocabulary, of_labels, rows)
    record = make_record(learner, parts, corpus, recipe, arguments) | _making(parts, progress, recipe, accelerator)
    model.save_pretrained(out)
    learner.tokenizer.save_pretrained(out)
    if learner.form is not None:
        learner.form.save(out)
        drop_doubles(out)
    shutil.rmtree(out / TOKENIZER, ignore_errors=True)
    record["files"] = digests_of(out)
    write_text(out / "record.json", json.dumps(record, indent=2, ensure_ascii=False) + "\n")
    if of_labels:
        draw_learning_curves(out)
    else:
        draw_learning_curves(out, "perplexity", scale=1, unit="")
    write_text(out / "README.md", render_response_card(record, figures))
    write_text(out / "metrics.json", json.dumps(figures, indent=2) + "\n")
    return figures


def make_record(
    learner: Learner,
    parts: dict[str, Pairs],
    corpus: Corpus,
    recipe: GeneratorRecipe,
    arguments: argparse.Namespace,
) -> dict[str, Any]:
    """Return how the model was made: data with their digests, recipe, seed, command, machine, versions."""
    before = arguments.start / "record.json" if arguments.start else None
    started = json.loads(before.read_text(encoding="utf-8")) if before and before.is_file() else {}
    other = OF_A_USER if arguments.dialogues and Path(arguments.dialogues).is_file() else SUBTITLES
    used = [fact | {"licence": LICENCES.get(str(fact["source"]), other)} for fact in corpus.facts]
    earlier = [row for row in started.get("data", []) if row["sha256"] not in {fact["sha256"] for fact in used}]
    return {
        "name": re.sub(r"[^a-z0-9]+", "-", f"{recipe.kind}-{'-'.join(recipe.data)}".lower()),
        "task": recipe.kind,
        "start": started.get("name"),
        "data": [*used, *earlier],
        "split": {name: len(part) for name, part in parts.items()},
        "left_out": {name: part.left_out for name, part in parts.items()},
        "parameters": sum(parameter.numel() for parameter in learner.model.parameters()),
        "limitations": list(PREDICTOR_FLAWS if recipe.kind == "predictor" else FLAWS),
        "seed": recipe.seed,
        "recipe": settings_of(recipe),
        "command": _command(arguments),
        **circumstances(),
    }


def _making(parts: dict[str, Pairs], progress: Progress, recipe: GeneratorRecipe, accelerator: Accelerator) -> Any:  # noqa: ANN401 - plain data
    return {
        "processes": accelerator.num_processes,
        "precision": str(accelerator.mixed_precision),
        "training_seconds": round(progress.seconds),
        "updates": progress.update,
        "best_update": progress.best_update,
        "tokens_an_epoch": int(parts["train"].history_tokens.sum() + parts["train"].answer_tokens.sum()),
    }


def _command(arguments: argparse.Namespace) -> str:
    """Return the command that reproduces the model; absolute paths are shortened to names."""
    given: dict[str, Path | str | None] = {
        "--recipe": arguments.recipe,
        "--dialogues": arguments.dialogues,
        "--start": arguments.start,
        "--out": arguments.out,
    }
    shown = {name: Path(value).name if Path(value).is_absolute() else value for name, value in given.items() if value}
    words = [f"{name} {value}" for name, value in shown.items()] + [f"--set {change}" for change in arguments.set or []]
    return " ".join(["accelerate launch training/train_generator.py", *words])
