"""Pack a trained classifier into the form that the package ships, and count what the rounding changes.

    python training/pack_classifier.py models/dialogue --data-dir "$EDOS_DATA_DIR" --recipe \
        training/recipes/minilm/dialogue.yaml \
        --out edos_dataset/labeling/models/weights/dialogue

It packs a `DialogueClassifier` or a `ContextClassifier`, of which the head that sees the dialogue is compared. The
record beside the packed weights gains `packing`: the share of the test part's labels that stay the same, and the
largest change of a probability. `python -m model_cards.render` then writes the card.
"""

import argparse
import json
import os
import sys
from pathlib import Path

import numpy as np

from edos_dataset.arrays import Floats
from edos_dataset.labeling.models.labelers import load_labeler
from edos_dataset.labeling.models.packed import pack
from edos_dataset.runs.shards import write_text
from training.classifier.data import Part, load_data
from training.classifier.recipe import read_recipe


def main() -> None:
    """Pack, unpack, compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="folder that train_classifier.py wrote")
    parser.add_argument(
        "--recipe", type=Path, required=True, help="a recipe of train_classifier.py whose test part is labelled"
    )
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=os.environ.get("EDOS_DATA_DIR"),
        help="folder of the data sets (default: $EDOS_DATA_DIR)",
    )
    parser.add_argument("--cache", type=Path, help="folder that keeps embeddings")
    parser.add_argument("--out", type=Path, required=True, help="folder below edos_dataset/labeling/models/weights")
    arguments = parser.parse_args()
    test = load_data(read_recipe(arguments.recipe), Path(arguments.data_dir), arguments.cache).test
    pack(arguments.model, arguments.out)
    before, after = (_last(name, test) for name in (str(arguments.model), arguments.out.name))
    packing = {
        "test_examples": len(test),
        "equal_labels": round(float(np.mean(before.argmax(axis=1) == after.argmax(axis=1))), 4),
        "accuracy_before": round(float(np.mean(before.argmax(axis=1) == test.labels)), 4),
        "accuracy_after": round(float(np.mean(after.argmax(axis=1) == test.labels)), 4),
        "largest_change_of_a_probability": round(float(np.abs(before - after).max()), 4),
        "bytes": (arguments.out / "packed.safetensors").stat().st_size,
    }
    record = json.loads((arguments.out / "record.json").read_text(encoding="utf-8"))
    record["packing"] = packing
    write_text(arguments.out / "record.json", json.dumps(record, indent=2, ensure_ascii=False) + "\n")
    sys.stdout.write(f"{packing}\n")


def _last(name: str, part: Part) -> Floats:
    """Return a model's probabilities of the last turn of every dialogue, float32 [dialogues, 41]."""
    ends = np.cumsum(list(map(len, part.dialogues))) - 1
    found: Floats = load_labeler(name).predict_proba(part.dialogues)[ends]
    return found


if __name__ == "__main__":
    main()
