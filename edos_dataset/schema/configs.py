"""The configs of the data sets that this package writes, each with its columns, and nothing of them anywhere else."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from edos_dataset.schema.features import book_dialogues, cut_turn, dialogues, extended, labelled_turn, seed

if TYPE_CHECKING:
    from datasets import Features

SPLITS: tuple[str, ...] = ("train", "validation", "test")

LABELS_ONLY, AMT_SEED, EXTENDED = "labels_only", "amt_seed", "extended"
"""The configs that have a folder of their own; those of a pipeline are named by its recipe."""


@dataclass(frozen=True)
class Config:
    """A config of a data set.

    Attributes:
        labelled: what has a label: nothing, every turn, or the last turn of each dialogue.
        command: what writes it; the configs of `edos curate` are those that a pipeline may end in (`pipeline.Output`).
        description: what is in it, half a line for cards.
        columns: makes its `datasets.Features`.
        otherwise: makes them where its turns, against what `labelled` says, have labels or have none; None where that
            cannot be.
    """

    labelled: Literal["nothing", "turns", "last turn"]
    command: str
    description: str
    columns: Callable[[], "Features"]
    otherwise: Callable[[], "Features"] | None = None


def features(config: str, labelled: bool | None = None) -> "Features":
    """Return the `datasets.Features` of a config.

    Args:
        config: one of REGISTRY.
        labelled: whether its turns have labels, where the config may have either; None is as it mostly is.

    Raises:
        ValueError: it is none of them.
    """
    if config not in REGISTRY:
        raise ValueError(f"unknown config {config!r}: expected one of {', '.join(REGISTRY)}")
    entry = REGISTRY[config]
    mostly = labelled is None or entry.otherwise is None or labelled == (entry.labelled == "turns")
    return entry.columns() if mostly or entry.otherwise is None else entry.otherwise()


@cache
def arrow_schema(config: str, labelled: bool | None = None) -> pa.Schema:
    """Return the Arrow schema of a config, with the metadata by which `datasets` knows the label names; `labelled` is
    that of `features`.
    """
    return features(config, labelled).arrow_schema


_CURATE, _BOOKS = "edos curate", "edos books"


def books_config(language: str) -> str:
    """Return the name of the config of the books in a language, given by its code: "gutenberg_en"."""
    return f"gutenberg_{language}"


def _book_languages() -> tuple[str, ...]:
    """Return the languages that have rules, those of the Gutenberg Dialogue Dataset first."""
    rules = Path(__file__).parents[1] / "segmentation" / "books" / "rules"
    there = sorted(path.stem for path in rules.glob("*.yaml"))
    return (*_OF_THE_PAPER, *(language for language in there if language not in _OF_THE_PAPER))


_OF_THE_PAPER = ("en", "de", "nl", "es", "it", "hu", "pt")

BOOK_LANGUAGES: tuple[str, ...] = _book_languages()
"""Codes of the languages whose books are understood: who adds a file of rules has added its config."""


def _books(language: str) -> Config:
    """Return the config of the books in a language; the labelers that ship know English."""
    labelled = language == "en"
    return Config(
        "turns" if labelled else "nothing",
        _BOOKS,
        f"dialogues out of books in {language!r}" + ", every turn labelled" * labelled,
        lambda: book_dialogues(labelled),
        lambda: book_dialogues(not labelled),
    )


REGISTRY: Mapping[str, Config] = {
    "edos": Config("turns", _CURATE, "every turn labelled with its history", lambda: dialogues(labelled_turn())),
    "edos_initial": Config(
        "turns",
        _CURATE,
        "the same dialogues with the weak labels that chose them",
        lambda: dialogues(labelled_turn()),
    ),
    "os": Config("nothing", _CURATE, "all cleaned dialogues, without labels", lambda: dialogues(cut_turn())),
    LABELS_ONLY: Config(
        "turns",
        "edos labels-only",
        "the labels of every turn, with the hash of its text",
        lambda: dialogues(labelled_turn("text_sha256")),
    ),
    AMT_SEED: Config("last turn", "edos crowd seed", "dialogues whose last turn people labelled", seed),
    EXTENDED: Config("last turn", "edos extend", "those, and dialogues that got their labels from them", extended),
    **{books_config(language): _books(language) for language in BOOK_LANGUAGES},
}
"""Every config by its name; where a folder has several, the first of them is the default."""

CONFIGS: tuple[str, ...] = tuple(name for name, config in REGISTRY.items() if config.command == _CURATE)
"""The configs that a pipeline of subtitles may end in, and `edos curate`, `label` and `hydrate` write."""

BOOK_CONFIGS: tuple[str, ...] = tuple(map(books_config, BOOK_LANGUAGES))
"""Those that a pipeline of books may end in."""

TURN_LABEL_CONFIGS: tuple[str, ...] = tuple(name for name in CONFIGS if REGISTRY[name].labelled == "turns")
"""Those of them with a label on every turn."""

LAST_TURN_LABEL_CONFIGS: tuple[str, ...] = tuple(
    name for name, config in REGISTRY.items() if config.labelled == "last turn"
)
"""The configs with a label on the last turn of each dialogue: those to learn from."""
