"""Train the multilingual labeler: a multilingual encoder whose vectors of turns stand in for an English labeler's.

    python training/train_multilingual.py --recipe training/recipes/multilingual/multilingual.yaml --data-dir \
        "$EDOS_DATA_DIR" --out models/multilingual --pack edos_dataset/labeling/models/weights/multilingual

The student has the lower layers of a multilingual encoder, with the word pieces of the languages at hand; a projection;
and, unchanged, the context layers and heads of the English labeler (the teacher). It learns that a sentence has the
teacher's vector of the English sentence that it translates, and that XED's labels apply. So conventions, answers and
intents come along, and languages that it did not see profit from what the encoder knows of them.

A fifth of XED's English sentences is held out with all translations, and with `--leave-out` a whole language, so that
`evaluation/multilingual.py` measures on what was not seen. After an interruption the same command resumes from the last
checkpoint.
"""

import argparse
import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch

from edos_dataset.arrays import Floats
from edos_dataset.encoders.folders import download_model
from edos_dataset.labeling.models.base import EmbeddedLabeler
from edos_dataset.labeling.models.context import ContextClassifier
from edos_dataset.labeling.models.labelers import load_labeler
from edos_dataset.labeling.models.packed import pack, unpack
from edos_dataset.labeling.models.saved_model import digests_of
from edos_dataset.releases.labelled_sets.readers import SOURCES
from edos_dataset.runs.recipes import RecipeError
from edos_dataset.runs.shards import digest, replacing, write_text
from training.loop import circumstances, remove_checkpoints, start_processes
from training.multilingual.examples import Example, examples_of, lessons_of, words_of
from training.multilingual.fit import Student, fit, spread_of
from training.multilingual.recipe import MultilingualRecipe, read_recipe
from training.multilingual.student import (
    Plain,
    Reader,
    build_student,
    build_tokenizer,
    start_projection,
)
from training.multilingual.translations import ENGLISH, NEUTRAL, projections, translations_of

_LIMITATIONS = [
    "The encoder that it started from was itself rounded to 4 bits: not the original of the Hub.",
    "It learned from XED's translated subtitles, aligned by their labels and a multilingual encoder, with errors.",
]


def main() -> None:
    """Train, from the command line."""
    arguments = parse_arguments()
    try:
        train(read_recipe(arguments.recipe, arguments.set), arguments)
    except (RecipeError, ValueError, OSError) as error:
        sys.exit(f"error: {error}")


def parse_arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", type=Path, required=True, help="YAML; keys in training/multilingual/recipe.py")
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=os.environ.get("EDOS_DATA_DIR"),
        help="folder of the datasets (default: $EDOS_DATA_DIR)",
    )
    parser.add_argument("--out", type=Path, required=True, help="folder that becomes the model")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change a key of the recipe")
    parser.add_argument("--base", type=Path, help="folder of the base model (default: downloaded from the Hub)")
    parser.add_argument("--leave-out", nargs="*", default=[], help="languages of the recipe to leave out of training")
    parser.add_argument("--pack", type=Path, help="folder that receives the packed form, which ships")
    parser.add_argument("--cache", type=Path, help="folder in which vectors are cached")
    parser.add_argument("--checkpoint-every", type=int, default=200, help="updates between two checkpoints")
    parser.add_argument("--threads", type=int, help="threads (default: all processors)")
    arguments = parser.parse_args()
    if arguments.data_dir is None:
        parser.error("--data-dir is missing and EDOS_DATA_DIR is not set: name the folder of the data sets")
    if (arguments.out / "metrics.json").is_file():
        parser.error(f"{arguments.out} holds a finished training: choose another --out, or remove it to train again")
    return arguments


