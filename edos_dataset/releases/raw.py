"""Readers of raw releases as their authors published them; rows are repaired by rules or rejected with a reason."""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from edos_dataset.crowd.answers import read_answers
from edos_dataset.crowd.names import MISSING, read_answer
from edos_dataset.crowd.splits import split_turns
from edos_dataset.labels import LABELS

Row = dict[str, Any]


class Reject(NamedTuple):
    """A rejected row of a release.

    Attributes:
        file: Name of the file.
        line: Number of the line on which the row ends; None if several rows are rejected together.
        reason: `wrong_columns`, `no_id`, `no_text`, `no_answer`, `unknown_label`, `bad_score`, `repeated_id`,
            `unknown_actor` or `missing_turn`.
        detail: The offending value or id.
    """

    file: str
    line: int | None
    reason: str
    detail: str


def read_crowd(path: Path) -> Iterator[Row | Reject]:
    """Yield the dialogues of the authors' crowd labels, one per task, as repaired by `crowd.answers.read_answers`.

    Dashes are removed and the text is detokenised; typed and misspelt answers become labels if they name one; a second
    row with the same DialogID becomes `ID#2`. `label` is the agreed label stated in the file, null without a majority.
    """
    answers = read_answers(path)
    given: dict[int, list[Row]] = {}
    for owner, worker, answer in zip(answers.task, answers.worker, answers.given, strict=True):
        given.setdefault(owner, []).append({"worker": worker, "answer": answer, "label": label_of(answer)})
    stated = answers.stated or [""] * len(answers.tasks)
    for number, (task, turns, agreed) in enumerate(zip(answers.tasks, answers.dialogues, stated, strict=True)):
        if not turns or not given.get(number):
            yield Reject(path.name, None, "no_answer" if turns else "no_text", task)
        else:
            yield {"dialogue_id": task, "turns": as_turns(turns), "label": label_of(agreed), "answers": given[number]}


def read_extension(path: Path, method: str) -> Iterator[Row | Reject]:
    """Yield the dialogues of one of the authors' extended files, each with the label of its last turn.

    Columns: `os_dialog_id`, `os_dialog`, `emotion`, and a score from 0 to 1, `cos_sim` (with the seed's id,
    `amt_dialog_id` or `high_dialog_id`) or `confidence`. Case and known misspellings of label names are ignored; dashes
    are removed, and the text is detokenised.
    """
    score, seeds = ("cos_sim", ("amt_dialog_id", "high_dialog_id")) if method == "spread" else ("confidence", ())
    seen: set[str] = set()
    for line, row in read_csv(path, ("os_dialog_id", "os_dialog", "emotion", score)):
        if isinstance(row, Reject):
            yield row
            continue
        name, turns = row["os_dialog_id"].strip(), split_turns(row["os_dialog"])
        label, value = label_of(row["emotion"]), share_of(row[score])
        faults: dict[str, tuple[bool, str]] = {
            "no_id": (not name, row["os_dialog"][:40]),
            "no_text": (not turns, name),
            "unknown_label": (label is None, row["emotion"]),
            "bad_score": (value is None, row[score]),
            "repeated_id": (name in seen, name),
        }
        if rejects := [Reject(path.name, line, reason, detail) for reason, (bad, detail) in faults.items() if bad]:
            yield rejects[0]
            continue
        seen.add(name)
        yield {
            "dialogue_id": name,
            "turns": as_turns(turns),
            "label": label,
            "method": method,
            "seed_id": next((row[column] for column in seeds if column in row), None),
            "similarity": value if method == "spread" else None,
            "confidence": None if method == "spread" else value,
        }


