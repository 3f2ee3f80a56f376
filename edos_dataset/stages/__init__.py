'''Bases for your own steps in a pipeline: filters and maps over dialogues and turns, one by one or in batches.

    from edos_dataset import curate, recipe, stages

    class NoQuestions(stages.DialogueFilter):
        """Reject dialogues that open with a question."""

        def keep(self, dialogue):
            return not dialogue.turns[0].text.endswith("?") or "opens_with_question"

    pipeline = recipe("default").insert_after("clean", NoQuestions())
    curate("films", "edos", pipeline=pipeline)

| base | method | returns |
|---|---|---|
| `DialogueFilter` | `keep(dialogue)` | `True`, `False` or a reason |
| `TurnFilter` | `keep(turn, dialogue)` | `True`, `False` or a reason |
| `DialogueMap` | `map(dialogue)` | the dialogue with changed turns |
| `TurnMap` | `map(turn, dialogue)` | the new text |
| `BatchDialogueFilter` | `keep(batch)` | one of these for each dialogue |
| `BatchTurnFilter` | `keep(batch)` | one of these for each turn |
| `BatchDialogueMap` | `map(batch)` | the dialogues |
| `BatchTurnMap` | `map(batch)` | the new texts |

**Reasons.** The manifest counts rejects under their reason, as for the steps of this package. The reason is the text
that `keep` returned, lower-case words joined by `_`, or the name of the step if `keep` returned `False`.

**Parameters** are annotated attributes with defaults. They are part of the recipe and of the step's fingerprint:

    class Short(stages.TurnFilter):
        most: int = 80

        def keep(self, turn, dialogue):
            return len(turn.text) <= self.most

    recipe("default").insert_before("clean", Short(most=60))

A step is immutable (a frozen dataclass). Put anything computed once, such as a loaded model, into a
`functools.cached_property`, checks of parameters into `__post_init__`, and checks of files and models into `check`.

**Names.** The name of a step is that of its class in snake case (`no_questions`), or its class attribute `name`. A YAML
recipe refers to it as `package.module:NoQuestions`; its parameters must then have defaults.

**Place.** Steps take dialogues, so they come after the stage `dialogues`. Labels exist after `weak_label` or
`annotate`; a step that reads them declares `needs = ("turns.label",)`, and a wrong place is reported before anything
is read. A step that removes or changes turns belongs before the stages that score or label them.

**Batches.** A step receives arbitrary batches of whole dialogues, in any process, so the result for a dialogue must
depend only on that dialogue. Worker processes import the class by name: if it is defined in a script, the script needs
the usual `if __name__ == "__main__":` guard; if it is defined in a notebook, it runs with `workers=1` only. To use more
workers, move it to a .py file.

**Resuming.** When a step changes, its old results become stale: its fingerprint covers its class, its bases, its
module, and what the module imports from its own package and from this one. If the result depends on anything else, such
as a file or a model, declare that in `inputs`.

**Errors.** A wrong value or an exception becomes a `StepError` that names the step and the dialogue.
'''

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from edos_dataset.runs.pipeline import CorpusStep, Output, Stage
from edos_dataset.stages.step import FilterOfDialogues, FilterOfTurns, MapOfDialogues, MapOfTurns, StepError
from edos_dataset.stages.views import Batch, Dialogue, Turn

__all__ = [
    "Batch",
    "BatchDialogueFilter",
    "BatchDialogueMap",
    "BatchTurnFilter",
    "BatchTurnMap",
    "CorpusStep",
    "Dialogue",
    "DialogueFilter",
    "DialogueMap",
    "Output",
    "Stage",
    "StepError",
    "Turn",
    "TurnFilter",
    "TurnMap",
]

Keep = bool | str
"""True to keep something; False, or a reason code, to reject it."""


class DialogueFilter(FilterOfDialogues):
    """Keep or reject each dialogue.

    Kept dialogues stay unchanged; rejected ones are counted under their reason.
    """

    @abstractmethod
    def keep(self, dialogue: Dialogue) -> Keep:
        """Return True to keep a dialogue; False, or a reason code, to reject it."""


class BatchDialogueFilter(FilterOfDialogues):
    """Keep or reject the dialogues of a batch at once; see `DialogueFilter`."""

    _batched = True

    @abstractmethod
    def keep(self, batch: Batch) -> Sequence[Keep] | np.ndarray:
        """Return for each dialogue True to keep it; False, or a reason code, to reject it."""


class TurnFilter(FilterOfTurns):
    """Keep or reject each turn.

    A rejected turn ends its dialogue, and the turns after it form a new one; a turn left alone is rejected as
    "single_turn". So no dialogue spans a gap, and kept and rejected turns add up to those read. With the class
    attribute `after_removed = "drop"`, the turns after a rejected one are also rejected, as "after_removed_turn".
    Scores and embeddings of a cut dialogue become null.
    """

    @abstractmethod
    def keep(self, turn: Turn, dialogue: Dialogue) -> Keep:
        """Return True to keep a turn of a dialogue; False, or a reason code, to reject it."""


class BatchTurnFilter(FilterOfTurns):
    """Keep or reject the turns of a batch at once; see `TurnFilter`."""

    _batched = True

    @abstractmethod
    def keep(self, batch: Batch) -> Sequence[Keep] | np.ndarray:
        """Return for each turn of the batch, in the order of `batch.texts`, True to keep it; False, or a reason code,
        to reject it.
        """


class DialogueMap(MapOfDialogues):
    """Change the turns of each dialogue.

    The text, times, sentences and speaker of a turn may change; turns may be joined, removed or reordered, as long as
    two are left. Scores and embeddings of a changed dialogue become null.
    """

    @abstractmethod
    def map(self, dialogue: Dialogue) -> Dialogue:
        """Return a dialogue with changed turns: `dialogue.replace([turn.replace(text=...) for turn in dialogue])`."""


class BatchDialogueMap(MapOfDialogues):
    """Change the turns of the dialogues of a batch at once; see `DialogueMap`."""

    _batched = True

    @abstractmethod
    def map(self, batch: Batch) -> Sequence[Dialogue]:
        """Return the dialogues of the batch with changed turns, in their order."""


class TurnMap(MapOfTurns):
    """Change the text of each turn. The texts are stored in NFC; embeddings of a changed dialogue become null."""

    @abstractmethod
    def map(self, turn: Turn, dialogue: Dialogue) -> str:
        """Return the new text of a turn of a dialogue."""


class BatchTurnMap(MapOfTurns):
    """Change the texts of the turns of a batch at once; see `TurnMap`."""

    _batched = True

    @abstractmethod
    def map(self, batch: Batch) -> Sequence[str]:
        """Return the new texts of all turns, in the order of `batch.texts`."""
