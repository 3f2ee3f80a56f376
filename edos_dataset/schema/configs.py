"""The configs of the datasets that this package writes, each with its columns as `datasets.Features`."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pyarrow as pa

from edos_dataset.labels import LABELS
from edos_dataset.schema.tables import BOOK_SOURCE, SEVERAL

if TYPE_CHECKING:
    from datasets import Features

_METADATA = b"huggingface"
"""Key of the metadata of a schema that `datasets` writes and reads."""

SPLITS: tuple[str, ...] = ("train", "validation", "test")

SCRIPTS = "scripts"
"""The config of screenplays."""

LABELS_ONLY, AMT_SEED, EXTENDED = "labels_only", "amt_seed", "extended"
"""The configs with a folder of their own; those of a pipeline are named by its recipe."""


class Labels(NamedTuple):
    """What the labels of a config are.

    Attributes:
        names: in the order of the ids.
        several: whether a turn can have several, in the field `labels`.
    """

    names: tuple[str, ...] = LABELS
    several: bool = False


EDOS_LABELS = Labels()


@dataclass(frozen=True)
class Config:
    """A config of a dataset.

    Attributes:
        labelled: What has a label: nothing, every turn, or the last turn of each dialogue.
        command: Command that writes it; a pipeline may end in the configs of `edos curate` (`pipeline.Output`).
        description: Its content, half a line for cards.
        columns: Returns its `datasets.Features`, given its labels.
        otherwise: Returns them where, contrary to `labelled`, its turns have labels or have none; None where that is
            impossible.
    """

    labelled: Literal["nothing", "turns", "last turn"]
    command: str
    description: str
    columns: Callable[[Labels], "Features"]
    otherwise: Callable[[Labels], "Features"] | None = None


def features(config: str, labelled: bool | None = None, labels: Labels = EDOS_LABELS) -> "Features":
    """Return the `datasets.Features` of a config.

    Args:
        config: One of REGISTRY.
        labelled: Whether its turns have labels, where both is possible; None for the usual form.
        labels: What its labels are.

    Raises:
        ValueError: There is no such config.
    """
    if config not in REGISTRY:
        raise ValueError(f"unknown config {config!r}: expected one of {', '.join(REGISTRY)}")
    entry = REGISTRY[config]
    mostly = labelled is None or entry.otherwise is None or labelled == (entry.labelled == "turns")
    return entry.columns(labels) if mostly or entry.otherwise is None else entry.otherwise(labels)


@cache
def arrow_schema(config: str, labelled: bool | None = None, labels: Labels = EDOS_LABELS) -> pa.Schema:
    """Return the Arrow schema of a config, with the metadata from which `datasets` takes the label names; the arguments
    are those of `features`.
    """
    return schema_of_features(features(config, labelled, labels))


def schema_of_features(features: "Features") -> pa.Schema:
    """Return the Arrow schema of features, with metadata that every version of `datasets` reads."""
    schema = features.arrow_schema
    known = json.loads(schema.metadata[_METADATA])
    known["info"]["features"] = _for_every_version(known["info"]["features"])
    return schema.with_metadata({**schema.metadata, _METADATA: json.dumps(known).encode()})


def _for_every_version(feature: Any) -> Any:  # noqa: ANN401 - JSON
    """Return features as JSON with lists as every version of `datasets` reads them: before 4.0 there is no `List`."""
    if not isinstance(feature, dict):
        return feature
    if feature.get("_type") != "List":
        return {name: _for_every_version(inner) for name, inner in feature.items()}
    item = _for_every_version(feature["feature"])
    return {**feature, "feature": item, "_type": "Sequence"} if "length" in feature else [item]


def list_of(item: Any, length: int = -1) -> Any:  # noqa: ANN401 - a feature is anything that `datasets` accepts as one
    """Return the feature of a list: `datasets.List`, or its equivalent before version 4 of `datasets`.

    Args:
        item: Feature of its items, a dictionary for a struct.
        length: Length of every list, or -1 where they differ.
    """
    import datasets

    if hasattr(datasets, "List"):
        return datasets.List(item, length=length)
    return [item] if length < 0 else datasets.Sequence(item, length=length)


def _value(kind: str) -> Any:  # noqa: ANN401 - `datasets` is untyped
    from datasets import Value

    return Value(kind)


def _label(labels: Labels) -> Any:  # noqa: ANN401
    from datasets import ClassLabel

    return ClassLabel(names=list(labels.names))


def _features(columns: Mapping[str, Any]) -> "Features":
    from datasets import Features

    return Features(columns)


def _turn(text: str = "text") -> dict[str, Any]:
    """Return the features of a turn without a label; `text` is the name of the column of its text or hash."""
    return {
        text: _value("string"),
        "start": _value("float64"),
        "end": _value("float64"),
        "sentence_ids": list_of(_value("int32")),
        "speaker": _value("string"),
    }


def _cut_turn(text: str = "text") -> dict[str, Any]:
    probabilities = ("new_speaker", "one_speaker", "same_scene", "certainty")
    return {**_turn(text), **dict.fromkeys(probabilities, _value("float32"))}


def _labelled_turn(labels: Labels, text: str = "text") -> dict[str, Any]:
    return {**_cut_turn(text), **_label_fields(labels)}


def _label_fields(labels: Labels) -> dict[str, Any]:
    """Return the features that a label adds to a turn, as `tables.labelled`."""
    ranked = list_of({"label": _label(labels), "probability": _value("float32")})
    return {
        "label": _label(labels),
        "confidence": _value("float32"),
        "top": ranked,
        "label_source": _value("string"),
        **({SEVERAL: ranked} if labels.several else {}),
    }


def _dialogues(turn: Mapping[str, Any]) -> "Features":
    """Return the features of dialogues of films, given those of their turns."""
    source = {
        "kind": _value("string"),
        "path": _value("string"),
        "imdb_id": _value("string"),
        "year": _value("int32"),
        "genres": list_of(_value("string")),
    }
    return _features(
        {
            "dialogue_id": _value("string"),
            "document_id": _value("string"),
            "language": _value("string"),
            "source": source,
            "certainty": _value("float32"),
            "expected_errors": _value("float32"),
            "turns": list_of(dict(turn)),
        }
    )


def _script_dialogues(labels: Labels | None) -> "Features":
    turn = {
        "text": _value("string"),
        "sentence_ids": list_of(_value("int32")),
        "speaker": _value("string"),
        "scene": _value("int32"),
        "manner": _value("string"),
        "voice": _value("string"),
        **(_label_fields(labels) if labels else {}),
    }
    columns = _dialogues(turn)
    return _features({name: kind for name, kind in columns.items() if name not in ("certainty", "expected_errors")})


def _book_dialogues(labels: Labels | None) -> "Features":
    source = {name: _value("int32" if name == "year" else "string") for name in BOOK_SOURCE.names}
    turn = {
        "text": _value("string"),
        "sentence_ids": list_of(_value("int32")),
        "speaker": _value("string"),
        "speaker_id": _value("int32"),
        "addressee": _value("string"),
        "manner": _value("string"),
        "narration": _value("string"),
        "narration_at": list_of(_value("int32")),
        "certainty": _value("float32"),
        **(_label_fields(labels) if labels else {}),
    }
    names = dict.fromkeys(("dialogue_id", "document_id", "language"), _value("string"))
    return _features({**names, "source": source, "chapter": _value("string"), "turns": list_of(turn)})


def _last_turn(labels: Labels) -> dict[str, Any]:
    """Return the features of dialogues whose last turn has a label."""
    return {
        "dialogue_id": _value("string"),
        "turns": list_of(_turn()),
        "label": _label(labels),
        "soft_label": list_of(_value("float32"), length=len(labels.names)),  # probabilities, by label id
    }


def _seed(labels: Labels) -> "Features":
    # The label of an answer is null where it is none of the set.
    answer = {"worker": _value("string"), "answer": _value("string"), "label": _label(labels)}
    return _features({**_last_turn(labels), "answers": list_of(answer)})


def _extended(labels: Labels) -> "Features":
    return _features(
        {
            **_last_turn(labels),
            "method": _value("string"),  # crowd, spread or self-label
            "step": _value("int32"),  # the step that gave the label; 0 for the seed
            "round": _value("int32"),  # of the method; 0 for the seed
            "seed_id": _value("string"),  # spread: id of the dialogue whose label it got, otherwise null
            "similarity": _value("float64"),  # spread: cosine with that dialogue, otherwise null
            "confidence": _value("float32"),  # self-label: calibrated probability of the label, otherwise null
        }
    )


_CURATE, _BOOKS = "edos curate", "edos books"


def books_config(language: str) -> str:
    """Return the name of the config of the books in a language: "gutenberg_en" for "en"."""
    return f"gutenberg_{language}"


def _book_languages() -> tuple[str, ...]:
    """Return the languages that have rules, those of the Gutenberg Dialogue Dataset first."""
    rules = Path(__file__).parents[1] / "segmentation" / "books" / "rules"
    there = sorted(path.stem for path in rules.glob("*.yaml"))
    return (*_OF_THE_PAPER, *(language for language in there if language not in _OF_THE_PAPER))


_OF_THE_PAPER = ("en", "de", "nl", "es", "it", "hu", "pt")

BOOK_LANGUAGES: tuple[str, ...] = _book_languages()
"""Codes of the languages whose books can be read: a new file of rules adds a config."""


def _books(language: str) -> Config:
    """Return the config of the books in a language; the shipped labelers are for English."""
    labelled = language == "en"
    return Config(
        "turns" if labelled else "nothing",
        _BOOKS,
        f"dialogues from books in {language!r}" + ", every turn labelled" * labelled,
        lambda labels: _book_dialogues(labels if labelled else None),
        lambda labels: _book_dialogues(None if labelled else labels),
    )


REGISTRY: Mapping[str, Config] = {
    "edos": Config(
        "turns", _CURATE, "every turn labelled with its history", lambda labels: _dialogues(_labelled_turn(labels))
    ),
    "edos_initial": Config(
        "turns",
        _CURATE,
        "the same dialogues with the weak labels that selected them",
        lambda labels: _dialogues(_labelled_turn(labels)),
    ),
    "os": Config("nothing", _CURATE, "all cleaned dialogues, without labels", lambda _: _dialogues(_cut_turn())),
    SCRIPTS: Config(
        "turns",
        _CURATE,
        "dialogues of screenplays with speaker, scene and manner, every turn labelled",
        _script_dialogues,
        lambda _: _script_dialogues(None),
    ),
    LABELS_ONLY: Config(
        "turns",
        "edos labels-only",
        "the labels of every turn, with the hash of its text",
        lambda labels: _dialogues(_labelled_turn(labels, "text_sha256")),
    ),
    AMT_SEED: Config("last turn", "edos crowd seed", "dialogues whose last turn people labelled", _seed),
    EXTENDED: Config("last turn", "edos extend", "those, and dialogues whose labels derive from them", _extended),
    **{books_config(language): _books(language) for language in BOOK_LANGUAGES},
}
"""Every config by its name; in a folder with several, the first of them is the default."""

CONFIGS: tuple[str, ...] = tuple(name for name, config in REGISTRY.items() if config.command == _CURATE)
"""The configs that a pipeline of subtitles may end in; `edos curate`, `label` and `hydrate` write them."""

BOOK_CONFIGS: tuple[str, ...] = tuple(map(books_config, BOOK_LANGUAGES))
"""The configs that a pipeline of books may end in."""

TURN_LABEL_CONFIGS: tuple[str, ...] = tuple(
    name for name in CONFIGS if REGISTRY[name].labelled == "turns" and name != SCRIPTS
)
"""The configs of subtitles in CONFIGS with a label on every turn."""

LAST_TURN_LABEL_CONFIGS: tuple[str, ...] = tuple(
    name for name, config in REGISTRY.items() if config.labelled == "last turn"
)
"""The configs with a label on the last turn of each dialogue: training data."""
