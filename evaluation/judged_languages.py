"""Labels of turns in other languages than English, beside those of a reader who has seen no answer.

    edos books DATA/gutenberg/de --language de --no-labels --out build/books_de
    python evaluation/judged_languages.py sample --language de --books build/books_de --turns 100 \
        --sentences models/multilingual/held_out.jsonl --of-sentences 20 --answers build/answers.json --out build/read
    # a reader reads build/read/sheet.txt, and nothing else, and writes verdicts.txt
    python evaluation/judged_languages.py tally --key build/read/key.jsonl --verdicts verdicts.txt
    python evaluation/judged_languages.py reasons --language de --given reasons.txt
    python evaluation/judged_languages.py weigh --language de --books build/books_de --priors films

`sample` draws turns as evenly from the books as possible, and single sentences of subtitles that the training held out
(`train_multilingual.py`), and writes the sheet: each turn with its history, and no label at all. The reader names the
label that they would give, then every other one that a careful reader would let stand. `tally` adds these to
`judged_languages.jsonl`, which contains no text, replacing those of the same language, and writes the figures to
`judged_languages.json`. With the answers in sight, `reasons` then adds why each one that the reader did not name is
wrong; `stands` where it would have been let stand if it had been shown, which is counted apart. `weigh` labels the
judged turns of books once more, with priors, and adds how many of these labels are among the reader's.
"""

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from edos_dataset.labeling.models.labelers import load_labeler
from edos_dataset.labeling.priors import NAMED, priors_of
from edos_dataset.labels import LABELS, NEUTRAL, parse_label
from edos_dataset.runs.folder import config_files
from edos_dataset.runs.shards import write_text
from edos_dataset.runs.untrusted import json_of
from edos_dataset.schema import books_config
from evaluation.judged_turns import HISTORY, Answer, answers_of
from evaluation.judged_turns import KINDS as WRONG
from evaluation.multilingual import read_held_out
from evaluation.readings import Reading, Sample, jsonl_of, numbered, share_by_pool, share_of
from training.labels.readings import digest_of

STANDS = "stands"
KINDS = {STANDS: "a careful reader would let it stand, once it is shown", **WRONG}
"""Why an answer is not among the reader's labels."""

BOOKS, SENTENCES = "books", "subtitles"
MODEL = "multilingual"

_INSTRUCTIONS = """\
# Read every turn (>) with the turns before it, and write a line for each into a file of yours: NUMBER OWN LABEL ...
# OWN: the one label that you would give; then every other one that a careful reader would let stand.
"""

Drawn = tuple[str, Mapping[str, Any], int]
"""Pool, dialogue and turn (from 0)."""


@dataclass(frozen=True)
class Judged:
    """A drawn turn, without its text.

    Attributes:
        number: number on the sheet.
        language: language code.
        pool: BOOKS or SENTENCES.
        document: id of its book, "" of a sentence.
        dialogue_id: its dialogue's id in the run; its digest for a sentence.
        turn: index of the turn in the dialogue, from 1.
        digest: the first 8 hex digits of the SHA-256 of its text.
        source: the model, as its card names its weights.
        answer: the model's label and its probability.
        labels: what the reader would give, then what else may stand; empty if not yet judged.
        reason: one of KINDS for an answer that is not among the labels, "" if it is, or if nobody has said.
    """

    number: int
    language: str
    pool: str
    document: str
    dialogue_id: str
    turn: int
    digest: str
    source: str
    answer: Answer
    labels: list[str] = field(default_factory=list)
    reason: str = ""


def rows_of(run: Path, language: str) -> list[dict[str, Any]]:
    """Return the dialogues that a run of `edos books` wrote in a language, by their ids; none if there are none."""
    paths = [path for split in config_files(run, books_config(language)).values() for path in split]
    rows = [row for path in paths for row in pq.read_table(path).to_pylist()]
    return sorted(rows, key=lambda row: str(row["dialogue_id"]))


def of_books(run: Path, language: str, number: int, source: random.Random) -> list[Drawn]:
    """Draw turns of a run of `edos books` as evenly from its books as possible.

    Raises:
        ValueError: there are too few.
    """
    turns: dict[str, list[Drawn]] = {}
    for row in rows_of(run, language):
        turns.setdefault(row["document_id"], []).extend((BOOKS, row, at) for at in range(len(row["turns"])))
    orders = [source.sample(of, len(of)) for _, of in sorted(turns.items())]
    drawn = [of[place] for place in range(max(map(len, orders), default=0)) for of in orders if place < len(of)]
    return _first(drawn, number, run)


def of_sentences(file: Path, language: str, number: int, source: random.Random) -> list[Drawn]:
    """Draw sentences that a training held out, each a dialogue of one turn.

    Raises:
        ValueError: there are too few.
    """
    texts = sorted({each["text"] for each in read_held_out(file.parent).get(language, [])})
    rows = [
        {"dialogue_id": f"{digest_of(text):08x}", "document_id": "", "turns": [{"text": text}]}
        for text in source.sample(texts, len(texts))
    ]
    return _first([(SENTENCES, row, 0) for row in rows], number, file)


