"""The columns of the configs, as `datasets.Features`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from edos_dataset.labels import LABELS
from edos_dataset.schema.books import BOOK_SOURCE

if TYPE_CHECKING:
    from datasets import Features


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


def cut_turn(text: str = "text") -> dict[str, Any]:
    """Return the features of a turn that was cut out of a film, as `tables.TURN`."""
    from datasets import Value

    return {**_turn(text), **dict.fromkeys(("new_speaker", "one_speaker", "same_scene"), Value("float32"))}


def labelled_turn(text: str = "text") -> dict[str, Any]:
    """Return the features of a turn with its label, as `tables.LABELLED_TURN`."""
    return {**cut_turn(text), **_labels_of_a_turn()}


def _labels_of_a_turn() -> dict[str, Any]:
    """Return the features of what a label adds to a turn, as `tables.LABEL_FIELDS`."""
    from datasets import Value

    return {
        "label": _label(),
        "confidence": Value("float32"),
        "top": list_of({"label": _label(), "probability": Value("float32")}),
        "label_source": Value("string"),
    }


def dialogues(turn: Mapping[str, Any]) -> "Features":
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


def book_dialogues(labelled: bool) -> "Features":
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


def seed() -> "Features":
    """Return the features of dialogues whose last turn people labelled."""
    from datasets import Features, Value

    # The label of an answer is null where it is none of the 41.
    answer = {"worker": Value("string"), "answer": Value("string"), "label": _label()}
    return Features({**_last_turn(), "answers": list_of(answer)})


def extended() -> "Features":
    """Return the features of those and of dialogues that got their labels from them."""
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
