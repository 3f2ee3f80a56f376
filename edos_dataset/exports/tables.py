"""Exports with rows: chats, pairs and turns as JSON lines, CSV or Parquet, written as they are read."""

import gzip
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from string import Formatter
from typing import Any, BinaryIO, cast

import pyarrow as pa
import pyarrow.parquet as pq

from edos_dataset.exports.dialogues import Shape
from edos_dataset.exports.records import NARRATOR, Dialogue
from edos_dataset.releases.formats.faults import Findings
from edos_dataset.releases.formats.writers import write_rows
from edos_dataset.releases.views import Said, chat_of, merged, message_of

Row = dict[str, Any]

NO_ANSWER, ODD, NO_LABEL = "dialogues of one speaker or turn", "last turns that nobody answers", "turns without a label"
_ROW_GROUP = 10_000
_SHAREGPT = {"system": "system", "user": "human", "assistant": "gpt"}


@dataclass
class Settings:
    """What a user chose, and what is counted on the way.

    Attributes:
        shape: What the dialogues have.
        system: Template of a system prompt with `{label}` and `{speaker}` of the last answer, or None.
        encoding: Encoding of CSV, one of `writers.ENCODINGS`; by default UTF-8 without a byte order mark.
        left_out: What was left out → number.
    """

    shape: Shape
    system: str | None = None
    encoding: str | None = None
    left_out: Counter[str] = field(default_factory=Counter)

    def has(self, *names: str) -> list[str]:
        """Return those of some fields that the dialogues have."""
        return [name for name in names if name in self.shape.fields]


def check_template(template: str, shape: Shape, name: str) -> None:
    """Check a template of a system prompt.

    Raises:
        ValueError: It has a field that is unknown, or that the dialogues do not have.
    """
    try:
        fields = [field for _, field, _, _ in Formatter().parse(template) if field is not None]
    except ValueError as error:
        raise ValueError(f"--system {template!r}: {error}; write {{{{ and }}}} for braces") from error
    for named in fields:
        if named not in ("label", "speaker"):
            raise ValueError(f"--system has the field {{{named}}}: expected {{label}} or {{speaker}}")
        if named not in shape.fields:
            raise ValueError(f"--system has the field {{{named}}}, but {name} has no {named}s: leave it out")


def _chat(dialogue: Dialogue, settings: Settings) -> list[Row]:
    """Return the messages of a dialogue; none where nobody answers."""
    turns = merged(Said(turn.text, turn.speaker, turn.label, turn.confidence) for turn in dialogue.turns)
    chat = chat_of(turns)
    if not chat:
        settings.left_out[NO_ANSWER] += 1
        return []
    if len(chat) < len(turns):
        settings.left_out[ODD] += 1
    labelled = "label" in settings.shape.fields
    messages = [message_of(turn, place, labelled) for place, turn in enumerate(chat)]
    if settings.system is not None:
        last = {"label": chat[-1].label, "speaker": chat[-1].speaker}
        fields = {name for _, name, _, _ in Formatter().parse(settings.system)}
        if all(value is not None for name, value in last.items() if name in fields):
            messages.insert(0, {**message_of(Said(settings.system.format(**last)), 0, labelled), "role": "system"})
    return messages


def _head(dialogue: Dialogue, settings: Settings) -> Row:
    return {"dialogue_id": dialogue.id, **{name: getattr(dialogue, name) for name in settings.has("split")}}


def message_rows(dialogue: Dialogue, settings: Settings) -> Iterator[Row]:
    """Yield the chat of a dialogue, as TRL reads it."""
    if messages := _chat(dialogue, settings):
        yield {**_head(dialogue, settings), "messages": messages}


def sharegpt_rows(dialogue: Dialogue, settings: Settings) -> Iterator[Row]:
    """Yield the chat of a dialogue in the form of ShareGPT."""
    if messages := _chat(dialogue, settings):
        conversations = [
            {
                "from": _SHAREGPT[message["role"]],
                "value": message["content"],
                **{name: message[name] for name in ("label", "confidence") if name in message},
            }
            for message in messages
        ]
        yield {**_head(dialogue, settings), "conversations": conversations}


