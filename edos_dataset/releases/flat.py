"""The flat view of a labelled data set, a labelled turn a row: what responders and classifiers are trained on."""

from collections.abc import Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from edos_dataset.schema import list_of

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict, Features, IterableDataset, IterableDatasetDict

D = TypeVar("D", "Dataset", "DatasetDict", "IterableDataset", "IterableDatasetDict")

_TEXTS = ("text", "text_sha256")


def flat(dataset: D) -> D:
    """Return a labelled data set with a labelled turn a row.

    Every turn of `edos` and `edos_initial` gives a row, the first with an empty context; of `amt_seed` and `extended`
    the last turn of each dialogue, which alone has a label.

        pairs = flat(load_dataset("edos")).filter(lambda row: row["context"])

    Args:
        dataset: of any config with labels, ours or a raw release, in memory, on disk or streaming; or a dictionary of
            such.

    Returns:
        Of the same kind, in the same order, with `dialogue_id`, `turn` (the response's number in its dialogue, from 0),
        `context` (the texts before it, oldest first), `response`, `label` (the same `ClassLabel`, or null) and, where
        there is one, its `confidence`. Labels without texts give the hashes of texts instead: `context_sha256` and
        `response_sha256`.

    Raises:
        ValueError: it has no labels, or does not tell its columns.
    """
    if isinstance(dataset, dict):
        return type(dataset)({name: flat(part) for name, part in dataset.items()})
    columns = flat_features(dataset.features)
    change = partial(flat_rows, columns=list(columns))
    return dataset.map(change, batched=True, remove_columns=list(dataset.features), features=columns)


def flat_features(given: "Features | None") -> "Features":
    """Return the features of the flat view of a data set that has these.

    Raises:
        ValueError: it has no labels.
    """
    from datasets import Features, Value

    if given is None:
        raise ValueError("the data set does not tell its columns: load it by `edos_dataset.load`, or cast it")
    turn = _turn_of(given)
    if "label" in given:  # of the last turn; what its turns may have beside is not theirs
        turn |= {name: given.get(name) for name in ("label", "confidence")}
    text = next((name for name in _TEXTS if name in turn), None)
    if text is None or not hasattr(turn.get("label"), "names") or "dialogue_id" not in given:
        raise ValueError(
            "a flat view needs dialogue_id, turns with texts, and labels on turns or dialogues, but the data set has "
            f"{', '.join(given)}, and its turns {', '.join(_turn_of(given)) or 'nothing'}"
        )
    suffix = text.removeprefix("text")
    columns = {
        "dialogue_id": Value("string"),
        "turn": Value("int32"),
        f"context{suffix}": list_of(Value("string")),
        f"response{suffix}": Value("string"),
        "label": turn["label"],
    }
    if turn.get("confidence") is not None:
        columns["confidence"] = Value("float32")
    return Features(columns)


def _turn_of(given: "Mapping[str, Any]") -> dict[str, Any]:
    """Return the features of a turn."""
    turns = given.get("turns")
    item = turns[0] if isinstance(turns, list) else getattr(turns, "feature", None)
    return dict(item) if isinstance(item, dict) else {}


def flat_rows(rows: Mapping[str, list[Any]], columns: Collection[str]) -> dict[str, list[Any]]:
    """Return the flat view of some rows.

    Args:
        rows: the columns of a labelled data set.
        columns: names of the flat features.
    """
    suffix = next(name for name in columns if name.startswith("response")).removeprefix("response")
    found: dict[str, list[Any]] = {name: [] for name in columns}
    for number, turns in enumerate(rows["turns"]):
        texts = [turn[f"text{suffix}"] for turn in turns]
        for place in range(len(turns)) if "label" not in rows else range(len(turns))[-1:]:
            scores = turns[place] if "label" not in rows else {name: rows[name][number] for name in rows}
            found["dialogue_id"].append(rows["dialogue_id"][number])
            found["turn"].append(place)
            found[f"context{suffix}"].append(texts[:place])
            found[f"response{suffix}"].append(texts[place])
            for name in ("label", "confidence"):
                if name in found:
                    found[name].append(scores[name])
    return found