def _first(drawn: list[Drawn], number: int, where: Path) -> list[Drawn]:
    if len(drawn) < number:
        raise ValueError(f"{where} has {len(drawn)} turns to draw {number} from: ask for fewer")
    return drawn[:number]


def sample(arguments: argparse.Namespace) -> Sample[Judged]:
    """Draw turns and label their dialogues."""
    source, language = random.Random(arguments.seed), arguments.language
    drawn = of_books(arguments.books, language, arguments.turns, source)
    if arguments.sentences:
        drawn += of_sentences(arguments.sentences, language, arguments.of_sentences, source)
    source.shuffle(drawn)
    dialogues = list({row["dialogue_id"]: row for _, row, _ in drawn}.values())
    answers = answers_of([f"{MODEL}={arguments.model}"], dialogues, arguments.answers)[MODEL]
    identity = json_of(arguments.answers.read_bytes())[MODEL]["identity"]
    records = [
        Judged(
            number,
            language,
            pool,
            row["document_id"],
            row["dialogue_id"],
            turn + 1,
            f"{digest_of(row['turns'][turn]['text']):08x}",
            identity[:-8],
            answers[row["dialogue_id"]][turn],
        )
        for number, (pool, row, turn) in enumerate(drawn, 1)
    ]
    return Sample(records, sheet_of(drawn), f"{len(records)} turns")


def sheet_of(drawn: Sequence[Drawn]) -> str:
    """Return the text of the sheet: turns with their history, without labels and sources."""
    lines = [f"{_INSTRUCTIONS}# {', '.join(LABELS)}\n"]
    for number, (_, row, turn) in enumerate(drawn, 1):
        *history, last = [each["text"] for each in row["turns"][max(0, turn - HISTORY) : turn + 1]]
        lines += [f"\n## {number}\n", *(f"  {text}\n" for text in history), f"> {last}\n"]
    return "".join(lines)


def judge(drawn: Mapping[int, Judged], line: str) -> Judged:
    """Return the turn of a line "NUMBER OWN LABEL ..." with the reader's labels.

    Raises:
        ValueError: the line is malformed.
    """
    record, rest = numbered(drawn, line, "turn", "NUMBER OWN LABEL ...")
    labels = [LABELS[parse_label(name)] for name in rest.split()]
    return replace(record, labels=list(dict.fromkeys(labels)))


def keep(old: Sequence[Judged], new: Sequence[Judged]) -> list[Judged]:
    """Return the old records of other languages, and all new ones."""
    read = {record.language for record in new}
    return [*(record for record in old if record.language not in read), *new]


def tally(records: Sequence[Judged]) -> dict[str, Any]:
    """Return the figures by language.

    Returns:
        `source`, the model; fractions with 95 % intervals (bootstrap over dialogues): `acceptable`, the answer is among
        the reader's labels, of all turns and by pool; `as_own`, it is the first of them; `of_neutral` and `of_others`,
        of the turns that were answered with neutral and with another label; `stands`, acceptable or let stand once it
        was shown. The same for one label for every turn: `neutral`, and the `most_frequent` first one of the reader's.
        And `reasons`, and how often the reader and the model gave each label.
    """
    languages = sorted({record.language for record in records})
    return {code: _figures([record for record in records if record.language == code]) for code in languages}


def _figures(records: Sequence[Judged]) -> dict[str, Any]:
    own = Counter(record.labels[0] for record in records)
    answers = [record.answer.label for record in records]
    names = np.array(answers)
    dialogues, pools = np.array([record.dialogue_id for record in records]), [record.pool for record in records]
    right = np.array([label in record.labels for label, record in zip(answers, records, strict=True)])
    most = min(own, key=lambda label: (-own[label], label))
    constant = {"neutral": NEUTRAL, "most_frequent": most}
    return {
        "source": records[0].source,
        "turns": len(records),
        **_shares(records, answers),
        "pools": share_by_pool(right, dialogues, pools, "turns"),
        "of_neutral": share_of(right, dialogues, names == NEUTRAL, "turns"),
        "of_others": share_of(right, dialogues, names != NEUTRAL, "turns"),
        "stands": share_of(
            right | np.array([record.reason == STANDS for record in records]), dialogues, names != "", "turns"
        ),
        "always": {
            name: {"label": label, **_shares(records, [label] * len(records))} for name, label in constant.items()
        },
        "reasons": dict(Counter(record.reason for record in records if record.reason).most_common()),
        "own": dict(own.most_common()),
        "answers": dict(Counter(answers).most_common()),
    }