def read_csv(path: Path, columns: Sequence[str], plain: bool = False) -> Iterator[tuple[int, dict[str, str] | Reject]]:
    """Yield the rows of a CSV file with their line numbers; a row with too many or too few values is rejected, with its
    first value as the detail.

    Args:
        path: The file.
        columns: Required columns.
        plain: Quotes have no meaning, and a row may have one value more than the header.

    Raises:
        ValueError: The file is not CSV in UTF-8, or lacks a column.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, quoting=csv.QUOTE_NONE if plain else csv.QUOTE_MINIMAL)
            header = next(reader, [])
            if lacking := [column for column in columns if column not in header]:
                raise ValueError(
                    f"{path} has no column {lacking[0]!r}: expected {', '.join(columns)}, found "
                    f"{', '.join(header) or 'none'}"
                )
            for row in reader:
                if row and len(row) not in (len(header), len(header) + plain):
                    yield reader.line_num, Reject(path.name, reader.line_num, "wrong_columns", row[0])
                elif row:
                    yield reader.line_num, dict(zip(header, row, strict=False))
    except (csv.Error, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a CSV file in UTF-8: {error}") from error


def as_turns(texts: Sequence[str]) -> list[Row]:
    """Return texts as turns of the config "os", without times and sentences."""
    return [{"text": text, "start": None, "end": None, "sentence_ids": []} for text in texts]


def label_of(given: str) -> int | None:
    """Return the id of the label that a text names; None if the text is not a label."""
    label = read_answer(given).label
    return None if label == MISSING else label


def share_of(text: str) -> float | None:
    """Parse a number from 0 to 1; return None for other texts. Values slightly above 1, as cosines of equal vectors can
    be, count as 1.
    """
    try:
        value = float(text)
    except ValueError:
        return None
    return min(value, 1.0) if 0 <= value <= 1.0001 else None


def read_conversations(path: Path, annotated: bool) -> Iterator[Row | Reject]:
    """Yield the conversations of a file of EmpatheticDialogues; the name of the file is their emotion.

    "_comma_" becomes a comma, and white space is collapsed. A rejected row rejects its conversation, so that no history
    has a gap.
    """
    conversations: dict[str, Row] = {}
    broken: set[str] = set()
    for line, row in read_csv(path, ("Dialog_ID", "Type", "Actor", "Text", *(("Label",) if annotated else ()))):
        if isinstance(row, Reject):
            broken.add(row.detail)
            yield row
            continue
        name, text = row["Dialog_ID"].strip(), _without_comma_token(row["Text"])
        label = label_of(row["Label"]) if annotated else None
        faults = {
            "no_id": not name,
            "no_text": not text,
            "unknown_actor": row["Actor"] not in ("none", "speaker", "listener"),
            "unknown_label": annotated and label is None,
        }
        if reasons := [reason for reason, bad in faults.items() if bad]:
            broken.add(name)
            yield Reject(path.name, line, reasons[0], f"{name}: {row['Actor']}, {row.get('Label', '')}")
            continue
        entry = conversations.setdefault(
            name, {"dialogue_id": name, "emotion": label_of(path.stem), "situation": None, "turns": []}
        )
        if row["Actor"] == "none":
            entry["situation"] = text
        else:
            entry["turns"].append({"text": text, "speaker": row["Actor"], "label": label})
    for name, entry in conversations.items():
        if name in broken or not entry["turns"]:
            why = "one of its rows is rejected" if name in broken else "it has only the situation"
            yield Reject(path.name, None, "no_text", f"{name}: {why}")
        else:
            yield entry


def read_splits(path: Path) -> Iterator[Row | Reject]:
    """Yield the conversations of `train.csv`, `valid.csv` or `test.csv` of EmpatheticDialogues as Rashkin et al.
    released it.

    "_comma_" stands for a comma, quotes have no meaning, and the ninth value, response candidates without a column
    name, is ignored. The person who begins is the speaker. Turns are ordered by number, from 1; a conversation with a
    missing turn or a rejected row is rejected.
    """
    conversations: dict[str, dict[int, dict[str, str]]] = {}
    broken: dict[str, str] = {}
    for line, row in read_csv(
        path, ("conv_id", "utterance_idx", "context", "prompt", "speaker_idx", "utterance"), plain=True
    ):
        if isinstance(row, Reject):
            broken[row.detail] = "one of its rows is rejected"
            yield row
            continue
        name, number = row["conv_id"].strip(), row["utterance_idx"].strip()
        faults = {
            "no_id": not name,
            "no_text": not row["utterance"].strip(),
            "unknown_label": label_of(row["context"]) is None,
            "missing_turn": not number.isdecimal() or len(number) > 9,
        }
        if reasons := [reason for reason, bad in faults.items() if bad]:
            broken[name] = "one of its rows is rejected"
            yield Reject(path.name, line, reasons[0], f"{name}: {number}, {row['context']}")
        elif conversations.setdefault(name, {}).setdefault(int(number), row) is not row:
            broken[name] = f"it has two turns {number}"
    for name, turns in conversations.items():
        yield _conversation(path.name, name, [turns[number] for number in sorted(turns)], broken.get(name, ""))


def _conversation(file: str, name: str, turns: Sequence[Mapping[str, str]], fault: str) -> Row | Reject:
    numbers = [int(turn["utterance_idx"]) for turn in turns]
    if not fault and numbers != list(range(1, len(turns) + 1)):
        fault = f"it has the turns {', '.join(map(str, numbers))}"
    if fault:
        return Reject(file, None, "missing_turn", f"{name}: {fault}")
    speakers = list(dict.fromkeys(turn["speaker_idx"] for turn in turns))
    if len(speakers) > 2:
        return Reject(file, None, "unknown_actor", f"{name}: {len(speakers)} speakers")
    return {
        "dialogue_id": name,
        "emotion": label_of(turns[0]["context"]),
        "situation": _without_comma_token(turns[0]["prompt"]) or None,
        "turns": [_said(turn, speakers[0]) for turn in turns],
    }


def _said(turn: Mapping[str, str], speaker: str) -> Row:
    who = "speaker" if turn["speaker_idx"] == speaker else "listener"
    return {"text": _without_comma_token(turn["utterance"]), "speaker": who, "label": None}


def _without_comma_token(text: str) -> str:
    return " ".join(text.replace("_comma_", ",").split())


def read_weak_labeler(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the texts of `train.txt` or `valid.txt`, lines `id <SEP> text`, with the ids of their labels, 0 to 40.

    Neutral is 38 in the labels.txt beside them, but 40 in these files, as in `LABELS`.

    Raises:
        ValueError: A line has another form.
    """
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        match = re.fullmatch(r"(\d{1,9}) <SEP> (.*)", line)
        if match is None or int(match[1]) >= len(LABELS):
            raise ValueError(
                f"{path}, line {number}: expected 'id <SEP> text' with an id from 0 to {len(LABELS) - 1}, got "
                f"{line[:60]!r}"
            )
        yield match[2].strip(), int(match[1])
