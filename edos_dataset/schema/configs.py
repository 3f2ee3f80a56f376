"""The configs of the data sets that this package writes, each with its columns, and nothing of them anywhere else."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from edos_dataset.labels import LABELS
from edos_dataset.schema.books import BOOK_SOURCE

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


def list_of(item: Any, length: int = -1) -> Any:  # noqa: ANN401 - a feature is whatever `datasets` takes for one
    """Return the feature of a list, `datasets.List`, or how `datasets` before version 4 spells it.

    Args:
        item: feature of its items, a dictionary for a struct.
        length: of every list, or -1 where they differ.
    """
    import datasets

    if hasattr(datasets, "List"):
        return datasets.List(item, length=length)
    return [item] if length < 0 else datasets.Sequence(item, length=length)


def _label() -> Any:  # noqa: ANN401 - `datasets` is untyped
    from datasets import ClassLabel

    return ClassLabel(names=list(LABELS))


def _turn(text: str = "text") -> dict[str, Any]:
    """Return the features of a turn without a label, `text` names what stands for its text."""
    from datasets import Value

    return {
        text: Value("string"),
        "start": Value("float64"),
        "end": Value("float64"),
        "sentence_ids": list_of(Value("int32")),
    }


def _cut_turn(text: str = "text") -> dict[str, Any]:
    """Return the features of a turn that was cut out of a film, as `tables.TURN`."""
    from datasets import Value

    return {**_turn(text), **dict.fromkeys(("new_speaker", "one_speaker", "same_scene"), Value("float32"))}


def _labelled_turn(text: str = "text") -> dict[str, Any]:
    """Return the features of a turn with its label, as `tables.LABELLED_TURN`."""
    return {**_cut_turn(text), **_labels_of_a_turn()}


def _labels_of_a_turn() -> dict[str, Any]:
    """Return the features of what a label adds to a turn, as `tables.LABEL_FIELDS`."""
    from datasets import Value

    return {
        "label": _label(),
        "confidence": Value("float32"),
        "top": list_of({"label": _label(), "probability": Value("float32")}),
        "label_source": Value("string"),
    }


def _dialogues(turn: Mapping[str, Any]) -> "Features":
    """Return the features of a pipeline's dialogues, whose turns have these."""
    from datasets import Features, Value

    source = {
        "kind": Value("string"),
        "path": Value("string"),
        "imdb_id": Value("string"),
        "year": Value("int32"),
        "genres": list_of(Value("string")),
    }
    return Features(
        {
            "dialogue_id": Value("string"),
            "document_id": Value("string"),
            "language": Value("string"),
            "source": source,
            "certainty": Value("float32"),
            "expected_errors": Value("float32"),
            "turns": list_of(dict(turn)),
        }
    )


def _book_dialogues(labelled: bool) -> "Features":
    """Return the features of the dialogues of books, as `books.BOOK_DIALOGUES`."""
    from datasets import Features, Value

    source = {name: Value("int32" if name == "year" else "string") for name in BOOK_SOURCE.names}
    turn = {
        "text": Value("string"),
        "sentence_ids": list_of(Value("int32")),
        "speaker": Value("string"),
        "narration": Value("string"),
        **(_labels_of_a_turn() if labelled else {}),
    }
    names = dict.fromkeys(("dialogue_id", "document_id", "language"), Value("string"))
    return Features({**names, "source": source, "turns": list_of(turn)})


def _last_turn() -> dict[str, Any]:
    """Return the features of dialogues whose last turn has a label."""
    from datasets import Value

    return {
        "dialogue_id": Value("string"),
        "turns": list_of(_turn()),
        "label": _label(),
        "soft_label": list_of(Value("float32"), length=len(LABELS)),  # probabilities, by label id
    }


def _seed() -> "Features":
    from datasets import Features, Value

    # The label of an answer is null where it is none of the 41.
    answer = {"worker": Value("string"), "answer": Value("string"), "label": _label()}
    return Features({**_last_turn(), "answers": list_of(answer)})


def _extended() -> "Features":
    from datasets import Features, Value

    return Features(
        {
            **_last_turn(),
            "method": Value("string"),  # crowd, spread or self-label
            "step": Value("int32"),  # the step that gave the label; 0 for the seed
            "round": Value("int32"),  # of the method; 0 for the seed
            "seed_id": Value("string"),  # spread: id of the dialogue whose label it got, otherwise null
            "similarity": Value("float64"),  # spread: cosine with that dialogue, otherwise null
            "confidence": Value("float32"),  # self-label: calibrated probability of the label, otherwise null
        }
    )


_CURATE, _BOOKS = "edos curate", "edos books"


def books_config(language: str) -> str:
    """Return the name of the config of the books in a language, given by its code: "gutenberg_en"."""
    return f"gutenberg_{language}"


BOOK_LANGUAGES: tuple[str, ...] = ("en", "de", "nl", "es", "it", "hu", "pt")
"""Codes of the languages whose books are understood, each by its rules (`segmentation/books/rules`)."""


def _books(language: str) -> Config:
    """Return the config of the books in a language; the labelers that ship know English."""
    labelled = language == "en"
    return Config(
        "turns" if labelled else "nothing",
        _BOOKS,
        f"dialogues out of books in {language!r}" + ", every turn labelled" * labelled,
        lambda: _book_dialogues(labelled),
        lambda: _book_dialogues(not labelled),
    )


REGISTRY: Mapping[str, Config] = {
    "edos": Config("turns", _CURATE, "every turn labelled with its history", lambda: _dialogues(_labelled_turn())),
    "edos_initial": Config(
        "turns",
        _CURATE,
        "the same dialogues with the weak labels that chose them",
        lambda: _dialogues(_labelled_turn()),
    ),
    "os": Config("nothing", _CURATE, "all cleaned dialogues, without labels", lambda: _dialogues(_cut_turn())),
    LABELS_ONLY: Config(
        "turns",
        "edos labels-only",
        "the labels of every turn, with the hash of its text",
        lambda: _dialogues(_labelled_turn("text_sha256")),
    ),
    AMT_SEED: Config("last turn", "edos crowd seed", "dialogues whose last turn people labelled", _seed),
    EXTENDED: Config("last turn", "edos extend", "those, and dialogues that got their labels from them", _extended),
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
