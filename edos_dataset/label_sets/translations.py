"""Names and definitions of labels in other languages, for people to read. Data hold the English names."""

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from edos_dataset.label_sets.label_set import LabelSet
from edos_dataset.labels import DEFINITIONS
from edos_dataset.languages import check_language, primary_language
from edos_dataset.languages.detection import guess_language
from edos_dataset.runs.untrusted import yaml_of

ENGLISH = "en"

LANGUAGES: Mapping[str, str] = {
    ENGLISH: "English",
    "de": "Deutsch",
    "es": "Español",
    "fr": "Français",
    "hu": "Magyar",
    "it": "Italiano",
    "nl": "Nederlands",
    "pt": "Português",
}
"""Code of each language in which labels can be shown → the language's own name."""

_ENOUGH = 100_000  # characters from which a language is guessed


class Shown(NamedTuple):
    """A label as people read it: its name, and its definition, which may be empty."""

    name: str
    definition: str


def shown_language(code: str) -> str:
    """Return the code of LANGUAGES that a code means: "pt" for "pt_BR".

    Raises:
        ValueError: it is no language, or labels cannot be shown in it.
    """
    if (language := primary_language(check_language(code))) not in LANGUAGES:
        raise ValueError(f"labels and pages are not translated into {code!r}: give one of {', '.join(LANGUAGES)}")
    return language


def language_of_texts(texts: Iterable[str]) -> str:
    """Return the code of LANGUAGES in which texts are; English if that cannot be recognised."""
    sample, size = [], 0
    for text in texts:
        sample.append(text)
        size += len(text)
        if size > _ENOUGH:
            break
    guessed = guess_language("\n".join(sample))
    return guessed if guessed is not None and guessed in LANGUAGES else ENGLISH


def shown_labels(labels: LabelSet, language: str = ENGLISH) -> dict[str, Shown]:
    """Return each label of a set as people read it.

    Those of the 41 labels are translated; a label that a set of your own defines in other words keeps its name.

    Args:
        labels: the label set.
        language: one of LANGUAGES.
    """
    known = translations(language)
    found = {}
    for name in labels.labels:
        definition = labels.definitions.get(name, "")
        ours = name in known and definition == DEFINITIONS[name]
        found[name] = known[name] if ours else Shown(name, definition)
    return found


@cache
def translations(language: str) -> Mapping[str, Shown]:
    """Return the 41 labels in one of LANGUAGES."""
    if language == ENGLISH:
        return {name: Shown(name, definition) for name, definition in DEFINITIONS.items()}
    path = files("edos_dataset.label_sets") / "languages" / f"{language}.yaml"
    return {name: Shown(**texts) for name, texts in yaml_of(path.read_text(encoding="utf-8")).items()}
