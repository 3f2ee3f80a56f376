"""The shipped models: their names, weights and cards."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from edos_dataset.languages import primary_language

WEIGHTS = Path(__file__).with_name("weights")
_CARDS = (Path(__file__).parents[2] / "model_cards", Path(__file__).parents[3] / "model_cards")
"""The folder of cards in an installed package and in a clone."""

Kind = Literal["context", "classifier", "static", "linear"]


@dataclass(frozen=True)
class ShippedModel:
    """A model that is part of the package.

    Attributes:
        name: the name by which it is loaded.
        source: the name under which it is published, also used in `label_source`.
        kind: context (one encoder with several answers, `context.py`), classifier (a fine-tuned encoder,
            `classifier.py`), both packed (`packed.py`), static (a table of n-grams, `static.py`), or linear (a head on
            embeddings, `linear.py`).
        sees: what a label is predicted from: the turn alone, or the turn and its history.
        folder: the folder of its weights, if it shares another model's; by default its name.
        languages: codes of the languages that it supports.
        backbone: Hub id of the encoder of which the package has adapters alone; by default the packaged encoder or,
            if the folder has a tokenizer, none.
        answer: the answer of its folder that it gives; by default the one that has its name.
    """

    name: str
    source: str
    kind: Kind
    sees: Literal["turn", "history"]
    folder: str = ""
    languages: tuple[str, ...] = ("en",)
    backbone: str = ""
    answer: str = ""

    @property
    def asked(self) -> str:
        """The answer of its folder that it gives, if that has several."""
        return self.answer or self.name

    @property
    def weights(self) -> Path:
        """The folder of its weights and of `record.json`, which states how they were made and what was measured."""
        return WEIGHTS / (self.folder or self.name)

    @property
    def of_transformers(self) -> bool:
        """Whether transformers can load it once unpacked."""
        return self.kind in ("context", "classifier")

    @property
    def card(self) -> Path:
        """Its card, written by `python -m model_cards.render`."""
        return cards_folder() / f"{self.name}.md"


MULTILINGUAL = "multilingual"
_LEARNED = ("en", "de", "es", "hu", "it", "nl", "pt")

SHIPPED = {
    model.name: model
    for model in (
        ShippedModel("general", "general-minilm", "context", "history"),
        ShippedModel("dialogue", "dialogue-minilm", "context", "history", folder="general"),
        ShippedModel("weak", "weak-minilm", "context", "turn", folder="general"),
        ShippedModel(
            "large",
            "large-mpnet",
            "context",
            "history",
            backbone="sentence-transformers/all-mpnet-base-v2",
            answer="general",
        ),
        ShippedModel(MULTILINGUAL, "multilingual-e5", "context", "history", languages=_LEARNED),
        ShippedModel("fast", "fast", "static", "turn"),
        ShippedModel("linear-weak", "linear-weak", "linear", "turn"),
        ShippedModel("linear-dialogue", "linear-dialogue", "linear", "history"),
    )
}
"""Name → model."""


def is_supported(language: str) -> bool:
    """Return whether a shipped model supports a language, given by its code."""
    return primary_language(language) in SHIPPED[MULTILINGUAL].languages


def suited(name: str, language: str | None) -> str:
    """Return the model to use for texts in a language where an English one is the default: `name` for English and for
    languages that no shipped model supports, else `MULTILINGUAL`. Without a language it is `name`.
    """
    english = not language or primary_language(language) == "en"
    return MULTILINGUAL if language and not english and is_supported(language) else name


def shipped_names(*kinds: Kind) -> list[str]:
    """Return the names of the models of the given kinds."""
    return [name for name, model in SHIPPED.items() if model.kind in kinds]


def find_published(name: str) -> ShippedModel | None:
    """Return the model with a name (`weak`) or published name (`weak-minilm`), or None."""
    return next((model for model in SHIPPED.values() if name in (model.name, model.source)), None)


def cards_folder() -> Path:
    """Return the folder `model_cards`."""
    return next((folder for folder in _CARDS if folder.is_dir()), _CARDS[0])
