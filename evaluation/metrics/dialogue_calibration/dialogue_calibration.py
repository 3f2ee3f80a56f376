"""Label probabilities of turns compared with true labels, for the library `evaluate`; computed in
`edos_dataset.metrics.classification`.

Never write "import a, b" here: evaluate parses these lines itself and takes "a," for the name of a package.
"""

import datasets
import evaluate
import numpy as np

from edos_dataset.metrics.classification import calibration_error, confusion, cross_entropy, top_k_accuracy

_DESCRIPTION = (
    "Expected calibration error (Guo et al., 2017; 15 bins), cross-entropy in nats, and how often the label "
    "is among the k most probable."
)
_ARGUMENTS = """
Args:
    predictions: for each example the probabilities of all labels in the order of their ids; they sum to 1.
    references: the true ids.
    k: 3 by default.

Returns:
    ece, cross_entropy, top_k_accuracy.
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _ARGUMENTS)
class DialogueCalibration(evaluate.Metric):  # type: ignore[misc]
    """Scores of probabilities."""

    def _info(self) -> evaluate.MetricInfo:
        features = datasets.Features(
            {"predictions": datasets.List(datasets.Value("float64")), "references": datasets.Value("int64")}
        )
        return evaluate.MetricInfo(
            description=_DESCRIPTION, citation="", inputs_description=_ARGUMENTS, features=features
        )

    def _compute(self, predictions: list[list[float]], references: list[int], k: int = 3) -> dict[str, float]:
        probabilities, labels = np.asarray(predictions), np.asarray(references)
        confusion(labels, probabilities.argmax(axis=1), probabilities.shape[1])  # refuses labels without a probability
        if np.abs(probabilities.sum(axis=1) - 1).max() > 1e-3:
            raise ValueError("the probabilities of an example don't sum to 1: give the softmax of the logits")
        figures = {
            "ece": calibration_error(probabilities, labels),
            "cross_entropy": cross_entropy(probabilities, labels),
        }
        return {**figures, "top_k_accuracy": top_k_accuracy(probabilities, labels, k)}
