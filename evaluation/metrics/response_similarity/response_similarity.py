"""The semantic similarity of responses to true ones, for the library `evaluate`; computed in
`edos_dataset.metrics.responses.similarity`.

Never write "import a, b" here: evaluate parses these lines itself and takes "a," for the name of a package.
"""

import datasets
import evaluate

from edos_dataset.encoders.encoder import DEFAULT_MODEL, Encoder
from edos_dataset.metrics.responses.dialog_eval import summarise
from edos_dataset.metrics.responses.similarity import ses

_DESCRIPTION = "SES (Xie and Pu): the cosine of the sentence embeddings of response and truth."
_ARGUMENTS = """
Args:
    predictions: responses.
    references: the true ones.
    encoder: all-MiniLM-L6-v2, a folder, or the Hub id of a SentenceTransformer model.

Returns:
    ses: mean, std, confidence (half of the 95 % interval), n; encoder: name and digest.
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _ARGUMENTS)
class ResponseSimilarity(evaluate.Metric):  # type: ignore[misc]
    """Semantic similarity."""

    def _info(self) -> evaluate.MetricInfo:
        features = datasets.Features({"predictions": datasets.Value("string"), "references": datasets.Value("string")})
        return evaluate.MetricInfo(
            description=_DESCRIPTION, citation="", inputs_description=_ARGUMENTS, features=features
        )

    def _compute(
        self, predictions: list[str], references: list[str], encoder: str = DEFAULT_MODEL
    ) -> dict[str, object]:
        chosen = Encoder(encoder)
        return {"ses": summarise(ses(predictions, references, chosen.encode)), "encoder": chosen.identity}
