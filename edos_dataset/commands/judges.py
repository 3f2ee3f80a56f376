"""What judges responses beside what is counted, for `edos evaluate`; each is loaded when it is asked."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from edos_dataset.arrays import Ints
from edos_dataset.encoders.encoder import DEFAULT_MODEL, Encoder, quiet
from edos_dataset.metrics.responses.libraries import Measured, bertscore, chrf, sacrebleu
from edos_dataset.metrics.responses.semantic import ses

Metric = Callable[[Sequence[str], Sequence[str]], Measured]
"""Responses and as many references → what was measured."""


@dataclass(frozen=True)
class Judges:
    """Libraries and models that judge; all take longer than what is counted.

    Attributes:
        sacrebleu: measure sacreBLEU and chrF.
        ses: measure the similarity of sentence embeddings,
        encoder: by this encoder.
        bertscore: measure BERTScore,
        bertscore_model: by this model; see `libraries.bertscore`.
        labeler: what labels responses whose labels are known.
        device: torch device of all of them; by default a GPU, if there is one.
    """

    sacrebleu: bool = False
    ses: bool = False
    encoder: str = DEFAULT_MODEL
    bertscore: bool = False
    bertscore_model: str | None = None
    labeler: str = "general"
    device: str | None = None

    @property
    def metrics(self) -> dict[str, Metric]:
        """Name → what measures it, of all that is asked for and needs references."""
        asked: dict[str, tuple[bool, Metric]] = {
            "sacreBLEU": (self.sacrebleu, sacrebleu),
            "chrF": (self.sacrebleu, chrf),
            "BERTScore": (self.bertscore, self.bertscores),
            "SES": (self.ses, self.similarities),
        }
        return {name: metric for name, (wanted, metric) in asked.items() if wanted}

    def similarities(self, responses: Sequence[str], references: Sequence[str]) -> Measured:
        """Measure SES, by the encoder."""
        encoder = Encoder(self.encoder, self._device)
        return Measured(ses(responses, references, encoder.encode), encoder.identity)

    def bertscores(self, responses: Sequence[str], references: Sequence[str]) -> Measured:
        """Measure BERTScore, by its model."""
        with quiet():
            return bertscore(responses, references, self.bertscore_model, device=self._device)

    def labels(self, responses: Sequence[str], contexts: Sequence[str] | None = None) -> tuple[Ints, str]:
        """Return the most probable label of each response, seen behind its context where there is one, and the identity
        of the labeler.
        """
        from edos_dataset.labeling.models.labelers import load_labeler

        labeler = load_labeler(self.labeler, self._device)
        before = [[]] * len(responses) if contexts is None else [[context] for context in contexts]
        dialogues = [[*turns, response] for turns, response in zip(before, responses, strict=True)]
        labels: Ints = labeler.predict_proba(dialogues).argmax(axis=1)
        return labels[len(dialogues[0]) - 1 :: len(dialogues[0])], labeler.identity

    @property
    def _device(self) -> str:
        from edos_dataset.labeling.models.labelers import default_device

        return self.device or default_device()
