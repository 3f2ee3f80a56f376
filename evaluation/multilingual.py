"""The labeler `multilingual` on XED's sentences in other languages, beside `general` on their English originals.

    python evaluation/multilingual.py models/multilingual --left-out hu=models/without-hu

The sentences are those that the training held out: a fifth of XED's English ones, with all their translations. All of
the translated ones show an emotion; of the labels other than intents the most probable one is right if it stands for
one that the annotators gave. `--left-out LANGUAGE=FOLDER` measures a model that was trained
without a language on that language. Writes evaluation/multilingual.json.
"""

import argparse
import json
import time
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import describe_machine
from edos_dataset.arrays import Floats
from edos_dataset.encoders.encoder import limit_threads
from edos_dataset.labeling.models.base import Labeler
from edos_dataset.labeling.models.labelers import load_labeler
from edos_dataset.labels import INTENTS, LABEL_IDS, NEUTRAL
from edos_dataset.releases.labelled_sets.label_sets import label_set
from edos_dataset.runs.shards import write_text

_NO_EMOTION = [LABEL_IDS[NEUTRAL], *(LABEL_IDS[name] for name in INTENTS)]
_REPEATS, _TIMED = 3, 200
_ENGLISH_ONE_IN = 3  # of the English sentences, of which there are many more, one in this many is labelled


def read_held_out(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the held-out sentences of a training by language: `text`, `english`, `labels`."""
    found: dict[str, list[dict[str, Any]]] = {}
    for line in (folder / "held_out.jsonl").read_text(encoding="utf-8").splitlines():
        each = json.loads(line)
        found.setdefault(each["language"], []).append(each)
    return found


def hits(probabilities: Floats, sentences: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return how often the most probable label is right, of all but the intents (`hits`), of the emotions alone
    (`hits_of_emotions`); and how often it is an emotion (`named`).

    Args:
        probabilities: [n, 41].
        sentences: their labels.
    """
    right = [label_set("xed", each["labels"]) or frozenset() for each in sentences]
    without = probabilities.copy()
    without[:, _NO_EMOTION[1:]] = 0
    first = without.argmax(axis=1)
    without[:, _NO_EMOTION] = 0
    felt = without.argmax(axis=1)
    return {
        "sentences": len(sentences),
        "hits": _share([label in those for label, those in zip(first.tolist(), right, strict=True)]),
        "hits_of_emotions": _share([label in those for label, those in zip(felt.tolist(), right, strict=True)]),
        "named": _share(first != LABEL_IDS[NEUTRAL]),
    }


def _share(marks: Any) -> float:  # noqa: ANN401 - truth values
    return round(float(np.mean(marks)), 4)


def label(labeler: Labeler, texts: Sequence[str]) -> Floats:
    """Return the probabilities of texts, each alone, float32 [n, 41]."""
    return labeler.predict_proba([[text] for text in texts])


def measure(folder: Path, left_out: dict[str, Path]) -> dict[str, Any]:
    """Return the hits by model and language, and the processor time of the two models on the same turns."""
    held = read_held_out(folder)
    own, general = (load_labeler(name) for name in ("multilingual", "general"))
    english = held.pop("en")
    sets = {"en": [each for each in english if each["labels"] != ["neutral"]][::_ENGLISH_ONE_IN], **held}
    sets["en, neutral"] = [each for each in english if each["labels"] == ["neutral"]]
    return {
        "source": own.source,
        "beside": general.source,
        "multilingual": {name: _hits(own, sentences) for name, sentences in sets.items()},
        "general": {name: _hits(general, sentences) for name, sentences in sets.items() if name not in held},
        "general on the originals": {name: _hits(general, each, "english") for name, each in held.items()},
        "left_out": {name: _hits(load_labeler(str(place)), held[name]) for name, place in left_out.items()},
        "processor_seconds": _times(own, general, sets["en"], held.get("de", [])),
    }


def _hits(labeler: Labeler, sentences: Sequence[dict[str, Any]], key: str = "text") -> dict[str, Any]:
    return hits(label(labeler, [each[key] for each in sentences]), sentences)


def _times(
    own: Labeler, general: Labeler, english: Sequence[dict[str, Any]], german: Sequence[dict[str, Any]]
) -> dict[str, float]:
    """Return the seconds that two models take for the same English turns, and for German ones and their originals."""
    some, translated = ([each["text"] for each in sentences[:_TIMED]] for sentences in (english, german))
    originals = [each["english"] for each in german[:_TIMED]]
    took, beside = seconds(own, some), seconds(general, some)
    return {
        "turns": len(some),
        "multilingual": took,
        "general": beside,
        "speed beside general": round(beside / took, 2),
        "German turns": len(translated),
        "multilingual, German": seconds(own, translated),
        "general, their originals": seconds(general, originals),
    }


def seconds(labeler: Labeler, texts: Sequence[str]) -> float:
    """Return the least processor time of labelling texts, in seconds."""
    took = []
    with limit_threads(1):
        for _ in range(_REPEATS):
            began = time.process_time()
            label(labeler, texts)
            took.append(time.process_time() - began)
    return round(min(took), 3)


def main() -> None:
    """Measure, write and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="folder that train_multilingual.py wrote")
    parser.add_argument("--left-out", nargs="*", default=[], metavar="LANGUAGE=FOLDER")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args()
    left_out = {language: Path(folder) for language, _, folder in (each.partition("=") for each in arguments.left_out)}
    found = {"date": date.today().isoformat(), "machine": describe_machine(), **measure(arguments.model, left_out)}
    write_text(arguments.out, json.dumps(found, indent=1) + "\n")
    print(json.dumps(found, indent=1))  # noqa: T201


if __name__ == "__main__":
    main()
