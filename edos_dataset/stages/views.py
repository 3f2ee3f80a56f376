"""The views passed to custom steps: dialogues and turns as small objects, and batches as flat lists."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import unnest
from edos_dataset.label_sets import label_set_of
from edos_dataset.schema.tables import KEY
from edos_dataset.wording import counted

CHANGEABLE = ("text", "start", "end", "sentence_ids", "speaker")
"""The fields of a turn that a map may change."""


class Turn(NamedTuple):
    """What one speaker says without interruption. Unknown fields are None.

    Attributes:
        text: the words, in NFC.
        place: the turn's place in the original dialogue, from 0.
        start: start time in the film, in seconds.
        end: end time in the film, in seconds.
        speaker: the speaker, if the file or the book names one.
        label: name of its label, such as "sad"; after `weak_label` or `annotate`.
        confidence: probability of that label, 0 to 1.
        new_speaker: probability that a different person speaks from here on, 0 to 1.
        one_speaker: probability that one person says the whole turn, 0 to 1.
        same_scene: probability that the scene continues with the turn, 0 to 1.
        certainty: probability that the boundary before the turn is right, 0 to 1; after the stage `certainty`.
        sentence_ids: numbers of its sentences in the document.
    """

    text: str
    place: int
    start: float | None = None
    end: float | None = None
    speaker: str | None = None
    label: str | None = None
    confidence: float | None = None
    new_speaker: float | None = None
    one_speaker: float | None = None
    same_scene: float | None = None
    certainty: float | None = None
    sentence_ids: Sequence[int] = ()

    def replace(self, **changes: Any) -> "Turn":  # noqa: ANN401 - as the fields are
        """Return the turn with some fields changed: `turn.replace(text="No.")`."""
        return self._replace(**changes)


@dataclass(frozen=True)
class Dialogue:
    """Successive turns that belong together. `len(dialogue)` counts its turns, and iterating yields them.

    Attributes:
        dialogue_id: `<document_id>#<first sentence>`.
        document_id: the subtitle file or the book.
        turns: its turns, in order.
        film: key of the film; None for books.
        book: key of the book; None for films.
        language: code of the language, such as "en".
        certainty: probability that the dialogue has no error, 0 to 1; after the stage `certainty`.
        emotionality: mean probability of the 32 emotions, 0 to 1; after the stage `weak_label`.
        confidence: mean probability of its turns' labels, 0 to 1; after the stage `weak_label`.
        source: facts about the document: `kind`, `path` and `year`; for films also `imdb_id` and `genres`; for books
            `title` and `author`.
    """

    dialogue_id: str
    document_id: str
    turns: tuple[Turn, ...]
    film: str | None = None
    book: str | None = None
    language: str | None = None
    certainty: float | None = None
    emotionality: float | None = None
    confidence: float | None = None
    source: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The texts of all turns, one per line."""
        return "\n".join(turn.text for turn in self.turns)

    def replace(self, turns: Sequence[Turn]) -> "Dialogue":
        """Return the dialogue with other turns."""
        return dataclasses.replace(self, turns=tuple(turns))

    def __len__(self) -> int:
        """Return the number of turns."""
        return len(self.turns)

    def __iter__(self) -> Iterator[Turn]:
        """Iterate over the turns."""
        return iter(self.turns)


