"""Pack a trained response model into the form that the package ships, and measure what the rounding changes.

    python training/pack_generator.py models/chat --data-dir "$EDOS_DATA_DIR" --cache models/chat/labels \
        --out edos_dataset/generation/weights/chat

The model is one of ours, with its predictor in the subfolder `predictor`, or a LoRA adapter. It is measured before and
after packing on the test splits of its recipes, and greedy answers to conversations spread over the response model's
split are compared; the record beside the packed weights gains these figures as `packing`. An already packed folder is
replaced once everything is measured. `python -m model_cards.render` then writes the card.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from accelerate import Accelerator

from edos_dataset.encoders.folders import read_json
from edos_dataset.generation.loading import load_own, load_writer
from edos_dataset.generation.model import ResponseModel
from edos_dataset.generation.predictor import ResponsePredictor
from edos_dataset.generation.responder import Responder
from edos_dataset.generation.shipped import FILE, PREDICTOR, pack, unpack
from edos_dataset.runs.recipes import build
from edos_dataset.runs.shards import write_text
from training.generator.corpus import load_corpus
from training.generator.fit import costs_of, evenly_spread, figures_of
from training.generator.pairs import Pairs
from training.generator.recipe import OF_OTHERS, GeneratorRecipe
from training.generator.tasks import AnswerTask, LabelTask, Task, task_of

_ROUND = 4


def main() -> None:
    """Pack, unpack, measure, from the command line."""
    arguments = parse_arguments()
    try:
        pack_and_measure(arguments)
    except (ValueError, OSError) as error:
        sys.exit(f"error: {error}")


def parse_arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="folder that train_generator.py wrote, with its predictor")
    parser.add_argument("--out", type=Path, required=True, help="folder of the packed model")
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=os.environ.get("EDOS_DATA_DIR"),
        help="folder of the raw releases (default: $EDOS_DATA_DIR)",
    )
    parser.add_argument("--dialogues", help="folder or Hub id of the dataset whose configs the recipe names")
    parser.add_argument("--cache", type=Path, help="folder in which labels are cached, such as that of the training")
    parser.add_argument("--answers", type=int, default=200, help="number of greedy answers to compare (default: 200)")
    parser.add_argument(
        "--dialogues-of-test", type=int, help="number of test conversations to measure on, evenly spread (default: all)"
    )
    arguments = parser.parse_args()
    for name in ("answers", "dialogues_of_test"):
        if (value := getattr(arguments, name)) is not None and value < 1:
            parser.error(f"--{name.replace('_', '-')} must be at least 1, got {value}")
    return arguments


def pack_and_measure(arguments: argparse.Namespace) -> None:
    """Write the packed folder with its measurements, or nothing.

    Raises:
        ValueError: the model is not ours, its data are missing, or `--out` contains something else.
    """
    out: Path = arguments.out
    if out.is_dir() and any(out.iterdir()) and not (out / FILE).is_file():
        raise ValueError(f"{out} holds something else than a packed model: name a new folder")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent) as work:
        packed, after = Path(work) / "packed", Path(work) / "after"
        pack(arguments.model, packed)
        unpack(packed, after)
        record = read_json(packed / "record.json")
        record["packing"] = packing_of(arguments.model, after, arguments)
        record["packing"]["bytes"] = sum(path.stat().st_size for path in packed.rglob("*") if path.is_file())
        write_text(packed / "record.json", json.dumps(record, indent=2, ensure_ascii=False) + "\n")
        shutil.rmtree(out, ignore_errors=True)
        os.rename(packed, out)
    sys.stdout.write(f"{json.dumps(record['packing'], indent=2)}\n")


def packing_of(before: Path, after: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what rounding changes, as stored under `packing` in the record: perplexities of the response model,
    accuracies of the predictor, and fractions of equal labels and answers.
    """
    recipe, table = _test_part(before, arguments)
    found: dict[str, Any] = {}
    for when, folder in (("before", before), ("after", after)):
        pairs, figures = _figures(folder, recipe, table)
        found |= {"test_pairs": len(pairs), f"perplexity_{when}": round(figures["perplexity"], _ROUND)}
    found |= _equal(before, after, table, arguments.answers)
    if (before / PREDICTOR).is_dir():
        recipe, table = _test_part(before / PREDICTOR, arguments)
        for when, folder in (("before", before), ("after", after)):
            pairs, figures = _figures(folder / PREDICTOR, recipe, table)
            found |= {"predictor_pairs": len(pairs), f"predictor_accuracy_{when}": round(figures["accuracy"], _ROUND)}
    return found


def _test_part(folder: Path, arguments: argparse.Namespace) -> tuple[GeneratorRecipe, pa.Table]:
    """Return the recipe of a trained model and its test split, a table of CONVERSATIONS."""
    path = folder / "record.json"
    recipe = build(GeneratorRecipe, read_json(path).get("recipe", {}), str(path))
    data_dir = Path(arguments.data_dir) if arguments.data_dir else None
    corpus = load_corpus(recipe, data_dir, arguments.dialogues, arguments.cache or folder / "labels")
    return recipe, _spread(corpus.parts["test"], arguments.dialogues_of_test)


def _spread(table: pa.Table, most: int | None) -> pa.Table:
    """Return at most that number of rows, evenly spread; all if None."""
    return table if most is None else table.take(evenly_spread(len(table), most))


def _figures(folder: Path, recipe: GeneratorRecipe, table: pa.Table) -> tuple[Pairs, dict[str, float]]:
    """Return the pairs of a split, and the metrics of the response model or predictor in a folder on all of them."""
    model, task = _with_task(folder, recipe)
    pairs = task.pairs(table, recipe)
    rows = np.arange(len(pairs))
    return pairs, figures_of(task, pairs, rows, *costs_of(model, task, pairs, rows, recipe, Accelerator(cpu=True)))


def _with_task(folder: Path, recipe: GeneratorRecipe) -> tuple[Any, Task]:
    """Return the model in a folder, with the task of its recipe."""
    if recipe.kind == "predictor":
        model, tokenizer = load_own(folder, ResponsePredictor, "cpu", packed=False)
        return model, LabelTask(tokenizer)
    if recipe.kind not in OF_OTHERS:
        model, tokenizer = load_own(folder, ResponseModel, "cpu", packed=False)
        return model, AnswerTask(tokenizer, recipe.labelled)
    writer = load_writer(folder)[1]
    return writer.model, task_of(writer, recipe.whole_dialogues)


def _equal(before: Path, after: Path, table: pa.Table, most: int) -> dict[str, Any]:
    """Return how many greedy answers to the last turn but one of evenly spread conversations are equal word by word,
    and the labels predicted for them; without a predictor, the true labels are used.
    """
    rows = _spread(table, most).to_pylist()
    asked, known = [row["texts"][:-1] for row in rows], [row["labels"][:-1] for row in rows]
    answers = []
    for folder in (before, after):
        responder = Responder.load(folder)
        own = responder.writer.takes_labels and responder.predictor is None
        labels = [row["labels"][-1] for row in rows] if own else None
        answers.append([one[0] for one in responder.respond(asked, labels, 1, 1, history_labels=known)])
    both = list(zip(*answers, strict=True))
    return {
        "answers": len(both),
        "equal_labels": round(float(np.mean([one.label == other.label for one, other in both])), _ROUND),
        "equal_answers": round(float(np.mean([one.text == other.text for one, other in both])), _ROUND),
    }


if __name__ == "__main__":
    main()