def flat_rows(dialogue: Dialogue, settings: Settings, first: int = 0) -> Iterator[Row]:
    """Yield a row for each turn from the number `first` on, with the turns before it; where turns have labels, only for
    those that have one.
    """
    texts = [turn.text for turn in dialogue.turns]
    scores = settings.has("label", "confidence")
    for place, turn in enumerate(dialogue.turns[first:], first):
        if scores and turn.label is None:
            settings.left_out[NO_LABEL] += 1
            continue
        head = {**_head(dialogue, settings), "turn": place, "context": texts[:place], "response": turn.text}
        yield head | {name: getattr(turn, name) for name in scores}


def pair_rows(dialogue: Dialogue, settings: Settings) -> Iterator[Row]:
    """Yield a row for each turn that answers one."""
    if len(dialogue.turns) < 2:
        settings.left_out[NO_ANSWER] += 1
    yield from flat_rows(dialogue, settings, 1)


def turn_rows(dialogue: Dialogue, settings: Settings) -> Iterator[Row]:
    """Yield a row for each turn."""
    head = {"dialogue_id": dialogue.id} | {
        _NAMES.get(name, name): getattr(dialogue, name) for name in settings.has("document", "split")
    }
    tail = {name: getattr(dialogue, name) for name in settings.has("certainty", "language")}
    of_turns = "certainty" in tail and dialogue.certainty is None
    for number, turn in enumerate(dialogue.turns, 1):
        row = {**head, "turn": number}
        row |= {name: getattr(turn, name) for name in settings.has("speaker", "start", "end")}
        row |= {"text": turn.text, **{name: getattr(turn, name) for name in settings.has(*_SCORES)}}
        for rank, (label, share) in enumerate(turn.top[1:], 2):
            row |= {f"label_{rank}": label, f"confidence_{rank}": share}
        row |= tail | ({"certainty": turn.certainty} if of_turns else {})
        yield {**dialogue.extra, **turn.extra, **row}


def script_rows(dialogue: Dialogue, settings: Settings) -> Iterator[Row]:
    """Yield a row for each piece of a book that one voice says, in its order: speech and narration apart."""
    for turn, row in zip(dialogue.turns, turn_rows(dialogue, settings), strict=True):
        row.pop("narration", None)
        narrated = {name: None for name in row if name.startswith(_OF_SPEECH)} | {"speaker": NARRATOR}
        for piece in turn.pieces():
            if piece.text:
                yield {**row, **(narrated if piece.narrated else {}), "text": piece.text}


_NAMES = {"document": "document_id"}
_OF_SPEECH = ("speaker", "addressee", "manner", "label", "confidence")
_SCORES = ("addressee", "manner", "narration", "label", "confidence")


def _script_columns(settings: Settings) -> dict[str, pa.DataType]:
    columns = _turn_columns(settings)
    return {name: kind for name, kind in columns.items() if name != "narration"}


def _turn_columns(settings: Settings) -> dict[str, pa.DataType]:
    names = ["dialogue_id", *settings.has("document", "split"), "turn", *settings.has("speaker", "start", "end")]
    names += ["text", *settings.has(*_SCORES)]
    names += [name for rank in range(2, settings.shape.ranks + 1) for name in (f"label_{rank}", f"confidence_{rank}")]
    ours = {_NAMES.get(name, name): _type(name) for name in [*names, *settings.has("certainty", "language")]}
    return ours | {name: kind for name, kind in settings.shape.extras.items() if name not in ours}


def _type(name: str) -> pa.DataType:
    if name == "turn":
        return pa.int32()
    if name in ("start", "end"):
        return pa.float64()
    return pa.float32() if name.startswith(("confidence", "certainty")) else pa.string()


def _flat_columns(settings: Settings) -> dict[str, pa.DataType]:
    names = ["dialogue_id", *settings.has("split"), "turn", "context", "response", *settings.has("label", "confidence")]
    return {name: pa.list_(pa.string()) if name == "context" else _type(name) for name in names}


def _chat_columns(settings: Settings, key: str, message: Sequence[str]) -> dict[str, pa.DataType]:
    fields = [*message, *(["label", "confidence"] if "label" in settings.shape.fields else [])]
    kind = pa.list_(pa.struct({name: _type(name) for name in fields}))
    return {**{name: pa.string() for name in ("dialogue_id", *settings.has("split"))}, key: kind}


