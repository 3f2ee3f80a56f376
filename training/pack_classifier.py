"""Pack a trained classifier into the form that the package ships, and count what the rounding changes.

    python training/pack_classifier.py models/dialogue --data-dir "$EDOS_DATA_DIR" --recipe \
        training/recipes/minilm/dialogue.yaml \
        --out edos_dataset/labeling/models/weights/dialogue

The record beside the packed weights gains `packing`: the share of the test part's labels that stay the same, and the
largest change of a probability. `python -m model_cards.render` then writes the card.
"""

import argparse
import json
import os
import sys
from pathlib import Path

import numpy as np
from accelerate import Accelerator
from transformers import AutoModelForSequenceClassification

from edos_dataset.labeling.models.packed import pack, unpack
from edos_dataset.metrics.calibration import softmax
from edos_dataset.runs.shards import write_text
from training.classifier.data import load_data
from training.classifier.model import build_tokenizer
from training.classifier.prediction import logits_of
from training.classifier.recipe import read_recipe


def main() -> None:
    """Pack, unpack, compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="folder that train_classifier.py wrote")
    parser.add_argument("--recipe", type=Path, required=True, help="the recipe that it was trained by")
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=os.environ.get("EDOS_DATA_DIR"),
        help="folder of the data sets (default: $EDOS_DATA_DIR)",
    )
    parser.add_argument("--cache", type=Path, help="folder that keeps embeddings")
    parser.add_argument("--out", type=Path, required=True, help="folder below edos_dataset/labeling/models/weights")
    arguments = parser.parse_args()
    recipe = read_recipe(arguments.recipe)
    tokenizer, data = build_tokenizer(recipe), load_data(recipe, Path(arguments.data_dir), arguments.cache)
    pack(arguments.model, arguments.out)
    models = (
        AutoModelForSequenceClassification.from_pretrained(folder, trust_remote_code=False)
        for folder in (arguments.model, unpack(arguments.out.name))
    )
    before, after = (
        softmax(logits_of(model, data.test.dialogues, recipe, tokenizer, Accelerator(cpu=True))) for model in models
    )
    packing = {
        "test_examples": len(data.test),
        "equal_labels": round(float(np.mean(before.argmax(axis=1) == after.argmax(axis=1))), 4),
        "accuracy_before": round(float(np.mean(before.argmax(axis=1) == data.test.labels)), 4),
        "accuracy_after": round(float(np.mean(after.argmax(axis=1) == data.test.labels)), 4),
        "largest_change_of_a_probability": round(float(np.abs(before - after).max()), 4),
        "bytes": (arguments.out / "packed.safetensors").stat().st_size,
    }
    record = json.loads((arguments.out / "record.json").read_text(encoding="utf-8"))
    record["packing"] = packing
    write_text(arguments.out / "record.json", json.dumps(record, indent=2, ensure_ascii=False) + "\n")
    sys.stdout.write(f"{packing}\n")


if __name__ == "__main__":
    main()
