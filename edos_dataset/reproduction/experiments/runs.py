"""A run of yours beside the sizes and labels of the published corpora (EDOS, Tables 3 and 9; Xie and Pu, Tables 1 and
2). The labels of a run are those of the labeler that it names.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow.parquet as pq

from edos_dataset.arrays import Ints
from edos_dataset.labels import LABELS
from edos_dataset.publishing.cards.paper_figures import BY_LABEL
from edos_dataset.reproduction.results import Data, Estimate, Measured, MissingInputError

_QUESTIONING, _NEUTRAL = LABELS.index("questioning"), LABELS.index("neutral")


def sizes_of_os(data: Data) -> Mapping[str, Measured]:
    """Return the means of config `os`, all clean dialogues."""
    return _sizes(data, "os")


def sizes_of_initial(data: Data) -> Mapping[str, Measured]:
    """Return the means of config `edos_initial`, the dialogues selected."""
    return _sizes(data, "edos_initial")


def sizes_of_edos(data: Data) -> Mapping[str, Measured]:
    """Return the means of config `edos`, with the final labels."""
    return _sizes(data, "edos")


def _sizes(data: Data, config: str) -> Mapping[str, Measured]:
    facts = data.manifest["configs"].get(config)
    if facts is None:
        raise MissingInputError(
            f"{data.run} has no config {config!r}: edos curate FOLDER --recipe papers --out {data.run}"
        )
    number = facts["dialogues"]
    return {
        "turns a dialogue": Measured(yours=Estimate(round(facts["turns_per_dialogue"], 2), number=number)),
        "tokens a turn": Measured(yours=Estimate(round(facts["tokens_per_turn"], 2), number=number)),
    }


def frequent_labels(data: Data) -> Mapping[str, Measured]:
    """Return the fractions of the turns that are neutral and questioning."""
    counts = _counts(data)
    total = int(counts.sum())
    return {
        "neutral, %": Measured(yours=Estimate(_percent(counts[_NEUTRAL], total), number=total)),
        "questioning, %": Measured(yours=Estimate(_percent(counts[_QUESTIONING], total), number=total)),
    }


def _percent(part: int, whole: int) -> float:
    return round(100 * float(part) / whole, 2)


def labels(data: Data) -> Mapping[str, Measured]:
    """Return how far the fractions of the 41 labels go with those of the paper's Table 9."""
    counts, theirs = _counts(data), np.array([turns for _, turns in BY_LABEL], np.float64)
    value = float(np.corrcoef(counts, theirs)[0, 1])
    return {
        "correlation with the shares of Table 9": Measured(yours=Estimate(round(value, 3), number=int(counts.sum())))
    }


def _counts(data: Data) -> Ints:
    """Return the turns of each label in config `edos`."""
    _sizes(data, "edos")
    assert data.run is not None
    counts = np.zeros(len(LABELS), np.int64)
    for path in sorted((data.run / "edos").glob("*.parquet")):
        for batch in pq.ParquetFile(path).iter_batches(columns=["turns.list.element.label"]):
            labels = batch.column("turns").flatten().field("label").drop_null().to_numpy(zero_copy_only=False)
            counts += np.bincount(labels, minlength=len(LABELS))[: len(LABELS)]
    if not counts.sum():
        raise MissingInputError(f"{data.run} has no labels of the 41: edos curate FOLDER --out {data.run}")
    return counts
