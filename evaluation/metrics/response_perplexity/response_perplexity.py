"""The perplexity of responses for the library `evaluate`; computed in `edos_dataset.metrics.responses.diversity`.

Never write "import a, b" here: evaluate parses these lines itself and takes "a," for the name of a package.
"""

import datasets
import evaluate

from edos_dataset.metrics.responses.diversity import perplexity

_DESCRIPTION = "Perplexity per token, and per word, by which models with different tokenizers can be compared."
_ARGUMENTS = """
Args:
    log_likelihoods: of each text, summed over its tokens, natural logarithm.
    tokens: how many were predicted, the end of the text included where it was.
    words: how many words each text has.

Returns:
    per_token, per_word.
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _ARGUMENTS)
class ResponsePerplexity(evaluate.Metric):  # type: ignore[misc]
    """Perplexity over all texts."""

    def _info(self) -> evaluate.MetricInfo:
        kinds = {"log_likelihoods": "float64", "tokens": "int64", "words": "int64"}
        features = datasets.Features({name: datasets.Value(kind) for name, kind in kinds.items()})
        return evaluate.MetricInfo(
            description=_DESCRIPTION, citation="", inputs_description=_ARGUMENTS, features=features
        )

    def _compute(self, log_likelihoods: list[float], tokens: list[int], words: list[int]) -> dict[str, float]:
        total = sum(log_likelihoods)
        return {"per_token": perplexity(total, sum(tokens)), "per_word": perplexity(total, sum(words))}
