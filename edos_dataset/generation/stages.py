"""The answering stage: dialogues in, the same dialogues with answers out."""

from dataclasses import dataclass, field
from typing import ClassVar

import pyarrow as pa

from edos_dataset.arrays import unnest
from edos_dataset.encoders.encoder import limit_threads
from edos_dataset.generation.chosen import identity_of, kept_responder
from edos_dataset.generation.responder import Responder
from edos_dataset.labeling.stages import dialogues_of
from edos_dataset.labels import parse_label
from edos_dataset.runs.pipeline import BY_HAND, Stage, Unit, check_ranges
from edos_dataset.schema import ANSWERS


@dataclass(frozen=True)
class AnswerDialogues(Stage):
    """Answer dialogues: any table with turns gets the column `answers`, of schema.ANSWERS, best first.

    Args:
        model: name (`chat`), folder or Hub id of a response model.
        label: name of the label that every answer is to have; null to have it predicted.
        candidates: answers to each dialogue.
        beams: answers that the search follows at a time.
        sample: draw from the nucleus of 0.9 in place of the search.
        seed: of the drawing.
        labeler: labels the turns of the history; a name that `load_labeler` knows.
        device: "cpu", "cuda", "cuda:1", ... On a CPU it runs in one thread, so that a run gives the same bytes whatever
            its number of workers.
        revision: of a model of the Hub: a tag, a branch or a commit; null for its newest.
        trust_remote_code: run the code that came with the model; it stands in no recipe.
    """

    model: str
    label: str | None = None
    candidates: int = 1
    beams: int = 32
    sample: bool = False
    seed: int = 0
    labeler: str = "general"
    device: str = "cpu"
    revision: str | None = None
    trust_remote_code: bool = field(default=False, metadata=BY_HAND)

    name: ClassVar[str] = "answer"
    unit: ClassVar[Unit] = "dialogues"
    needs, gives = ("dialogue_id", "turns"), ("answers",)

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_ranges(self, candidates=(1, 1_000), beams=(1, 1_000))
        if self.label is not None:
            parse_label(self.label)

    @property
    def responder(self) -> Responder:
        """The model, shared by all stages of the process that name it."""
        return kept_responder(self.model, self.trust_remote_code, self.device, self.labeler, self.revision)

    def check(self) -> None:
        """Check the model, the device, and that the one can answer under the label or by itself."""
        self.responder.check(self.label is not None)

    def inputs(self) -> dict[str, str]:
        """Return the identity of the weights."""
        return {"model": identity_of(self.responder)}

    def __call__(self, table: pa.Table) -> pa.Table:
        """Add the answers; their figures have four decimals, as the last ones depend on what is answered beside."""
        turns, offsets = unnest(table, "turns")
        with limit_threads(1):
            found = self.responder.respond(
                dialogues_of(turns.field("text"), offsets),
                self.label,
                self.candidates,
                self.beams,
                self.sample,
                self.seed,
            )
        rows = [[each.as_row() for each in candidates] for candidates in found]
        return table.append_column("answers", pa.array(rows, ANSWERS))
