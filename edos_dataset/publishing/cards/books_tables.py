"""The tables of the paper on the Gutenberg Dialogue Dataset, for books read here, beside the paper's own figures."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from edos_dataset.languages.codes import name_of_language
from edos_dataset.publishing.cards.markdown import table
from edos_dataset.publishing.cards.paper_figures import GUTENBERG_FILTERED, GUTENBERG_SIZES
from edos_dataset.publishing.layout import ConfigFiles

_NONE = "–"


class Part(Protocol):
    """What the tables show of one language, as `books.BooksPart` has it."""

    @property
    def language(self) -> str:
        """Its code."""

    @property
    def manifest(self) -> Mapping[str, Any]:
        """Of its run."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Of its pipeline."""

    @property
    def words(self) -> int:
        """Of all utterances."""

    @property
    def written(self) -> ConfigFiles:
        """Its config."""


FILTERS_OF_PAPERS = "dialogues_as_papers"
"""Stage that finds dialogues as the paper's code does."""

_FILTERS = {
    "Pre-filter": ("books", "Old books and noise", "books"),
    "Delimiter filter": ("dialogues", "Books with no dialogues", "books"),
    "Long utterances": ("length", "Non-conversational utterances", "utterances"),
    "Post-filter": ("rare_words", "Dialogues containing many rare words", "dialogues"),
    "Duplicates": ("duplicates", "Dialogues that another one repeats", "dialogues"),
}
"""Filter, in the words of the paper's Table 2 → the stage that it is here, what it takes away, what is counted."""

_PARAMETERS = {
    "Pre-filter": "books.divergence",
    "Delimiter filter": f"{FILTERS_OF_PAPERS}.min_delimiters",
    "Long utterances": "length.max_words",
    "Post-filter": "rare_words.share",
    "Duplicates": "duplicates.share",
}
_TOO_LONG = "too_long"


def filters_table(parts: Sequence[Part]) -> str:
    """Return what each filter removes, in the form of the paper's Table 2, a column a language; the paper's own figures
    are those of its English books.
    """
    rows = []
    for name, (stage, what, unit) in _FILTERS.items():
        parameter, papers = GUTENBERG_FILTERED.get(name, (_NONE, _NONE))
        ours = [_removed(part, stage, unit) for part in parts]
        values = dict.fromkeys(str(part.parameters.get(_PARAMETERS[name], _NONE)) for part in parts)
        rows.append([name, " / ".join(values), what, *ours, parameter, papers])
    languages = [name_of_language(part.language) for part in parts]
    return table(["Method", "Parameter", "What", *languages, "Parameter of the paper", "Paper, English"], rows)


def _removed(part: Part, stage: str, unit: str) -> str:
    """Return how much a stage removed; of books and utterances those of the whole corpus are 100 %."""
    names = (stage, FILTERS_OF_PAPERS) if stage == "dialogues" else (stage,)
    entry = next((entry for entry in part.manifest["stages"] if entry["stage"] in names), None)
    if entry is None:
        return _NONE
    rejected = entry["rejected"]
    number = rejected.get(_TOO_LONG, 0) if unit == "utterances" else sum(rejected.values())
    of = len(part.manifest["books"]) if unit == "books" else entry["read"]
    return f"{number:,} {unit} ({number / max(of, 1):.2%})"


def sizes_table(parts: Sequence[Part]) -> str:
    """Return the sizes of each language in the form of the paper's Table 3, and the paper's own behind ours."""
    rows = []
    for part in parts:
        written = part.written
        ours = _sizes(
            written.total_turns,
            part.words / max(written.total_turns, 1),
            written.total_rows,
            written.total_turns / max(written.total_rows, 1),
        )
        papers = _sizes(*GUTENBERG_SIZES[part.language]) if part.language in GUTENBERG_SIZES else [_NONE] * 4
        rows.append([name_of_language(part.language), *ours, *papers])
    heads = ["#U", "|U|", "#D", "|D|"]
    return table(["Language", *heads, *(f"paper: {head}" for head in heads)], rows)


def _sizes(utterances: int, words: float, dialogues: int, length: float) -> list[str]:
    return [f"{utterances:,}", f"{words:.2f}", f"{dialogues:,}", f"{length:.2f}"]