@dataclass(frozen=True)
class Form:
    """A form of rows.

    Attributes:
        rows: Dialogue, settings → its rows.
        columns: Settings → the columns of a table.
        files: The file formats that can hold it, the default first.
    """

    rows: Callable[[Dialogue, Settings], Iterator[Row]]
    columns: Callable[[Settings], dict[str, pa.DataType]]
    files: tuple[str, ...]


_CHATS, _PAIRS = ("jsonl", "json", "parquet"), ("jsonl", "json", "parquet", "csv", "tsv", "xlsx")
FORMS: Mapping[str, Form] = {
    "messages": Form(message_rows, lambda settings: _chat_columns(settings, "messages", ("role", "content")), _CHATS),
    "sharegpt": Form(
        sharegpt_rows, lambda settings: _chat_columns(settings, "conversations", ("from", "value")), _CHATS
    ),
    "pairs": Form(pair_rows, _flat_columns, _PAIRS),
    "flat": Form(flat_rows, _flat_columns, _PAIRS),
    "csv": Form(turn_rows, _turn_columns, ("csv", "tsv", "xlsx")),
    "parquet": Form(turn_rows, _turn_columns, ("parquet",)),
    "script": Form(script_rows, _script_columns, _PAIRS),
}
"""The forms of rows by their names on the command line."""


def file_format(out: str, to: str) -> str:
    """Return the format of an output file by its suffix, the usual one of the form for standard output.

    Raises:
        ValueError: The form cannot be written so.
    """
    known = FORMS[to].files
    suffix = Path(out.removesuffix(".gz")).suffix.lower().removeprefix(".")
    if out == "-" and known[0] != "parquet":
        return known[0]
    if suffix not in known:
        kinds = ", ".join(f".{name}" for name in known)
        raise ValueError(f"--out {out}: --to {to} is written as {kinds}; give a name with such a suffix")
    return suffix


def counted_rows(dialogues: Iterable[Dialogue], form: Form, settings: Settings, counts: list[int]) -> Iterator[Row]:
    """Yield the rows of dialogues in a form; `counts` gets the numbers of dialogues that have any, and of rows."""
    for dialogue in dialogues:
        before = counts[1]
        for row in form.rows(dialogue, settings):
            counts[1] += 1
            yield row
        counts[0] += counts[1] > before


def write_table(
    target: Path, form: Form, kind: str, dialogues: Iterable[Dialogue], settings: Settings, packed: bool = False
) -> tuple[int, int]:
    """Write dialogues in a form to a file; memory does not grow with their number.

    Args:
        target: The file.
        form: The form.
        kind: Format of the file.
        dialogues: The dialogues.
        settings: What a user chose; counts what is left out.
        packed: Whether to compress it by gzip.

    Returns:
        The numbers of dialogues and of rows written.
    """
    counts = [0, 0]
    rows = counted_rows(dialogues, form, settings, counts)
    with ExitStack() as stack:
        file: BinaryIO = stack.enter_context(target.open("wb"))
        if packed:
            zipped = gzip.GzipFile(fileobj=file, filename="", mode="wb", mtime=0)
            file = cast(BinaryIO, stack.enter_context(zipped))
        columns = form.columns(settings)
        if kind == "parquet":
            _write_parquet(file, pa.schema(columns), rows)
        elif kind in ("jsonl", "json"):
            _write_json(file, rows, kind == "json")
        else:
            write_rows(file, kind, list(columns), rows, Findings(), settings.encoding)
    return counts[0], counts[1]


def _write_json(file: BinaryIO, rows: Iterator[Row], is_list: bool) -> None:
    lines = (json.dumps(row, ensure_ascii=False).encode() for row in rows)
    if not is_list:
        file.writelines(line + b"\n" for line in lines)
        return
    file.write(b"[")
    for number, line in enumerate(lines):
        file.write((b",\n" if number else b"\n") + line)
    file.write(b"\n]\n")


def _write_parquet(file: BinaryIO, schema: pa.Schema, rows: Iterator[Row]) -> None:
    texts = [name for name, kind in zip(schema.names, schema.types, strict=True) if kind == pa.string()]
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        while batch := list(islice(rows, _ROW_GROUP)):
            for row in batch:
                row |= {name: _as_text(row[name]) for name in texts if not isinstance(row.get(name), str | None)}
            writer.write_table(pa.Table.from_pylist(batch, schema=schema))


def _as_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