def train(recipe: MultilingualRecipe, arguments: argparse.Namespace) -> None:
    """Train the recipe's model and write its folder."""
    accelerator = start_processes("no", arguments.out, arguments.threads, processes=1)
    torch.manual_seed(recipe.seed)
    folder, cache = Path(arguments.data_dir), arguments.cache or arguments.out / "cache"
    base = arguments.base or download_model(recipe.base_model)
    tokenizer, pieces = build_tokenizer(base, recipe, lambda: words_of(folder, recipe), cache / "tokenizer")
    teacher = ContextClassifier.from_pretrained(unpack(recipe.teacher), trust_remote_code=False)
    model = build_student(base, recipe, tokenizer, pieces, teacher)
    plain = Plain(model, recipe.frozen_layers)
    accelerator.print(f"{len(pieces):,} word pieces")

    read = Reader(plain, tokenizer, recipe.turn_tokens, cache, accelerator.print)
    translations = translations_of(
        folder,
        recipe.languages,
        lambda texts: read(texts).means(),
        recipe.least_nearness,
        recipe.least_lead,
        recipe.each,
    )
    examples, held = examples_of(folder, recipe, translations)
    examples = [each for each in examples if each.language not in arguments.leave_out]
    accelerator.print(f"{dict(Counter(each.language for each in examples))} examples, {len(held)} held out")
    lessons = lessons_of(examples, lambda texts: _taught(recipe.teacher, texts, cache))
    states = read([each.text for each in examples])
    taught = np.flatnonzero(lessons.taught).tolist()
    some = Random(recipe.seed).sample(taught, min(recipe.start, len(taught)))
    some.sort(key=lambda row: int(states.offsets[row + 1] - states.offsets[row]))  # little padding
    known = start_projection(plain, states, some, lessons.vectors[some], recipe.ridge)
    accelerator.print(f"R² of the projection at the start: {known:.3f}")
    progress = fit(
        Student(plain, spread_of(lessons.vectors[lessons.taught]), recipe), states, lessons, accelerator, arguments
    )
    model.load_state_dict(plain.state_dict())
    model.save_pretrained(arguments.out)
    tokenizer.save_pretrained(arguments.out)
    # As it was pruned: what transformers saves is indented, and more than twice as large.
    shutil.copy(cache / "tokenizer" / "tokenizer.json", arguments.out)
    record = make_record(recipe, examples, arguments) | {"training_seconds": round(progress.seconds)}
    record["files"] = digests_of(arguments.out)
    lines = [json.dumps(each._asdict() | {"labels": sorted(each.labels)}, ensure_ascii=False) for each in held]
    write_text(arguments.out / "held_out.jsonl", "".join(f"{line}\n" for line in lines))
    write_text(arguments.out / "record.json", json.dumps(record, indent=2, ensure_ascii=False) + "\n")
    remove_checkpoints(arguments.out)
    if arguments.pack:
        pack(arguments.out, arguments.pack)


def _taught(name: str, texts: Sequence[str], cache: Path) -> Floats:
    """Return the teacher's vectors of English turns, float16 [n, width]. Those of earlier runs are read."""
    labeler, path = load_labeler(name), cache / "teacher.npz"
    assert isinstance(labeler, EmbeddedLabeler), "context classifiers are"
    known: dict[str, Floats] = {}
    if path.is_file():
        with np.load(path) as found:
            known = dict(zip(json.loads(found["texts"].tobytes()), found["vectors"], strict=True))
    new = [text for text in texts if text not in known]
    if new:
        known |= dict(zip(new, labeler.encoder.encode(new).astype(np.float16), strict=True))
        names = np.frombuffer(json.dumps(list(known)).encode(), np.uint8)
        with replacing(path) as temporary, temporary.open("wb") as file:
            np.savez(file, texts=names, vectors=np.stack(list(known.values())))
    return np.stack([known[text] for text in texts])


def make_record(
    recipe: MultilingualRecipe, examples: Sequence[Example], arguments: argparse.Namespace
) -> dict[str, Any]:
    """Return how the model was made: the data with their hashes and licences, recipe, machine, versions."""
    folder = Path(arguments.data_dir)
    languages = [each for each in recipe.languages if each not in arguments.leave_out]
    files = [ENGLISH, NEUTRAL, *map(projections, languages)]
    teacher = load_labeler(recipe.teacher)
    rows = [{"file": name, "sha256": digest(folder / name), "licence": SOURCES["xed"].licence} for name in files]
    known = {row["file"] for row in rows}
    return {
        "name": "multilingual-e5",
        "task": "multilingual",
        "architecture": "context",
        "base_model": recipe.base_model,
        "teacher": teacher.identity,
        "data": rows + [row for row in teacher.record["data"] if row["file"] not in known],  # the heads learned from it
        "examples": dict(Counter(each.language for each in examples)),
        "left_out": arguments.leave_out,
        "limitations": _LIMITATIONS,
        "seed": recipe.seed,
        "recipe": asdict(recipe),
        "command": "python training/train_multilingual.py --recipe "
        f"training/recipes/multilingual/{arguments.recipe.name} --data-dir $EDOS_DATA_DIR --out models/multilingual",
        **circumstances(),
    }


if __name__ == "__main__":
    main()
