"""What people read who label or judge, in each language: a file of `languages/`."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from html import escape
from importlib.resources import files
from typing import Any

from edos_dataset.label_sets import LabelSet
from edos_dataset.label_sets.translations import ENGLISH, LANGUAGES, Shown, shown_labels
from edos_dataset.labels import LABELS
from edos_dataset.runs.untrusted import yaml_of

_BOLD = re.compile(r"\*\*([^*]+)\*\*")


@dataclass(frozen=True)
class Texts:
    """The texts of a language.

    Attributes:
        language: one of `LANGUAGES`.
        texts: name → text, with {placeholders}.
        examples: label → what somebody says who feels or means it.
        quiz: questions with known answers, `turns` and `label`.
    """

    language: str
    texts: Mapping[str, str]
    examples: Mapping[str, str]
    quiz: Sequence[Mapping[str, Any]]

    def __call__(self, name: str, **values: object) -> str:
        """Return a text with values in place of its placeholders."""
        return self.texts[name].format(**values)

    def counted(self, name: str, number: int) -> str:
        """Return the text for a number: `NAME_one` for 1, else `NAME_other`."""
        return self(f"{name}_{'one' if number == 1 else 'other'}", number=number)

    def amount(self, dollars: float) -> str:
        """Return an amount to the cent: "0.40", or "0,40" in other languages than English."""
        text = f"{dollars:.2f}"
        return text if self.language == ENGLISH else text.replace(".", ",")

    @cached_property
    def html(self) -> dict[str, str]:
        """All texts as HTML, with their placeholders."""
        return {name: as_html(text) for name, text in self.texts.items()}

    @cached_property
    def attribute(self) -> str:
        """All texts as JSON in an attribute of HTML, for scripts."""
        return escape(json.dumps(self.texts, ensure_ascii=False))

    def labels(self, labels: LabelSet) -> dict[str, Shown]:
        """Return each label of a set as people read it."""
        return shown_labels(labels, self.language)

    def examples_of(self, labels: LabelSet) -> Mapping[str, str]:
        """Return an example for labels of a set: for the 41 those of the tutorial, which no quiz question repeats."""
        return self.examples if labels.labels == LABELS else labels.examples


class PageError(ValueError):
    """What a visitor did not succeed in.

    Attributes:
        text: name of a sentence for the visitor, see `Texts`; the message is the English one.
    """

    def __init__(self, text: str) -> None:
        super().__init__(texts_of(ENGLISH)(text))
        self.text = text


def as_html(text: str) -> str:
    """Return a text as HTML, with **bold** words; nothing else is markup."""
    return _BOLD.sub(r"<b>\1</b>", escape(text))


@cache
def texts_of(language: str) -> Texts:
    """Return the texts of one of `LANGUAGES`."""
    if language not in LANGUAGES:
        raise ValueError(f"there are no pages in {language!r}: give one of {', '.join(LANGUAGES)}")
    path = files("edos_dataset.crowd") / "languages" / f"{language}.yaml"
    return Texts(language, **yaml_of(path.read_text(encoding="utf-8")))
