"""Common code of the bases for custom steps: their classes, their errors, and the checks of returned values."""

import dataclasses
import inspect
import re
import traceback
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.cleaning.rejects import AfterRemoved, cut_turns
from edos_dataset.runs.pipeline import Stage, Unit
from edos_dataset.runs.untrusted import shown
from edos_dataset.schema.tables import KEY, REASON
from edos_dataset.stages.views import CHANGEABLE, Batch, Dialogue, Turn
from edos_dataset.wording import counted

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: object) -> Callable[[type], type]:  # noqa: D103 - only for type checkers
        return lambda kind: kind


_OF_ALL_TURNS = ("certainty", "expected_errors", "emotionality", "confidence")
_OF_TEXTS = ("embeddings", "embedded_by")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,59}")


class StepError(ValueError):
    """A custom step raised an exception or returned a wrong value; the message names the step and the dialogue."""


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Step(Stage):
    """A stage whose subclasses become frozen dataclasses without a decorator."""

    needs = ("dialogue_id", "turns")
    gives = ()
    _method: ClassVar[Literal["keep", "map"]]
    _batched: ClassVar[bool] = False

    def __init_subclass__(cls, **options: object) -> None:
        """Turn the subclass into a frozen dataclass and give it a name."""
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            raise TypeError(
                f"{cls.__name__}: declare parameters as annotated attributes with defaults, such as `most: int = 80`, "
                "instead of defining __init__"
            )
        for name, hint in inspect.get_annotations(cls).items():
            if (name in ("name", "unit") or hasattr(Step, name)) and "ClassVar" not in str(hint):
                raise TypeError(
                    f"{cls.__name__}: {name!r} cannot be a parameter, as every step has an attribute of that name; to "
                    f"set it, write `{name} = ...` without an annotation"
                )
        if "name" not in vars(cls):
            cls.name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", cls.__name__).lower().strip("_")
        if not _NAME.fullmatch(cls.name):
            raise TypeError(
                f"{cls.__name__}: the name {cls.name!r} cannot be that of a step: give the class an attribute `name` "
                "of lower-case words joined by _"
            )
        cls.needs = tuple(dict.fromkeys((*cls.__mro__[1].needs, *cls.needs)))  # type: ignore[attr-defined]
        dataclass(frozen=True)(cls)
        del cls.__setattr__, cls.__delattr__  # inherited ones suffice, and a user may decorate the class again

    def _refuse(self, name: str, value: object = None) -> None:
        raise dataclasses.FrozenInstanceError(
            f"cannot set {name!r} of the step {self.name!r}, which never changes: use functools.cached_property for "
            "what it computes once"
        )

    if not TYPE_CHECKING:
        __setattr__ = __delattr__ = _refuse

    @contextmanager
    def _at(self, batch: Batch, row: int | None = None) -> Iterator[None]:
        """Turn any exception of the user's code into a StepError that names the place."""
        try:
            yield
        except (StepError, MemoryError):
            raise
        except Exception as error:
            where = _line_of(error, type(self))
            said = f"{type(error).__name__}: {error}"
            raise StepError(f"step {self.name!r} failed at {batch.place(row)}: {said}{where}") from error

    def _answers(self, batch: Batch) -> list[Any]:
        """Return the results of the user's method for each dialogue or turn of a batch."""
        method = getattr(self, self._method)
        if self._batched:
            with self._at(batch):
                answers = method(batch)
            return self._counted(answers, batch)
        found: list[Any] = []
        for row, dialogue in enumerate(batch.dialogues):
            with self._at(batch, row):
                if self.unit == "turns":
                    found += [method(turn, dialogue) for turn in dialogue.turns]
                else:
                    found.append(method(dialogue))
        return found

    def _counted(self, answers: Any, batch: Batch) -> list[Any]:  # noqa: ANN401 - whatever the user's code returns
        """Return the answers for a batch as a list, one for each dialogue or turn."""
        wanted = len(batch.rows) if self.unit == "turns" else len(batch)
        if isinstance(answers, pa.Array | pa.ChunkedArray):
            answers = answers.to_pylist()
        if isinstance(answers, str) or not hasattr(answers, "__len__") or not hasattr(answers, "__iter__"):
            raise StepError(
                f"step {self.name!r} returned {shown(answers)}: return a list, one item for each {self.unit[:-1]}"
            )
        if len(answers) != wanted:
            raise StepError(
                f"step {self.name!r} returned {counted(len(answers), 'items')} for {wanted:,} {self.unit} at "
                f"{batch.place()}: "
                f"return one for each {self.unit[:-1]}"
            )
        return list(answers)

    def _reason(self, answer: object, batch: Batch, row: int) -> str | None:
        """Return the reason code for an answer of `keep`; None means kept."""
        if isinstance(answer, bool | np.bool_):
            return None if answer else self.name
        if isinstance(answer, str) and _NAME.fullmatch(answer):
            return str(answer)
        raise StepError(
            f"step {self.name!r} returned {shown(answer)} at {batch.place(row)}: return True, False or a reason, "
            "lower-case words joined by _"
        )

    def _text(self, answer: object, batch: Batch, row: int) -> str:
        """Check the text that `map` returned, and return it in NFC."""
        if not isinstance(answer, str) or not answer.strip():
            raise StepError(
                f"step {self.name!r} returned {shown(answer)} at {batch.place(row)}: return a text that is not "
                "empty; a TurnFilter removes turns"
            )
        return unicodedata.normalize("NFC", answer)

    def _checked(self, answer: object, batch: Batch, row: int) -> Dialogue:
        """Check the dialogue that `map` returned, and return it."""
        before, where = batch.dialogues[row], batch.place(row)
        if not isinstance(answer, Dialogue):
            raise StepError(
                f"step {self.name!r} returned {shown(answer)} at {where}: return dialogue.replace(turns=...)"
            )
        if answer.replace(before.turns) != before:
            raise StepError(f"step {self.name!r} changed more than the turns at {where}: only these may change")
        if len(answer) < 2:
            raise StepError(
                f"step {self.name!r} left {counted(len(answer), 'turns')} at {where}: a dialogue has two or more; a "
                "DialogueFilter removes it"
            )
        return answer.replace([self._checked_turn(turn, batch, row) for turn in answer.turns])

    def _checked_turn(self, turn: object, batch: Batch, row: int) -> Turn:
        before = batch.dialogues[row].turns
        if not isinstance(turn, Turn) or not 0 <= turn.place < len(before):
            raise StepError(
                f"step {self.name!r} returned the turn {shown(turn)} at {batch.place(row)}: make turns from those of "
                "the dialogue, by turn.replace(text=...)"
            )
        old = before[turn.place]
        others = [name for name in Turn._fields if name not in CHANGEABLE and getattr(turn, name) != getattr(old, name)]
        if others:
            raise StepError(
                f"step {self.name!r} changed {others[0]!r} of a turn at {batch.place(row)}: only "
                f"{', '.join(CHANGEABLE)} may change"
            )
        return turn.replace(text=self._text(turn.text, batch, row))


