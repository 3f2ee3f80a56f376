"""The diversity of responses for the library `evaluate`; computed in `edos_dataset.metrics.responses`.

Never write "import a, b" here: evaluate parses these lines itself and takes "a," for the name of a package.
"""

import datasets
import evaluate

from edos_dataset.metrics.responses.dialog_eval import measure
from edos_dataset.metrics.responses.diversity import generic

_DESCRIPTION = "distinct-1 and distinct-2 (Li et al., 2016), and the share of generic responses."
_ARGUMENTS = """
Args:
    predictions: responses.
    contexts: what they answer; by default each response has one of its own.

Returns:
    distinct-1, distinct-2: different words, or bigrams, by all of them; generic: share of the responses that are given
    to three different contexts or more and to at least 0.1 % of them.
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _ARGUMENTS)
class ResponseDiversity(evaluate.Metric):  # type: ignore[misc]
    """Diversity of responses."""

    def _info(self) -> evaluate.MetricInfo:
        features = datasets.Features({"predictions": datasets.Value("string")})
        return evaluate.MetricInfo(
            description=_DESCRIPTION, citation="", inputs_description=_ARGUMENTS, features=features
        )

    def _compute(self, predictions: list[str], contexts: list[str] | None = None) -> dict[str, float]:
        found = measure(predictions)
        figures = {name: float(found[name][0]) for name in ("distinct-1", "distinct-2")}
        return {**figures, "generic": float(generic(predictions, contexts).mean())}
