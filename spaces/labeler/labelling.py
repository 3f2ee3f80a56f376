"""Labels for a pasted dialogue: every turn with its probabilities, its group and the seed dialogues that are near."""

from dataclasses import dataclass
from threading import Lock
from typing import Any, Literal, get_args

from seeds import Neighbour, Seeds

from edos_dataset.encoders.encoder import limit_threads
from edos_dataset.labeling.models.labelers import load_labeler
from edos_dataset.labels import LABELS
from edos_dataset.web.drawing import group_shares
from edos_dataset.web.paste import Turn, read_paste

Model = Literal["general", "dialogue", "weak", "fast"]
MODELS: tuple[Model, ...] = get_args(Model)
"""Models to choose from, by the names that `load_labeler` knows."""

_LOCK = Lock()  # one dialogue at a time: the processors are shared, and so is the number of threads


@dataclass(frozen=True)
class LabelledTurn:
    """A turn with what the model says of it.

    Attributes:
        turn: the turn.
        probabilities: of the 41 labels, by id; they sum to 1.
        nearest: dialogues of the seed that are near to the dialogue up to this turn.
    """

    turn: Turn
    probabilities: tuple[float, ...]
    nearest: tuple[Neighbour, ...] = ()

    @property
    def ranking(self) -> list[int]:
        """All label ids, the most probable first, of equal ones the smaller."""
        return sorted(range(len(LABELS)), key=lambda label: (-self.probabilities[label], label))

    @property
    def label(self) -> int:
        """The most probable label's id."""
        return self.ranking[0]

    @property
    def confidence(self) -> float:
        """Its probability."""
        return self.probabilities[self.label]

    @property
    def shares(self) -> dict[str, float]:
        """The probability of each of GROUPS."""
        return group_shares(self.probabilities)


@dataclass(frozen=True)
class Labelled:
    """A labelled dialogue.

    Attributes:
        source: name and short digest of the model.
        context: earlier turns that it sees a turn with: 0 for none, None for any number.
        turns: oldest first.
        warnings: sentences on what to beware of.
    """

    source: str
    context: int | None
    turns: tuple[LabelledTurn, ...]
    warnings: tuple[str, ...]


def label_text(text: str, model: str, seeds: Seeds | None = None, top_k: int = 3) -> Labelled:
    """Label a pasted dialogue; equal texts get equal labels.

    Args:
        text: as for `read_paste`.
        model: one of MODELS.
        seeds: where near dialogues are looked for; None for nowhere.
        top_k: how many of them for a turn.

    Raises:
        ValueError: the text is no dialogue, or there is no such model; the message is a sentence for the page.
    """
    if model not in MODELS:
        raise ValueError(f"There is no model {str(model)[:40]!r}. Choose one of {', '.join(MODELS)}.")
    pasted = read_paste(text)
    texts = [turn.text for turn in pasted.turns]
    labeler = load_labeler(model)
    with _LOCK, limit_threads(1):
        probabilities = labeler.predict_proba([texts])
        neighbours = seeds.near(texts, top_k) if seeds else [()] * len(texts)
    rows = zip(pasted.turns, probabilities.astype(float).tolist(), neighbours, strict=True)
    return Labelled(
        labeler.source,
        labeler.context,
        tuple(LabelledTurn(turn, tuple(row), near) for turn, row, near in rows),
        pasted.warnings,
    )


def as_json(labelled: Labelled, top: int = 3) -> dict[str, Any]:
    """Return `model`, `turns` of `text`, `label`, `confidence` and `top`, as `edos label` writes them, and `warnings`.

    Args:
        labelled: the dialogue.
        top: most probable labels to give, 1 to 41.

    Raises:
        ValueError: `top` is out of range.
    """
    if not isinstance(top, int) or not 1 <= top <= len(LABELS):
        raise ValueError(
            f"top is the number of labels to give for each turn, from 1 to {len(LABELS)}; it was {str(top)[:40]}."
        )
    turns = [
        {
            "text": turn.turn.text,
            "label": LABELS[turn.label],
            "confidence": round(turn.confidence, 4),
            "top": [
                {"label": LABELS[label], "probability": round(turn.probabilities[label], 4)}
                for label in turn.ranking[:top]
            ],
        }
        for turn in labelled.turns
    ]
    return {"model": labelled.source, "turns": turns, "warnings": list(labelled.warnings)}
