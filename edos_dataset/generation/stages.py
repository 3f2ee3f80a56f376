"""The answering stage, which adds answers to dialogues."""

from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import pyarrow as pa

from edos_dataset.arrays import unnest
from edos_dataset.encoders.encoder import limit_threads
from edos_dataset.generation.decoding import Decoding
from edos_dataset.generation.responder import Responder, identity_of, kept_responder
from edos_dataset.labeling.stages import dialogues_of
from edos_dataset.labels import parse_label
from edos_dataset.runs.pipeline import BY_HAND, Stage, Unit, check_ranges
from edos_dataset.schema import ANSWERS


@dataclass(frozen=True)
class AnswerDialogues(Stage):
    """Answer dialogues: add the column `answers` (schema.ANSWERS), best first, to any table with turns.

    Args:
        model: name (`chat`), folder or Hub id of a response model.
        label: name of the label of every answer; null to predict it.
        candidates: number of answers to each dialogue.
        beams: number of beams of the search; null for the model's own number.
        sample: draw answers instead of searching.
        seed: seed of drawing.
        labeler: labeler of the history's turns, a name that `load_labeler` accepts; null for the model's own.
        device: "cpu", "cuda", "cuda:1", ... On a CPU the model uses one thread, so that a run's output does not depend
            on the number of workers.
        revision: tag, branch or commit of a model of the Hub; null for the newest.
        trust_remote_code: run the code that comes with the model; never read from a recipe.
        temperature: divisor of the logits before drawing, above 0 to 100.
        top_p: probability of the tokens to draw from, above 0 to 1.
        top_k: largest number of tokens to draw from; 0 for no limit.
        block: whether no four tokens in a row may be repeated in an answer.
        max_tokens: maximum number of tokens of an answer, 1 to 1,000.
        rerank: number of answers written under each label, of which the labeler keeps the one that has it most surely,
            1 to 1,000.
        guidance: strength with which answers keep to their label, 0 (none) to 10; null for the model's own.
    """

    model: str
    label: str | None = None
    candidates: int = 1
    beams: int | None = None
    sample: bool = False
    seed: int = 0
    labeler: str | None = None
    device: str = "cpu"
    revision: str | None = None
    trust_remote_code: bool = field(default=False, metadata=BY_HAND)
    temperature: float = 1.0
    top_p: float = 0.9
    top_k: int = 0
    block: bool = True
    max_tokens: int = 100
    rerank: int = 1
    guidance: float | None = None

    name: ClassVar[str] = "answer"
    unit: ClassVar[Unit] = "dialogues"
    needs, gives = ("dialogue_id", "turns"), ("answers",)

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_ranges(self, candidates=(1, 1_000), beams=(1, 1_000), max_tokens=(1, 1_000), rerank=(1, 1_000))
        Decoding(**self._decoding)
        if self.label is not None:
            parse_label(self.label)

    @property
    def settings(self) -> dict[str, Any]:
        """How answers are searched or drawn and chosen, as arguments of `Responder.respond`."""
        return self._decoding | {"rerank": self.rerank}

    @property
    def _decoding(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(Decoding)}

    @property
    def responder(self) -> Responder:
        """The model, shared by all stages of the process with the same settings."""
        return kept_responder(self.model, self.trust_remote_code, self.device, self.labeler, self.revision)

    def check(self) -> None:
        """Check the model and the device, and that the model can answer under the label or predict one."""
        self.responder.check(self.label is not None, self.rerank, self.guidance)

    def inputs(self) -> dict[str, str]:
        """Return the identity of the weights."""
        return {"model": identity_of(self.responder)}

    def __call__(self, table: pa.Table) -> pa.Table:
        """Add the answers. Figures have four decimals, since the last digits depend on the batch."""
        turns, offsets = unnest(table, "turns")
        with limit_threads(1):
            found = self.responder.respond(
                dialogues_of(turns.field("text"), offsets),
                self.label,
                self.candidates,
                **self.settings,
            )
        rows = [[each.as_row() for each in candidates] for candidates in found]
        return table.append_column("answers", pa.array(rows, ANSWERS))