class Batch:
    """Dialogues as flat lists. `len(batch)` counts dialogues, and iterating yields them.

    Args:
        table: dialogues, as passed between stages.

    Attributes:
        table: the same table, for columns that the lists do not contain.
    """

    def __init__(self, table: pa.Table) -> None:
        self.table = table
        self._flat, self._offsets = unnest(table, "turns")

    @cached_property
    def texts(self) -> list[str]:
        """The texts of all turns, dialogue after dialogue."""
        return self.turns("text")

    @cached_property
    def rows(self) -> list[int]:
        """The place in the batch of each turn's dialogue, from 0."""
        rows: list[int] = np.repeat(np.arange(len(self)), np.diff(self._offsets)).tolist()
        return rows

    @cached_property
    def dialogues(self) -> list[Dialogue]:
        """The dialogues."""
        names = [each.name for each in dataclasses.fields(Dialogue) if each.name in self.table.column_names]
        columns = {name: self.column(name) for name in names if name not in ("turns", "source")}
        sources = [source or {} for source in self.column("source")]
        turns, bounds = self._turns(), self._offsets.tolist()
        return [
            Dialogue(
                turns=tuple(turns[bounds[row] : bounds[row + 1]]),
                source=sources[row],
                **{name: values[row] for name, values in columns.items()},
            )
            for row in range(len(self))
        ]

    def turns(self, field: str) -> list[Any]:
        """Return a field of all turns, such as "start" or "label" (here a number), dialogue after dialogue; all None if
        the turns have no such field.
        """
        if field not in self._flat.type.names:
            return [None] * len(self._flat)
        values: list[Any] = self._flat.field(field).to_pylist()
        return values

    def column(self, name: str) -> list[Any]:
        """Return a column of the dialogues, such as "language"; all None if there is no such column."""
        values: list[Any] = self.table[name].to_pylist() if name in self.table.column_names else [None] * len(self)
        return values

    def __len__(self) -> int:
        """Return the number of dialogues."""
        return int(self.table.num_rows)

    def __iter__(self) -> Iterator[Dialogue]:
        """Iterate over the dialogues."""
        return iter(self.dialogues)

    def _turns(self) -> list[Turn]:
        bounds = self._offsets
        places = (np.arange(len(self._flat)) - np.repeat(bounds[:-1], np.diff(bounds))).tolist()
        columns = {name: self.turns(name) for name in Turn._fields if name != "place"}
        names = label_set_of(self.table.schema).labels
        columns["label"] = [None if label is None else names[label] for label in columns["label"]]
        columns["sentence_ids"] = [ids or () for ids in columns["sentence_ids"]]
        return list(map(Turn, *(places if name == "place" else columns[name] for name in Turn._fields)))

    def place(self, row: int | None = None) -> str:
        """Return the name of a dialogue, or of the batch, for messages."""
        ids = self.column("dialogue_id")
        if row is not None:
            return f"dialogue {ids[row]!r}"
        return f"a batch of {counted(len(ids), 'dialogues')}, {ids[0]!r} to {ids[-1]!r}" if ids else "an empty batch"

    def texts_by_dialogue(self) -> list[list[str]]:
        """Return the texts of each dialogue."""
        bounds = self._offsets.tolist()
        return [self.texts[start:stop] for start, stop in zip(bounds[:-1], bounds[1:], strict=True)]

    def with_texts(self, texts: Sequence[str]) -> pa.Table:
        """Return the table with new texts, one per turn."""
        return with_turns(self.table, self._flat, self._offsets, {"text": texts})

    def with_dialogues(self, dialogues: Sequence[Dialogue]) -> pa.Table:
        """Return the table with the turns of dialogues that were made from those of the batch."""
        bounds = self._offsets[:-1].tolist()
        flat = [(bounds[row] + turn.place, turn) for row, dialogue in enumerate(dialogues) for turn in dialogue.turns]
        turns = self._flat.take(pa.array([place for place, _ in flat], pa.int64()))
        offsets = np.r_[0, np.cumsum([len(dialogue) for dialogue in dialogues], dtype=np.int64)]
        changed = {name: [getattr(turn, name) for _, turn in flat] for name in CHANGEABLE}
        return with_turns(self.table, turns, offsets, changed)


def with_turns(table: pa.Table, turns: pa.StructArray, offsets: np.ndarray, changed: Mapping[str, Any]) -> pa.Table:
    """Return dialogues with new turns, without their KEY, which belongs to the old texts."""
    kept = [each for each in turns.type if each.name != KEY]
    arrays = [
        pa.array(changed[each.name], each.type) if each.name in changed else turns.field(each.name) for each in kept
    ]
    lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.StructArray.from_arrays(arrays, fields=kept))
    return table.set_column(table.column_names.index("turns"), "turns", lists)