def _shares(records: Sequence[Judged], answers: Sequence[str]) -> dict[str, Any]:
    """Return how many answers are acceptable, and are the reader's own."""
    dialogues, everywhere = np.array([record.dialogue_id for record in records]), np.ones(len(records), bool)
    pairs = list(zip(answers, records, strict=True))
    return {
        "acceptable": share_of(np.array([a in each.labels for a, each in pairs]), dialogues, everywhere, "turns"),
        "as_own": share_of(np.array([a == each.labels[0] for a, each in pairs]), dialogues, everywhere, "turns"),
    }


def with_reason(records: Mapping[int, Judged], line: str) -> Judged:
    """Return the turn of a line "NUMBER REASON" with the reason.

    Args:
        records: the turns whose answers the reader did not name.
        line: the reader's.

    Raises:
        ValueError: the line is malformed.
    """
    record, reason = numbered(records, line, "turn", "NUMBER REASON")
    if reason not in KINDS:
        raise ValueError(f"turn {record.number}: {reason!r} is no reason; there are {', '.join(KINDS)}")
    return replace(record, reason=reason)


def reasons(arguments: argparse.Namespace) -> None:
    """Add reasons to the judged turns of a language, and count."""
    records = READING.read(arguments.judged)
    wrong = [
        record
        for record in records
        if record.language == arguments.language and record.answer.label not in record.labels
    ]
    given = replace(READING, judge=with_reason).with_verdicts(wrong, [arguments.given])
    by_number = {record.number: record for record in given}
    there = [
        by_number.get(record.number, record) if record.language == arguments.language else record for record in records
    ]
    write_text(arguments.judged, jsonl_of(there))
    write_text(arguments.judged.with_suffix(".json"), json.dumps(tally(there), indent=1) + "\n")


def weigh(arguments: argparse.Namespace) -> None:
    """Add the figures of a language's turns of books with priors to the figures.

    Raises:
        ValueError: the run lacks one of the judged turns.
    """
    records = [
        record
        for record in READING.read(arguments.judged)
        if record.language == arguments.language and record.pool == BOOKS
    ]
    texts: dict[str, list[str]] = {}
    for row in rows_of(arguments.books, arguments.language):
        turns = [turn["text"] for turn in row["turns"]]
        for at, text in enumerate(turns, 1):
            texts.setdefault(f"{digest_of(text):08x}", turns[:at])
    if lacking := [record for record in records if record.digest not in texts]:
        raise ValueError(f"{arguments.books} lacks {len(lacking)} of {len(records)} judged turns: run the same books")
    labeler = load_labeler(MODEL)
    dialogues = [texts[record.digest] for record in records]
    plain = labeler.predict_proba(dialogues)[np.cumsum([len(each) for each in dialogues]) - 1]
    rows = {"as it is": plain, arguments.priors: priors_of(labeler, arguments.priors)(plain)}
    figures = json_of(arguments.judged.with_suffix(".json").read_bytes())
    figures[arguments.language]["books"] = {
        name: {
            "turns": len(records),
            **_shares(records, answers := [LABELS[label] for label in found.argmax(axis=1)]),
            "neutral": round(answers.count(NEUTRAL) / len(answers), 4),
        }
        for name, found in rows.items()
    }
    write_text(arguments.judged.with_suffix(".json"), json.dumps(figures, indent=1) + "\n")


def _record_of(row: dict[str, Any]) -> Judged:
    return Judged(**row | {"answer": Answer(*row["answer"])})


def _add_options(step: argparse.ArgumentParser) -> None:
    step.add_argument("--language", required=True, help="code: de")
    step.add_argument("--books", type=Path, required=True, help="folder that `edos books` wrote")
    step.add_argument("--turns", type=int, default=100, help="number of turns of books (default: 100)")
    step.add_argument("--sentences", type=Path, help="held_out.jsonl of a training")
    step.add_argument("--of-sentences", type=int, default=20, help="number of sentences of it (default: 20)")
    step.add_argument("--model", default=MODEL)
    step.add_argument("--answers", type=Path, required=True, help="file in which the model's answers are stored")
    step.add_argument("--seed", type=int, default=49)


def _add_steps(steps: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    step = steps.add_parser("reasons", help="add why answers are wrong")
    step.set_defaults(step=reasons)
    step.add_argument("--language", required=True)
    step.add_argument("--given", type=Path, required=True, help="a line for each answer that the reader did not name")
    step.add_argument("--judged", type=Path, default=READING.judged)
    step = steps.add_parser("weigh", help="label the judged turns of books with priors")
    step.set_defaults(step=weigh)
    step.add_argument("--language", required=True)
    step.add_argument("--books", type=Path, required=True, help="folder that `edos books` wrote")
    step.add_argument("--priors", default="films", choices=NAMED)
    step.add_argument("--judged", type=Path, default=READING.judged)


READING = Reading(
    __doc__,
    Path(__file__).with_suffix(".jsonl"),
    "turn",
    record_of=_record_of,
    judge=judge,
    tally=tally,
    show=lambda figures: json.dump(figures, sys.stdout, indent=1),
    add_options=_add_options,
    sample=sample,
    keep=keep,
    add_steps=_add_steps,
)

if __name__ == "__main__":
    READING.main()
