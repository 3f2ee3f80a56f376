"""The README of a folder of books: rendered from what was written and counted of each language, never typed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edos_dataset.languages.codes import name_of_language
from edos_dataset.publishing.cards import tables
from edos_dataset.publishing.cards.books_tables import FILTERS_OF_PAPERS, filters_table, sizes_table
from edos_dataset.publishing.cards.dataset import Origin, labels_section
from edos_dataset.publishing.cards.headers import books_header
from edos_dataset.publishing.cards.markdown import code, fenced, plain, table
from edos_dataset.publishing.cards.paper_figures import GUTENBERG_PAPER
from edos_dataset.publishing.cards.texts import COLUMNS_OF_BOOKS, closing_of_books
from edos_dataset.publishing.front_matter import join_card
from edos_dataset.publishing.layout import ConfigFiles
from edos_dataset.version import __version__

_LICENCE = """\
- **Licence.** The books of Project Gutenberg are in the public domain in the USA; elsewhere the law of the country \
counts, in most of them the year in which the author died. Header and licence of Project Gutenberg are not in the \
dialogues, and its name is a trademark: its [licence](https://www.gutenberg.org/policy/license.html) says on what \
terms its own files go on. What else was in the folder that was read has the licence that it came with."""


@dataclass(frozen=True)
class BooksPart:
    """What a folder holds of one language.

    Attributes:
        language: its code.
        manifest: of its run, with its `books`.
        origin: how it was made.
        parameters: of its pipeline, as `runs.made_of.parameters_of` names them.
        models: name of each labelling model → the record of its making.
        words: of all utterances, parted by spaces.
        written: its config.
    """

    language: str
    manifest: Mapping[str, Any]
    origin: Origin
    parameters: Mapping[str, Any]
    models: Mapping[str, Mapping[str, Any]]
    words: int
    written: ConfigFiles

    @property
    def as_papers(self) -> bool:
        """Whether dialogues were found as the papers do."""
        return FILTERS_OF_PAPERS in self.parameters["stages"]


def labelled_part(parts: Sequence[BooksPart]) -> BooksPart | None:
    """Return the first part whose turns have labels."""
    return next((part for part in parts if part.written.labels), None)


def books_card(parts: Sequence[BooksPart]) -> str:
    """Return the README of a folder of books.

    Splits and configs without dialogues are in its tables but not in its YAML, as `datasets` refuses to load them.

    Args:
        parts: what it holds of each language, the first one that has dialogues is the default config.
    """
    labelled = labelled_part(parts)
    models = {name: record for part in parts for name, record in part.models.items()}
    sections = {
        "Know its flaws first": _flaws(parts, labelled),
        "Load": _load(parts),
        "What is in it": _contents(parts, labelled is not None),
        "What each filter removes": filters_table(parts),
        "Labels": labels_section(labelled.written, True) if labelled else "",
        "The labelling models": f"{tables.model_table(models)}\n\n{tables.making_list(models)}" if models else "",
        "Where it comes from": "\n\n".join(map(_origin, parts)),
        "From file to dialogue": "\n\n".join(
            f"{name_of_language(part.language)}:\n\n{tables.stage_table(part.manifest['stages'])}" for part in parts
        ),
    }
    body = "".join(f"\n\n## {heading}\n\n{text}" for heading, text in sections.items() if text)
    text = f"\n# Dialogues out of books\n\n{_summary(parts, labelled)}{body}\n\n{closing_of_books(bool(labelled))}\n"
    loadable = [part.written for part in parts if part.written.total_rows]
    return join_card(books_header(loadable, [part.language for part in parts]), text)


def _summary(parts: Sequence[BooksPart], labelled: BooksPart | None) -> str:
    dialogues, turns = (sum(getattr(part.written, name) for part in parts) for name in ("total_rows", "total_turns"))
    kept = sum(book["kept"] for part in parts for book in part.manifest["books"])
    read = sum(len(part.manifest["books"]) for part in parts)
    languages = ", ".join(name_of_language(part.language) for part in parts)
    told = f"; in `{labelled.written.config}` every turn has one of 41 emotions and intents" if labelled else ""
    return (
        f"{dialogues:,} dialogues with {turns:,} utterances from {kept:,} of {read:,} books ({languages}){told}. Made "
        f"after {GUTENBERG_PAPER} by edos-dataset {__version__}."
    )


def _flaws(parts: Sequence[BooksPart], labelled: BooksPart | None) -> str:
    lines = [
        "- **Nobody marked the speech.** It is found by quotes, dashes and the layout of plays; thoughts, letters and "
        "quoted words may be among it, and speech in an unusual style missing.",
        "- **Where a dialogue ends is a guess**, by how much is told between two utterances; who speaks is known only "
        "where `speaker` says it.",
    ]
    if as_papers := [code(part.written.config) for part in parts if part.as_papers]:
        lines.append(
            f"- **{', '.join(as_papers)} by recipe `papers`**: found as the code behind {GUTENBERG_PAPER} does, its "
            "oddities kept, for comparison; whole books are lost to a style of quotes that it does not know. The "
            "default recipe finds more."
        )
    if labelled:
        lines.append(
            "- **The labels are a machine's**, learned from the talk of today and from films, not from old novels. Use "
            "`confidence` and `top`, not the label alone."
        )
    if unlabelled := [code(part.written.config) for part in parts if not part.written.labels]:
        lines.append(
            f"- **No labels in {', '.join(unlabelled)}**: the labelers that come with edos-dataset know English."
        )
    lines += [
        "- **It is old, written talk**: more polished than speech is, with the quarrels and prejudices of its time.",
        _LICENCE,
    ]
    return "\n".join(lines)


def _load(parts: Sequence[BooksPart]) -> str:
    lines = "\n".join(
        f'load_dataset("gutenberg", "{part.written.config}")  # {name_of_language(part.language)}'
        + ", every turn labelled" * bool(part.written.labels)
        for part in parts
        if part.written.total_rows
    )
    return (
        f"```python\nfrom datasets import load_dataset\n\n{lines}\n```\n\nwhere `gutenberg` is this folder, or its "
        "name on the Hub. The splits, 90/5/5 as in the paper, part the books: every book is in one split, and stays there "
        "when books are added. A split that no book falls into is left out."
    )


def _contents(parts: Sequence[BooksPart], labelled: bool) -> str:
    ours = ("turns.label", "turns.confidence", "turns.top")
    rows = [[f"`{path}`", text] for path, text in COLUMNS_OF_BOOKS.items() if labelled or not path.startswith(ours)]
    splits = [[f"`{part.written.config}`", *(f"{count:,}" for count in part.written.rows.values())] for part in parts]
    return (
        f"{table(['column', 'what it holds'], rows)}\n\nSizes in the form of the paper's Table 3: number of utterances "
        "(#U), their mean length in words (|U|), number of dialogues (#D), their mean length in utterances (|D|); the "
        "paper's own come from all of Project Gutenberg.\n\n"
        f"{sizes_table(parts)}\n\nDialogues by split:\n\n{table(['config', *parts[0].written.rows], splits)}"
    )


def _origin(part: BooksPart) -> str:
    read = ", ".join(f"{count:,} {unit}" for unit, count in (part.origin.inputs or {}).items())
    named = ", ".join(plain(f"{package} {version}") for package, version in part.origin.versions.items())
    return (
        f"{name_of_language(part.language)}, again with names of your own for what is in capitals:\n\n"
        f"{fenced(part.origin.command)}\n\nRead: {read}. Fingerprint of the pipeline: "
        f"{code(part.origin.fingerprint)}. {code(part.origin.recipe)} is beside this card. Made by {named}."
    )