class FilterOfDialogues(Step):
    """Filters of dialogues, one by one or in batches."""

    _method = "keep"
    unit: ClassVar[Unit] = "dialogues"

    def __call__(self, table: pa.Table) -> pa.Table:
        """Filter dialogues."""
        batch = Batch(table)
        reasons = [self._reason(answer, batch, row) for row, answer in enumerate(self._answers(batch))]
        return batch.table.append_column(REASON, pa.array(reasons, pa.string()))


class FilterOfTurns(Step):
    """Filters of turns, one by one or in batches."""

    _method = "keep"
    unit: ClassVar[Unit] = "turns"
    ends = (*_OF_ALL_TURNS, *_OF_TEXTS)

    after_removed: ClassVar[AfterRemoved] = "split"
    """The fate of the turns after a removed one: they form a new dialogue ("split") or are also removed ("drop")."""

    def __call__(self, table: pa.Table) -> pa.Table:
        """Filter turns."""
        batch = Batch(table)
        answers = zip(self._answers(batch), batch.rows, strict=True)
        reasons = [self._reason(answer, batch, row) for answer, row in answers]
        table = batch.table.append_column("turns_before", pc.list_value_length(batch.table["turns"]))
        table = cut_turns(table, reasons, after_removed=self.after_removed)
        cut = pc.not_equal(pc.list_value_length(table["turns"]), table["turns_before"])
        return _with_own_ids(_without_values(table.drop_columns(["turns_before"]), cut, self.ends))


