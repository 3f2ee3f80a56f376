"""The 17 metrics of dialog-eval for the library `evaluate`; they are computed in `edos_dataset.metrics.responses`.

Never write "import a, b" here: evaluate parses these lines itself and takes "a," for the name of a package.
"""

import datasets
import evaluate

from edos_dataset.metrics.responses.dialog_eval import Figure
from edos_dataset.metrics.responses.dialog_eval import evaluate as figures
from edos_dataset.metrics.responses.words import Words, read_lines, read_vectors

_DESCRIPTION = "The 17 metrics of dialog-eval (length, entropy, divergence, embeddings, coherence, distinct, BLEU)."
_ARGUMENTS = """
Args:
    predictions: responses, words separated by white space.
    references: the true ones.
    contexts: what they answer; needed for coherence.
    train: file of the training set's contexts, a text a line; needed for entropy, embedding-average and coherence.
    vectors: file of word vectors; needed for embeddings and coherence.
    vocabulary: file of further words; by default the words of train.

Returns:
    metric to mean, std, confidence (half of the 95 % interval), n.
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _ARGUMENTS)
class DialogEval(evaluate.Metric):  # type: ignore[misc]
    """Metrics of responses."""

    def _info(self) -> evaluate.MetricInfo:
        features = datasets.Features({"predictions": datasets.Value("string"), "references": datasets.Value("string")})
        return evaluate.MetricInfo(
            description=_DESCRIPTION, citation="", inputs_description=_ARGUMENTS, features=features
        )

    def _compute(
        self,
        predictions: list[str],
        references: list[str],
        contexts: list[str] | None = None,
        train: str | None = None,
        vectors: str | None = None,
        vocabulary: str | None = None,
    ) -> dict[str, Figure]:
        words = Words.of(
            None if vectors is None else read_vectors(vectors),
            None if vocabulary is None else [line.strip() for line in read_lines(vocabulary)],
            None if train is None else read_lines(train),
        )
        return figures(predictions, references, contexts, words)
