"""Predicted labels of turns compared with true labels, for the library `evaluate`; computed in
`edos_dataset.metrics.classification`.

Never write "import a, b" here: evaluate parses these lines itself and takes "a," for the name of a package.
"""

import datasets
import evaluate
import numpy as np

from edos_dataset.labels import LABELS
from edos_dataset.metrics.classification import confusion, confusion_scores, per_label

_DESCRIPTION = "Accuracy, macro precision, recall and F1, and the four figures of each of the 41 labels of EDOS."
_ARGUMENTS = """
Args:
    predictions: label ids, 0 to 40.
    references: the true ids.

Returns:
    accuracy, macro_precision, macro_recall, macro_f1 (means over the labels that are on either side), and by_label:
    label to precision, recall, f1, support; the first three are None for a label on neither side.
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _ARGUMENTS)
class DialogueEmotion(evaluate.Metric):  # type: ignore[misc]
    """Classification scores."""

    def _info(self) -> evaluate.MetricInfo:
        features = datasets.Features({"predictions": datasets.Value("int64"), "references": datasets.Value("int64")})
        return evaluate.MetricInfo(
            description=_DESCRIPTION, citation="", inputs_description=_ARGUMENTS, features=features
        )

    def _compute(self, predictions: list[int], references: list[int]) -> dict[str, object]:
        counts = confusion(np.asarray(references), np.asarray(predictions))
        table = per_label(counts)
        rows = {
            label: {name: None if np.isnan(column[row]) else float(column[row]) for name, column in table.items()}
            for row, label in enumerate(LABELS)
        }
        return {**confusion_scores(counts), "by_label": rows}
