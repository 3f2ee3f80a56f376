"""Train the encoder that gives every label: each turn is read once, one head labels it alone, another in its dialogue.

    accelerate launch training/train_labels.py --recipe training/recipes/minilm/labels.yaml --data-dir \
        "$EDOS_DATA_DIR" --out models/labels

It learns from everything that others labelled (`training/labels/sources.py`): a label of theirs is a set of ours, of
which one is right. First the encoder and the head for the turn alone are trained, on texts of all sources mixed; then
every distinct turn is encoded once, and the context layers and their head are trained on these vectors; then the
probabilities are calibrated on turns of films.

It runs on a CPU, in several processes and on GPUs. A training that was killed goes on with the same command, from its
last checkpoint, to the same weights. `--out` becomes a model folder: the weights with their code and tokenizer,
`record.json`, a card, `metrics.json` (of held-out parts; the test parts are measured by `evaluation/domain.py`), and
`log.jsonl` with every update.
"""

import argparse
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed

from edos_dataset.arrays import Floats
from edos_dataset.labeling.models.context import ContextClassifier
from edos_dataset.labels import LABELS
from edos_dataset.runs.engines.base import available_cores
from edos_dataset.runs.recipes import RecipeError
from training.classifier.checkpoints import remove_checkpoints
from training.labels.context_fit import fit_context, hits, logits_of, rows_of
from training.labels.fit import fit
from training.labels.model import TurnModel, build_model, build_tokenizer
from training.labels.plan import texts_of
from training.labels.recipe import LabelsRecipe, read_recipe
from training.labels.results import calibrate_model, make_record, rounded, write_model
from training.labels.sources import load_corpus
from training.labels.vectors import Vectors, vectors_of


def main() -> None:
    """Train, from the command line."""
    arguments = parse_arguments()
    try:
        recipe = read_recipe(arguments.recipe)
        torch.set_num_threads(arguments.threads or _threads())
        accelerator = Accelerator(
            mixed_precision=_precision(recipe), log_with="tensorboard", project_dir=str(arguments.out)
        )
        train(recipe, accelerator, arguments)
    except (RecipeError, ValueError, OSError) as error:
        sys.exit(f"error: {error}")


def parse_arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", type=Path, required=True, help="YAML; training/labels/recipe.py tells what it says")
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=os.environ.get("EDOS_DATA_DIR"),
        help="folder of the data sets (default: $EDOS_DATA_DIR)",
    )
    parser.add_argument("--out", type=Path, required=True, help="folder that becomes the model")
    parser.add_argument("--name", default="dialogue-minilm", help="of the model, in its record")
    parser.add_argument("--cache", type=Path, help="folder that keeps embeddings for the next training")
    parser.add_argument("--checkpoint-every", type=int, default=200, help="updates between two checkpoints")
    parser.add_argument("--threads", type=int, help="threads of a process (default: the processors, shared)")
    arguments = parser.parse_args()
    if arguments.data_dir is None:
        parser.error("--data-dir is missing and EDOS_DATA_DIR is not set: name the folder of the data sets")
    if (arguments.out / "metrics.json").is_file():
        parser.error(f"{arguments.out} holds a finished training: choose another --out, or remove it to train anew")
    for name in ("checkpoint_every", "threads"):
        if (value := getattr(arguments, name)) is not None and value < 1:
            parser.error(f"--{name.replace('_', '-')} must be at least 1, got {value}")
    return arguments


def train(recipe: LabelsRecipe, accelerator: Accelerator, arguments: argparse.Namespace) -> None:
    """Train the recipe's model and write its folder."""
    cache: Path = arguments.cache or arguments.out / "embeddings"
    with accelerator.main_process_first():  # the first process fills the cache of embeddings for the others
        corpus = load_corpus(recipe.sources, arguments.data_dir, cache, recipe.short)
    arguments.out.mkdir(parents=True, exist_ok=True)
    texts = texts_of(corpus.train, recipe.repeats)
    accelerator.print(
        f"{len(texts.texts)} texts of {len(texts.bounds)} sources; left out as near-copies of held-out ones: "
        f"{sum(corpus.left_out.values())}; precision {accelerator.mixed_precision}"
    )
    set_seed(recipe.seed)
    tokenizer = build_tokenizer(recipe)
    model = build_model(recipe, tokenizer)
    set_seed(recipe.seed, device_specific=True)  # the model starts alike in all processes; dropout differs
    progress = fit(TurnModel(model), texts, corpus.held, tokenizer, recipe, accelerator, arguments)
    model.to(accelerator.device)
    learned, held = (
        vectors_of(part, model, tokenizer, recipe, accelerator, most, cache)
        for part, most in ((corpus.train, recipe.context_most), (corpus.held, None))
    )
    looks = fit_context(model, learned, held, recipe, accelerator)
    alone, seen = turn_logits_of(model, held), logits_of(model, held, accelerator)
    calibration = calibrate_model(model, held, alone, seen)
    seen = logits_of(model, held, accelerator)  # with the shift of labels, as the model answers
    if accelerator.is_main_process:
        making: dict[str, Any] = {"processes": accelerator.num_processes, "training_seconds": round(progress.seconds)}
        making |= {"precision": str(accelerator.mixed_precision), "calibration": calibration}
        record = make_record(recipe, corpus, texts, arguments, making)
        metrics: dict[str, Any] = {"turns": {name: len(rows_of(held, name)) for name in held.sources}}
        metrics |= {"right_alone": rounded(hits(held, alone)), "right_in_dialogue": rounded(hits(held, seen))}
        metrics |= {"context": looks, "calibration": calibration}
        write_model(model.cpu(), tokenizer, record, metrics, arguments.out)
        remove_checkpoints(arguments.out)
        accelerator.print(
            f"alone {metrics['right_alone']}\nin its dialogue {metrics['right_in_dialogue']}\n{calibration}"
        )
    accelerator.wait_for_everyone()
    accelerator.end_training()


def turn_logits_of(model: ContextClassifier, held: Vectors) -> Floats:
    """Return the logits of all labelled turns, each seen alone and before any temperature, float32 [targets, 41]."""
    model.eval()  # type: ignore[no-untyped-call]
    rows = np.flatnonzero(held.labelled >= 0)
    vectors = torch.from_numpy(held.values[held.rows[rows]].astype(np.float32))
    logits: Floats = np.zeros((len(held.targets), len(LABELS)), np.float32)
    with torch.inference_mode():
        found = model.turn_head(vectors.to(next(model.parameters()).device))
        logits[held.labelled[rows]] = found.float().cpu().numpy()
    return logits


def _threads() -> int:
    return max(1, available_cores() // int(os.environ.get("LOCAL_WORLD_SIZE", "1")))


def _precision(recipe: LabelsRecipe) -> str:
    """Return the precision of the forward pass; "auto" is bf16 where processors or GPU multiply in it."""
    if recipe.precision != "auto":
        return recipe.precision
    if torch.cuda.is_available():
        return "bf16" if torch.cuda.is_bf16_supported() else "no"
    capable = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return "bf16" if capable else "no"


if __name__ == "__main__":
    main()
