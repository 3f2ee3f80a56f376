"""Write what the shipped classifiers answer to a few turns, which the Hub's widgets show before anybody asks.

    python -m model_cards.examples

`model_cards.render` puts them into the cards. A model whose backbone cannot be had keeps its answers, if its weights
are still the same.
"""

import json
import sys
from pathlib import Path
from typing import Any

from edos_dataset.labeling.models.labelers import load_labeler
from edos_dataset.labeling.models.packed import identify
from edos_dataset.labeling.models.shipped import MULTILINGUAL, SHIPPED
from edos_dataset.runs.shards import write_text
from model_cards.classifiers import widget_examples

EXAMPLES = Path(__file__).with_suffix(".json")
"""Model → its weights (`source`) and its answers (`widget`)."""
TURNS = ("I got the job! I can't believe it!", "I'm sorry to hear that.", "Why didn't you call me back?")
TRANSLATED = ("Ich habe solche Angst.", "Estoy muy orgulloso de ti.", "Menj innen, elegem van belőled!")


def main() -> None:
    """Ask all models that transformers can load."""
    known: dict[str, Any] = json.loads(EXAMPLES.read_text(encoding="utf-8")) if EXAMPLES.is_file() else {}
    found = {}
    for name, model in SHIPPED.items():
        if not model.of_transformers:
            continue
        source, turns = identify(name)[:-8], TRANSLATED if name == MULTILINGUAL else TURNS
        try:
            labelled = load_labeler(name).predict_proba([[turn] for turn in turns])
        except ValueError as error:
            if known.get(name, {}).get("source") != source:
                sys.exit(f"error: {name}: {error}")
            found[name] = known[name]
            continue
        found[name] = {"source": source, "widget": widget_examples(turns, labelled.round(3))}
    write_text(EXAMPLES, json.dumps(found, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
