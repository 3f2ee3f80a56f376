"""Labels for a pasted dialogue: every turn with its probabilities, its group and similar seed dialogues."""

from dataclasses import dataclass
from threading import Lock
from typing import Any, Literal, get_args

from seeds import Neighbour, Seeds

from edos_dataset.crowd.text_files import csv_text
from edos_dataset.encoders.encoder import limit_threads
from edos_dataset.labeling.models.labelers import load_labeler
from edos_dataset.labels import LABELS
from edos_dataset.web.spaces import Turn, group_shares, read_paste

Model = Literal["general", "dialogue", "weak", "fast"]
MODELS: tuple[Model, ...] = get_args(Model)
"""Names of the models to choose from, for `load_labeler`."""

MOST_TURNS = 200
"""Number of turns that are labelled; of longer dialogues the first."""

_LOCK = Lock()  # one dialogue at a time, since the processors and the thread limit are shared


@dataclass(frozen=True)
class LabelledTurn:
    """A turn with its label.

    Attributes:
        turn: the turn.
        probabilities: probabilities of the 41 labels, by id.
        nearest: dialogues of the seed that are similar to the dialogue up to this turn.
    """

    turn: Turn
    probabilities: tuple[float, ...]
    nearest: tuple[Neighbour, ...] = ()

    @property
    def ranking(self) -> list[int]:
        """All label ids, the most probable first; of equal ones, the smaller id first."""
        return sorted(range(len(LABELS)), key=lambda label: (-self.probabilities[label], label))

    @property
    def label(self) -> int:
        """The most probable label's id."""
        return self.ranking[0]

    @property
    def confidence(self) -> float:
        """The probability of the label."""
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
        context: number of earlier turns that the model uses: 0 for none, None for all.
        turns: oldest first.
        warnings: warnings for the user.
        language: code of the language that the dialogue looks like, None if none is recognised.
    """

    source: str
    context: int | None
    turns: tuple[LabelledTurn, ...]
    warnings: tuple[str, ...]
    language: str | None = None


def label_text(text: str, model: str, seeds: Seeds | None = None, top_k: int = 3) -> Labelled:
    """Label a pasted dialogue; equal texts get equal labels.

    Args:
        text: as for `read_paste`.
        model: one of MODELS.
        seeds: dialogues in which similar ones are searched, or None.
        top_k: maximum number of similar dialogues for each turn.

    Raises:
        ValueError: the text is not a dialogue, or the model does not exist; the message is a sentence for the page.
    """
    if not isinstance(model, str) or model not in MODELS:
        raise ValueError(f"There is no model {str(model)[:40]!r}. Choose one of {', '.join(MODELS)}.")
    pasted = read_paste(text, MOST_TURNS, cut=True)
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
        pasted.language,
    )


def as_csv(labelled: Labelled) -> str:
    """Return a header and a row for each turn: `number`, `speaker`, `text`, `label`, `confidence`."""
    rows = (
        [str(number), turn.turn.speaker or "", turn.turn.text, LABELS[turn.label], f"{turn.confidence:.4f}"]
        for number, turn in enumerate(labelled.turns, 1)
    )
    return csv_text(("number", "speaker", "text", "label", "confidence"), rows)


def as_json(labelled: Labelled, top: int = 3) -> dict[str, Any]:
    """Return `model`, `turns` of `text`, `label`, `confidence` and `top`, as `edos label` writes them, and `warnings`.

    Args:
        labelled: the dialogue.
        top: number of most probable labels, 1 to 41.

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