class MapOfTurns(Step):
    """Maps of turns, one by one or in batches."""

    _method = "map"
    unit: ClassVar[Unit] = "turns"
    ends = (f"turns.{KEY}", *_OF_TEXTS)

    def __call__(self, table: pa.Table) -> pa.Table:
        """Change turns."""
        batch = Batch(table)
        answers = zip(self._answers(batch), batch.rows, strict=True)
        texts = [self._text(answer, batch, row) for answer, row in answers]
        return _changed(batch, batch.with_texts(texts))


class MapOfDialogues(Step):
    """Maps of dialogues, one by one or in batches."""

    _method = "map"
    unit: ClassVar[Unit] = "dialogues"
    ends = (f"turns.{KEY}", *_OF_ALL_TURNS, *_OF_TEXTS)

    def __call__(self, table: pa.Table) -> pa.Table:
        """Change dialogues."""
        batch = Batch(table)
        dialogues = [self._checked(answer, batch, row) for row, answer in enumerate(self._answers(batch))]
        return _changed(batch, batch.with_dialogues(dialogues))


def _line_of(error: BaseException, kind: type) -> str:
    """Return the last line in the step's file, or else in another file, that an error passed through."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    try:
        own = [frame for frame in frames if frame.filename == inspect.getfile(kind)]
    except (TypeError, OSError):  # defined in a notebook
        own = []
    last = (own or frames)[-1:]
    return "".join(f" ({Path(frame.filename).name}, line {frame.lineno})" for frame in last)


def _changed(batch: Batch, table: pa.Table) -> pa.Table:
    """Return a changed batch without the scores of dialogues whose number of turns changed, and without the embeddings
    of dialogues whose texts changed.
    """
    sizes = pc.not_equal(pc.list_value_length(batch.table["turns"]), pc.list_value_length(table["turns"]))
    texts = zip(batch.texts_by_dialogue(), Batch(table).texts_by_dialogue(), strict=True)
    other = pa.array([before != now for before, now in texts], pa.bool_())
    return _without_values(_without_values(table, sizes, _OF_ALL_TURNS), other, _OF_TEXTS)


def _without_values(table: pa.Table, where: pa.ChunkedArray | pa.Array, names: Sequence[str]) -> pa.Table:
    for name in names:
        if name in table.column_names:
            column = table[name]
            values = pc.if_else(where, pa.scalar(None, column.type), column)
            table = table.set_column(table.column_names.index(name), table.schema.field(name), values)
    return table


def _with_own_ids(table: pa.Table) -> pa.Table:
    """Return cut dialogues with unique ids: if several kept ones begin in the same paragraph of a book, the later ones
    get a number.
    """
    ids, kept = table["dialogue_id"].to_pylist(), pc.is_null(table[REASON]).to_pylist()
    seen: set[str] = set()
    for row, (name, stays) in enumerate(zip(ids, kept, strict=True)):
        number = 0
        while stays and ids[row] in seen:
            number += 1
            ids[row] = f"{name}+{number}"
        if stays:
            seen.add(ids[row])
    return table.set_column(table.column_names.index("dialogue_id"), "dialogue_id", pa.array(ids, pa.string()))
