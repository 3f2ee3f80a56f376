"""`edos_dataset.label`: labels for dialogues in memory, or in whatever form, as a call of a notebook or a script."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, overload

import pyarrow as pa

from edos_dataset.commands.label import shard_turns_of
from edos_dataset.labeling.models.labelers import default_device
from edos_dataset.labeling.stages import AnnotateDialogues
from edos_dataset.labels import LABELS
from edos_dataset.releases.dialogues import lines_of, read_dialogues, tables_of
from edos_dataset.releases.given.dialogue import Dialogue, Place, unique
from edos_dataset.releases.given.records import Record, dialogues_of
from edos_dataset.releases.given.sources import Selection, rows_of, splits_of
from edos_dataset.releases.given.tables import typed_rows
from edos_dataset.schema import list_of
from edos_dataset.text import shown

if TYPE_CHECKING:
    import pandas as pd
    from datasets import Dataset, DatasetDict

D = TypeVar("D", "Dataset", "DatasetDict")


class Probability(TypedDict):
    """A label and its probability, 0 to 1."""

    label: str
    probability: float


class LabelledTurn(TypedDict):
    """A turn, its label, the probability of that, and the most probable labels; what stood beside it follows."""

    text: str
    label: str
    confidence: float
    top: list[Probability]


class LabelledDialogue(TypedDict):
    """A dialogue as a line of `edos label` tells it; what stood beside it follows."""

    dialogue_id: str
    turns: list[LabelledTurn]


@overload
def label(
    dialogues: "str | Path | pd.DataFrame | Sequence[Sequence[str]] | Sequence[Mapping[str, Any]]",
    model: str = "general",
    *,
    top: int = 3,
    device: str | None = None,
    batch_tokens: int | None = None,
    column: str | None = None,
    config: str | None = None,
    split: str | None = None,
    revision: str | None = None,
) -> list[LabelledDialogue]: ...
@overload
def label(
    dialogues: D,
    model: str = "general",
    *,
    top: int = 3,
    device: str | None = None,
    batch_tokens: int | None = None,
    column: str | None = None,
    config: str | None = None,
    split: str | None = None,
    revision: str | None = None,
) -> D: ...
def label(
    dialogues: Any,
    model: str = "general",
    *,
    top: int = 3,
    device: str | None = None,
    batch_tokens: int | None = None,
    column: str | None = None,
    config: str | None = None,
    split: str | None = None,
    revision: str | None = None,
) -> Any:
    """Label every turn of dialogues, each with its history, in this process.

        edos_dataset.label([["I lost my job.", "Oh no, what happened?"]])[0]["turns"][0]["label"]  # 'devastated'

    All is held in memory; for files that do not fit there, that should go on after a kill, or have many cores to
    themselves, there is `edos label`.

    Args:
        dialogues: lists of texts; dictionaries, each a dialogue or a turn as a line of a file may be; a data frame; a
            `datasets.Dataset` or `DatasetDict`; or what `edos label` takes: the path of a file or folder, or a data set
            of the Hub as "namespace/name".
        model: what labels: a name that `load_labeler` knows, a folder or a Hub id.
        top: how many of the most probable labels stand beside each turn, 1 to 41.
        device: "cpu", "cuda", "cuda:1", ...; by default a GPU where there is one.
        batch_tokens: most tokens in a batch; by default what suits the device.
        column: column or key of the texts or dialogues; by default the first that is known.
        config: of a folder of ours or a data set of the Hub; by default its first.
        split: of a saved data set or one of the Hub; by default all.
        revision: of a data set of the Hub.

    Returns:
        What the lines of `edos label` say, in their order. For a data set a data set, for a dictionary of them such a
        dictionary: `dialogue_id`, `turns` with label and confidence, labels being `ClassLabel`, and the other columns.

    Raises:
        ValueError: something is no dialogue, an id comes twice, or the model cannot label turns.
    """
    stage = AnnotateDialogues(model, device or default_device(), top, batch_tokens)
    if isinstance(dialogues, str | Path):
        meant = Selection(config, split, revision, column)
        return list(_labelled(read_dialogues(dialogues, meant), stage))
    if isinstance(dialogues, dict):
        parts = splits_of(dialogues, "the dictionary", split)
        return type(dialogues)({name: _labelled_dataset(part, stage, column) for name, part in parts.items()})
    if hasattr(dialogues, "with_format"):
        return _labelled_dataset(dialogues, stage, column)
    return list(_labelled(unique(dialogues_of(_records(dialogues), column)), stage))


def _records(dialogues: Any) -> Iterator[Record]:  # noqa: ANN401
    """Yield what is in memory as records."""
    place = Place("dialogue", "dialogue")
    if hasattr(dialogues, "to_dict") and hasattr(dialogues, "columns"):  # a data frame; pandas need not be there
        yield from typed_rows([pa.Table.from_pandas(dialogues, preserve_index=False)], Place("row", "row"))
        return
    if not isinstance(dialogues, Sequence) or any(isinstance(dialogue, str | bytes) for dialogue in dialogues):
        raise ValueError(
            f"dialogues must be a list of dialogues, each a list of texts or a dictionary, got {shown(dialogues)}; put "
            "the turns of one dialogue into a list of their own"
        )
    for number, dialogue in enumerate(dialogues, 1):
        yield Record(place, number, list(dialogue) if isinstance(dialogue, tuple) else dialogue, True)


def _labelled(dialogues: Iterator[Dialogue], stage: AnnotateDialogues) -> Iterator[Any]:
    for table in tables_of(dialogues, shard_turns_of(stage)):
        yield from map(json.loads, lines_of(stage(table)))


def _labelled_dataset(dataset: Any, stage: AnnotateDialogues, column: str | None) -> Any:  # noqa: ANN401
    """Return a data set labelled; where its rows are dialogues its other columns are kept as they are."""
    import datasets

    if not isinstance(dataset, datasets.Dataset):
        raise ValueError(f"a {type(dataset).__name__} cannot be labelled at one go: give a Dataset")
    rows = list(_labelled(unique(dialogues_of(rows_of(dataset, "data set"), column)), stage))
    if not rows:
        raise ValueError("the data set has no rows: there is nothing to label")
    beside = [name for name in dataset.column_names if name in rows[0] and name not in ("dialogue_id", "turns")]
    beside = beside if len(rows) == len(dataset) else []
    ours = datasets.Dataset.from_list([{key: row[key] for key in row if key not in beside} for row in rows])
    of_label = datasets.ClassLabel(names=list(LABELS))
    turn = dict(
        ours.features["turns"][0] if isinstance(ours.features["turns"], list) else ours.features["turns"].feature
    )
    turn |= {
        "text": datasets.Value("string"),
        "label": of_label,
        "confidence": datasets.Value("float32"),
        "top": list_of({"label": of_label, "probability": datasets.Value("float32")}),
    }
    ours = ours.cast(datasets.Features({**ours.features, "turns": list_of(turn)}))
    if not beside:
        return ours
    return datasets.concatenate_datasets([ours, dataset.select_columns(beside)], axis=1)
