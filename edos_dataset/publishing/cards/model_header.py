"""The YAML at the head of a model's card, and the estimate of energy that is in it."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from huggingface_hub import EvalResult, ModelCardData

from edos_dataset.labels import LABELS
from edos_dataset.publishing.cards.markdown import MISSING

if TYPE_CHECKING:
    from edos_dataset.arrays import Floats

Row = Mapping[str, Any]

WATTS = 100.0
"""Power of the machine where a record does not state it: a desktop processor at work, with all around it."""
GRAMS_PER_KWH = 436.0
"""Carbon dioxide equivalent of a kilowatt-hour where a record does not state it: the world's mean of 2022 (Ember,
Global Electricity Review 2023).
"""

FIGURES = (
    ("accuracy", "accuracy", "accuracy"),
    ("macro_f1", "macro-F1", "f1"),
    ("macro_precision", "macro precision", "precision"),
    ("macro_recall", "macro recall", "recall"),
    ("top_3_accuracy", "top-3 accuracy", "top_3_accuracy"),
    ("ece", "expected calibration error", "expected_calibration_error"),
)
"""Keys of a `metrics.json`, how they are called, and their metric ids in a model index."""


def model_metadata(record: Row, metrics: Row) -> str:
    """Return the YAML of the card; arguments as for `render_model_card`.

    A base model that has no name on the Hub stands in the text alone: the Hub refuses it.
    """
    data = record.get("data", [])
    kind = str(data[0]["file"]).split("/")[0] if data else MISSING
    kind = metrics["test"]["dataset"] if "test" in metrics else kind
    results = [
        EvalResult(
            "text-classification",
            kind,
            f"{kind}, held out",
            metric,
            metrics[key],
            metric_name=name,
            dataset_split="test",
        )
        for key, name, metric in FIGURES
        if metrics.get(key) is not None
    ]
    base, licence = record.get("base_model") or "", _licence(record)
    emissions = None
    if record.get("training_seconds") is not None:
        emissions = {
            "emissions": round(emitted_grams(record), 1),
            "source": "estimated from time and power",
            "training_type": "fine-tuning",
        }
    card = ModelCardData(
        language="en",
        license=licence,
        license_name="see-data" if licence == "other" else None,
        library_name=record.get("library", "transformers"),
        pipeline_tag="text-classification",
        tags=["emotion", "empathy", "dialogue", f"edos-{record['task']}"],
        datasets=sorted({row["hub"] for row in data if row.get("hub")}) or None,
        base_model=base if re.fullmatch(r"[\w.-]+/[\w.-]+", base) else None,
        metrics=sorted({result.metric_type for result in results}) or None,
        model_name=str(record["name"]) if results else None,
        eval_results=results or None,
        co2_eq_emissions=emissions,
        widget=record.get("widget") or None,
    )
    return card.to_yaml()


def widget_examples(texts: Sequence[str], probabilities: "Floats", top: int = 3) -> list[dict[str, Any]]:
    """Return examples for the Hub's widget, with what the model answered.

    Args:
        texts: one turn each.
        probabilities: [texts, 41], the model's.
        top: labels to show.
    """
    order = (-probabilities).argsort(axis=1, kind="stable")[:, :top]
    return [
        {"text": text, "output": [{"label": LABELS[label], "score": round(float(row[label]), 4)} for label in labels]}
        for text, row, labels in zip(texts, probabilities, order, strict=True)
    ]


def energy(record: Row) -> str:
    """Return what the training took, in a sentence: an estimate from its time."""
    if record.get("training_seconds") is None:
        return f"The time of training is {MISSING}, so nothing can be estimated."
    hours = record["training_seconds"] / 3600
    power = f"{record.get('watts', WATTS):g} W ({'stated' if 'watts' in record else 'assumed'})"
    mix = (
        f"{record.get('grams_per_kwh', GRAMS_PER_KWH):g} g/kWh ({'stated' if 'grams_per_kwh' in record else 'assumed'})"
    )
    return (
        f"About {_kilowatt_hours(record):.3g} kWh and {emitted_grams(record):.3g} g of CO2 equivalent, estimated, not "
        f"measured: {hours:.2f} hours × {power} × {mix}. "
        "The search for the recipe is not in it."
    )


def emitted_grams(record: Row) -> float:
    """Return the estimated grams of carbon dioxide equivalent of a training whose seconds are recorded."""
    return _kilowatt_hours(record) * float(record.get("grams_per_kwh", GRAMS_PER_KWH))


def _kilowatt_hours(record: Row) -> float:
    return float(record["training_seconds"] * record.get("watts", WATTS) / 3.6e6)


def _licence(record: Row) -> str:
    """Return the licence as the Hub names it: the recorded one, or what the data ask for."""
    licences = [row.get("licence", "") for row in record.get("data", [])] + [record.get("licence_of_the_data", "")]
    return record.get("licence") or ("cc-by-nc-4.0" if any("NC" in str(text) for text in licences) else "other")
