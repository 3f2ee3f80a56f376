"""Labels on the report's page and pictures under their names in another language; its figures keep the English ones."""

from collections.abc import Mapping, Sequence
from typing import Any

from edos_dataset.analysis.label_system import OURS
from edos_dataset.label_sets.reading import EMOTIONS_ALONE
from edos_dataset.label_sets.translations import translations

Figures = Mapping[str, Any]

_TRANSLATED = (OURS.name, EMOTIONS_ALONE)
"""Label sets that have translations; those of users keep their names."""


def in_language(figures: Figures, shown: Figures, language: str) -> tuple[Figures, Figures]:
    """Return figures and dialogues of a report with labels named in a language; `labels.english` are the English names.

    Args:
        figures: as returned by `commands.report`.
        shown: as returned by `shown_dialogues`.
        language: one of `LANGUAGES`.
    """
    names = {label: found.name for label, found in translations(language).items()}
    first = figures["data"][0]["labels"]["of"] in _TRANSLATED
    data = [_data(one, names) if one["labels"]["of"] in _TRANSLATED else one for one in figures["data"]]
    compared = [
        {**one, "names": [names[name] for name in one["names"]]} if one.get("labels_of") in _TRANSLATED else one
        for one in figures["comparisons"]
    ]
    translated = {**figures, "data": data, "comparisons": compared}
    if not first:
        return translated, shown
    if figures.get("doubts"):
        translated["doubts"] = {
            **figures["doubts"],
            "by_label": _renamed(figures["doubts"]["by_label"], names, "label"),
            "pairs": _renamed(figures["doubts"]["pairs"], names, "given", "likely"),
        }
    return translated, _shown(shown, names)


def _data(one: Figures, names: Mapping[str, str]) -> Figures:
    labels, words = one["labels"], one["words"]
    return {
        **one,
        "labels": {**labels, "names": [names[name] for name in labels["names"]], "english": labels["names"]},
        "label_turns": _renamed(one["label_turns"], names, "label"),
        "surprising": _renamed(one["surprising"], names, "before", "after"),
        "words": {**words, "by_label": {names[name]: row for name, row in words["by_label"].items()}},
    }


def _shown(shown: Figures, names: Mapping[str, str]) -> Figures:
    found = {
        **shown,
        "examples": {" ".join(names[name] for name in pair.split()): ids for pair, ids in shown["examples"].items()},
        "doubtful": {names[name]: ids for name, ids in shown["doubtful"].items()},
    }
    if "doubted" in shown:
        found["doubted"] = {names[name]: _renamed(turns, names, "likely") for name, turns in shown["doubted"].items()}
    return found


def _renamed(rows: Sequence[Figures], names: Mapping[str, str], *keys: str) -> list[Figures]:
    return [{**row, **{key: names[row[key]] for key in keys}} for row in rows]
