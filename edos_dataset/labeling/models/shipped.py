"""The models that the package carries: the one list of their names, and where their weights and cards lie."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

WEIGHTS = Path(__file__).with_name("weights")
_CARDS = (Path(__file__).parents[2] / "model_cards", Path(__file__).parents[3] / "model_cards")
"""Where the cards lie in an installed package, and in a clone."""

Kind = Literal["context", "classifier", "static", "linear"]


@dataclass(frozen=True)
class ShippedModel:
    """A model that comes with the package.

    Attributes:
        name: by which it is loaded, everywhere.
        source: what stands before the @ in `label_source`, and the name that it is published under.
        kind: context (one encoder with several answers, `context.py`), classifier (a fine-tuned encoder,
            `classifier.py`), both as `packed.py` keeps them, static (a table of n-grams, `static.py`), or linear (a
            head on embeddings, `heads.py`).
        sees: what it labels a turn from: the turn alone, or its history too.
        folder: of its weights, where these are another model's too; by default its name. Of several answers in one
            folder its own has its name.
    """

    name: str
    source: str
    kind: Kind
    sees: Literal["turn", "history"]
    folder: str = ""

    @property
    def weights(self) -> Path:
        """The folder of its weights, with `record.json`: how they were made and what was measured."""
        return WEIGHTS / (self.folder or self.name)

    @property
    def of_transformers(self) -> bool:
        """Whether transformers can load it, once it is unpacked."""
        return self.kind in ("context", "classifier")

    @property
    def card(self) -> Path:
        """Its card, which `python -m model_cards.render` wrote."""
        return cards_folder() / f"{self.name}.md"


SHIPPED = {
    model.name: model
    for model in (
        ShippedModel("general", "general-minilm", "context", "history"),
        ShippedModel("dialogue", "dialogue-minilm", "context", "history", folder="general"),
        ShippedModel("weak", "weak-minilm", "context", "turn", folder="general"),
        ShippedModel("fast", "fast", "static", "turn"),
        ShippedModel("linear-weak", "linear-weak", "linear", "turn"),
        ShippedModel("linear-dialogue", "linear-dialogue", "linear", "history"),
    )
}
"""Name → model."""

SHIPPED_LANGUAGES = ("en",)
"""Codes of the languages that these models know."""


def shipped_names(*kinds: Kind) -> list[str]:
    """Return the names of the models of some kinds."""
    return [name for name, model in SHIPPED.items() if model.kind in kinds]


def find_published(name: str) -> ShippedModel | None:
    """Return the model that has a name, its own (`weak`) or the one it is published under (`weak-minilm`)."""
    return next((model for model in SHIPPED.values() if name in (model.name, model.source)), None)


def cards_folder() -> Path:
    """Return the folder `model_cards`."""
    return next((folder for folder in _CARDS if folder.is_dir()), _CARDS[0])
