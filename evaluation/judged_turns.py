"""Labels of turns of unseen films, judged blind by a reader: how many would a careful reader accept?

    edos curate FILMS --no-labels --out build/run
    python evaluation/judged_turns.py sample --run build/run --pools "frasier=films/frasier/subtitles/0[67]/*" \
        --models old=linear-dialogue fast --answers build/answers.json --turns 75 --out build/judge
    # a judge reads build/judge/sheet.txt, and nothing else, and writes verdicts.txt
    python evaluation/judged_turns.py tally --key build/judge/key.jsonl --verdicts verdicts.txt
    python evaluation/judged_turns.py texts --data-dir "$EDOS_DATA_DIR" --out build/judged.jsonl

`sample` draws turns of dialogues on which no model was trained, labels their dialogues, and writes the sheet: each turn
with its history and all labels that any model predicted, shuffled; the key states which model predicted which. `tally`
adds the verdicts to the key, writes both to `judged_turns.jsonl`, which contains no text, and the figures of each model
to `judged_turns.json`; without `--key` it counts the existing file again. `texts` restores the texts from your own
files next to the judge's labels, for `evaluation/domain.py --labelled`.
"""

import argparse
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from edos_dataset.arrays import Bools, Floats
from edos_dataset.crowd.splits import plain_text
from edos_dataset.encoders.encoder import limit_threads
from edos_dataset.labeling.models.labelers import check_labeler, load_labeler
from edos_dataset.labels import EMOTIONS, GROUPS, INTENTS, LABEL_IDS, LABELS, NEUTRAL, parse_label
from edos_dataset.releases.labelled_sets.readers import SOURCES
from edos_dataset.releases.raw import Reject
from edos_dataset.runs.shards import write_text
from edos_dataset.runs.untrusted import json_of
from edos_dataset.text import shown
from evaluation.readings import (
    Reading,
    Sample,
    add_data_dir,
    add_run,
    bands_of,
    data_dir_of,
    header_of,
    numbered,
    read_pools,
    share_by_pool,
    share_of,
    show_share,
)
from training.examples import report as say
from training.labels.readings import READINGS, digest_of, read_readings
from training.near_copies import near_copies

YES = "yes"
KINDS = {
    "anger_missed": "the speaker is annoyed, angry or furious, and the label says nothing of it",
    "keyword": "a word of the turn decides, not what is meant (“sorry” → sympathizing)",
    "opener_or_rhetorical_questioning": "questioning, of an opener or a question to which nobody wants an answer",
    "topic_not_speaker": "fits what is talked about, not what the speaker feels",
    "emotion_in_plain_fact": "an emotion for a turn that shows none",
    "neutral_where_emotion": "neutral, though an emotion is plain",
    "wrong_intent": "an intent that is not the speaker's",
    "two_speakers_in_turn": "fits the other one of two speakers whom the turn holds",
    "other": "wrong in another way, such as an emotion for another one",
}
"""Reasons why a label is wrong; the first that applies is given."""


class Answer(NamedTuple):
    """A model's prediction for a turn: its label, and the label's probability."""

    label: str
    confidence: float


@dataclass(frozen=True)
class Judged:
    """A drawn turn, without its text.

    Attributes:
        number: number on the sheet.
        pool: the pool from which it was drawn.
        file: file of its film, below the folder that the run read.
        dialogue_id: its dialogue's id in the run.
        turn: index of the turn in the dialogue, from 1.
        sentence_ids: sentence ids of every turn up to this one, as in `edos segment`.
        digest: the first 8 hex digits of the SHA-256 of its text.
        answers: model → its prediction.
        own: the judge's own label, "" if not yet judged.
        candidates: label → YES or one of KINDS, "" if not yet judged; in the order of the sheet.
    """

    number: int
    pool: str
    file: str
    dialogue_id: str
    turn: int
    sentence_ids: list[list[int]]
    digest: str
    answers: dict[str, Answer]
    own: str = ""
    candidates: dict[str, str] = field(default_factory=dict)


BANDS = (0.0, 0.2, 0.4, 0.6, 0.8)
"""Lower ends of the bands of confidence; the last band ends at 1."""

_PARTS = {"emotions": EMOTIONS, "intents": INTENTS, NEUTRAL: (NEUTRAL,)}
_GROUP_OF = {label: group for group, labels in GROUPS.items() for label in labels}


HISTORY = 6
"""Number of earlier turns on the sheet."""

ACTED = ("meld", "emorynlp")
"""Labelled sets of whole scenes; a run may contain the same scenes, segmented into other turns."""

TAUGHT = (*ACTED, "xed")
"""Labelled sets made from films."""

SHORT = 3
"""Maximum number of words of a turn that anybody may say."""

_INSTRUCTIONS = """\
# Read every turn (>) with the turns before it, and write a line for each into a file of yours:
#
#   NUMBER OWN | LABEL VERDICT | LABEL VERDICT | ...
#
# OWN: the one label that you would give. Then every candidate, and whether a careful reader would let it stand as the
# label of this turn in this dialogue: "yes", or why not, of several reasons the first that fits:
"""


def taught_texts(data_dir: Path) -> dict[str, list[str]]:
    """Return the texts of the sets in TAUGHT, all their splits, by set.

    Raises:
        ValueError: a set is missing.
    """
    texts: dict[str, list[str]] = {}
    for name in TAUGHT:
        files = [data_dir / file for part in SOURCES[name].files.values() for file in part]
        read = [each for file in files if file.is_file() for each in SOURCES[name].read(file)]
        texts[name] = [text for each in read if not isinstance(each, Reject) for text in each.turns]
        if not texts[name]:
            raise ValueError(f"{data_dir} has nothing of {name}, so nobody knows what models learned from: {files[0]}")
    return texts


def unseen(dialogues: Sequence[Mapping[str, Any]], taught: Mapping[str, Sequence[str]]) -> list[list[int]]:
    """Return the turns of each dialogue (from 0) that models trained on our labels and on TAUGHT have not seen.

    Left out are turns that were labelled by reading for training, near-duplicates of turns in TAUGHT, and all turns of
    a dialogue that shares two turns with a scene of ACTED, since its short turns are the same too. Other turns of up to
    SHORT words are kept, even if a model was trained on "What?": without them the sample would not represent films.
    """
    texts = [turn["text"] for row in dialogues for turn in row["turns"]]
    shared = near_copies(texts, [], cut=[text for name in ACTED for text in taught[name]]).tolist()
    copies = near_copies(texts, [text for own in taught.values() for text in own], SHORT).tolist()
    read = _read_for_training(texts)
    learned = [any(each) for each in zip(shared, copies, read, strict=True)]
    kept, at = [], 0
    for row in dialogues:
        turns = range(len(row["turns"]))
        in_a_scene = sum(shared[at : at + len(turns)]) >= 2
        kept.append([] if in_a_scene else [turn for turn in turns if not learned[at + turn]])
        at += len(turns)
    return kept


def _read_for_training(texts: Sequence[str]) -> list[bool]:
    read = {turn["digest"] for turns in pq.read_table(READINGS)["turns"].to_pylist() for turn in turns}
    return [digest_of(text) in read and len(plain_text(text).split()) > SHORT for text in texts]


def draw(
    pools: Mapping[str, Sequence[Mapping[str, Any]]], taught: Mapping[str, Sequence[str]], turns: int, seed: int
) -> list[tuple[str, Mapping[str, Any], int]]:
    """Draw a number of turns from each pool; return pool, dialogue and turn (from 0) of each, shuffled.

    Raises:
        ValueError: a pool has too few.
    """
    drawn = []
    for pool, dialogues in pools.items():
        new = unseen(dialogues, taught)
        there = [(pool, row, turn) for row, own in zip(dialogues, new, strict=True) for turn in own]
        say(f"{pool}: {len(there)} of {sum(len(row['turns']) for row in dialogues)} turns may be drawn")
        if len(there) < turns:
            raise ValueError(f"the pool {pool!r} has {len(there)} turns that nobody learned from, fewer than {turns}")
        drawn += random.Random(f"{seed} {pool}").sample(there, turns)
    random.Random(seed).shuffle(drawn)
    return drawn


def answers_of(
    models: Sequence[str], dialogues: Sequence[Mapping[str, Any]], file: Path
) -> dict[str, dict[str, list[Answer]]]:
    """Return the predictions of models for all turns of dialogues: model → dialogue → predictions.

    Args:
        models: NAME=MODEL to label now, or NAME to use the predictions in the file.
        dialogues: dialogues of a run.
        file: JSON in which the predictions of models that label now are stored, beside the others.

    Raises:
        ValueError: a model cannot be loaded, or the file lacks predictions.
    """
    content: dict[str, Any] = json_of(file.read_bytes()) if file.exists() else {}
    texts = {row["dialogue_id"]: [turn["text"] for turn in row["turns"]] for row in dialogues}
    for name, _, model in (each.partition("=") for each in models):
        if model:
            content[name] = _label(model, texts)
            write_text(file, json.dumps(content, sort_keys=True) + "\n")
    names = [each.partition("=")[0] for each in models]
    return {name: _kept_answers(content, name, texts, file) for name in names}


def _kept_answers(
    content: Mapping[str, Any], name: str, texts: Mapping[str, Sequence[str]], file: Path
) -> dict[str, list[Answer]]:
    there = content.get(name, {"dialogues": {}})["dialogues"]
    lacking = [key for key, turns in texts.items() if len(there.get(key, ())) != len(turns)]
    if lacking:
        raise ValueError(f"{file} has no answers of {name!r} to {lacking[0]}: give {name}=MODEL to label now")
    return {key: [Answer(*each) for each in there[key]] for key in texts}


def _label(model: str, texts: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    with limit_threads(1):
        labeler = load_labeler(model)
        check_labeler(labeler)
        probabilities = labeler.predict_proba(list(texts.values()))
    ids, sure = probabilities.argmax(axis=1).tolist(), probabilities.max(axis=1).astype(float).round(4).tolist()
    answers = iter([[LABELS[label], share] for label, share in zip(ids, sure, strict=True)])
    dialogues = {key: [next(answers) for _ in turns] for key, turns in texts.items()}
    return {"identity": labeler.identity, "dialogues": dialogues}


def records_of(
    drawn: Sequence[tuple[str, Mapping[str, Any], int]],
    answers: Mapping[str, Mapping[str, Sequence[Answer]]],
    seed: int,
) -> list[Judged]:
    """Return the drawn turns with all labels that any model predicted, shuffled so that the order reveals nothing."""
    records = []
    for number, (pool, row, turn) in enumerate(drawn, 1):
        given = {model: own[row["dialogue_id"]][turn] for model, own in answers.items()}
        candidates = sorted({answer.label for answer in given.values()})
        random.Random(f"{seed} {number}").shuffle(candidates)
        upto = row["turns"][: turn + 1]
        records.append(
            Judged(
                number,
                pool,
                row["document_id"].partition("/")[2],
                row["dialogue_id"],
                turn + 1,
                [each["sentence_ids"] for each in upto],
                f"{digest_of(upto[-1]['text']):08x}",
                given,
                candidates=dict.fromkeys(candidates, ""),
            )
        )
    return records


def sheet_of(records: Sequence[Judged], drawn: Sequence[tuple[str, Mapping[str, Any], int]]) -> str:
    """Return the text of the sheet: turns with their history, and the candidate labels."""
    lines = [header_of(_INSTRUCTIONS, KINDS)]
    for record, (_, row, turn) in zip(records, drawn, strict=True):
        *history, last = [each["text"] for each in row["turns"][max(0, turn - HISTORY) : turn + 1]]
        lines += [f"\n## {record.number}\n", *(f"  {text}\n" for text in history), f"> {last}\n"]
        lines.append(f"candidates: {' | '.join(record.candidates)}\n")
    return "".join(lines)


def show_pools(records: Sequence[Judged]) -> str:
    """Return a line with the numbers of turns and dialogues in each pool."""
    pools = ", ".join(f"{count} of {pool}" for pool, count in Counter(record.pool for record in records).items())
    return f"{len(records)} turns of {len({record.dialogue_id for record in records})} dialogues: {pools}"


def sample(arguments: argparse.Namespace) -> Sample[Judged]:
    """Draw turns from a run and label their dialogues."""
    taught = taught_texts(data_dir_of(arguments))
    drawn = draw(read_pools(arguments.run, dict(arguments.pools)), taught, arguments.turns, arguments.seed)
    dialogues = {row["dialogue_id"]: row for _, row, _ in drawn}
    answers = answers_of(arguments.models, list(dialogues.values()), arguments.answers)
    records = records_of(drawn, answers, arguments.seed)
    return Sample(records, sheet_of(records, drawn), show_pools(records))


def judge(drawn: Mapping[int, Judged], line: str) -> Judged:
    """Return the turn of a line "NUMBER OWN | LABEL VERDICT | ..." with the judge's label and verdicts.

    Raises:
        ValueError: the line is malformed.
    """
    form = "NUMBER OWN | LABEL VERDICT | ..."
    record, rest = numbered(drawn, line, "turn", form)
    first, *given = [each.split() for each in rest.split("|")]
    if len(first) != 1 or any(len(each) != 2 for each in given):
        raise ValueError(f"expected {form}, got {shown(line)}")
    verdicts = {label: verdict for label, verdict in given}
    _check_verdicts(record, verdicts, len(given))
    own = LABELS[parse_label(first[0])]
    if verdicts.get(own, YES) != YES:
        raise ValueError(f"turn {record.number}: {own!r} is the judge's own label, and wrong: {verdicts[own]!r}")
    return replace(record, own=own, candidates={label: verdicts[label] for label in record.candidates})


def _check_verdicts(record: Judged, verdicts: Mapping[str, str], given: int) -> None:
    if verdicts.keys() != record.candidates.keys() or given != len(verdicts):
        raise ValueError(
            f"turn {record.number} has the candidates {', '.join(record.candidates)}; give each a verdict, once"
        )
    if strange := [verdict for verdict in verdicts.values() if verdict not in (YES, *KINDS)]:
        raise ValueError(f"turn {record.number}: {strange[0]!r} is no verdict; there are {', '.join((YES, *KINDS))}")


def tally(records: Sequence[Judged]) -> dict[str, Any]:
    """Return the figures of all models.

    Returns:
        `turns`, `dialogues`; `own`, the fraction of each label among the judge's; `models`, by name. For a model,
        fractions with 95 % intervals (bootstrap over dialogues): `acceptable`, of all turns and of those that it
        labelled with `emotions`, `intents` and `neutral`, of each of the `pools`, of the `sure` ones (confidence from
        0.8) and of the bands of `confidence`; `as_own`: its label is the judge's; `of_own_group`: of the turns of each
        group of the judge's labels, its label is in that group. And `errors` by kind, and the `labels` that it
        predicted.
    """
    models = list(records[0].answers)
    return {
        "turns": len(records),
        "dialogues": len({record.dialogue_id for record in records}),
        "own": _shares([record.own for record in records]),
        "models": {model: _figures(records, model) for model in models},
    }


def _figures(records: Sequence[Judged], model: str) -> dict[str, Any]:
    dialogues = np.array([record.dialogue_id for record in records])
    answers = [record.answers[model] for record in records]
    verdicts = [record.candidates[answer.label] for record, answer in zip(records, answers, strict=True)]
    labels, own = np.array([answer.label for answer in answers]), np.array([record.own for record in records])
    sure, fits = np.array([answer.confidence for answer in answers]), np.array(verdicts) == YES
    everywhere = np.ones(len(records), bool)

    def share(right: Bools, of: Bools = everywhere) -> dict[str, Any]:
        return share_of(right, dialogues, of, "turns")

    return {
        "acceptable": share(fits),
        **{part: share(fits, np.isin(labels, names)) for part, names in _PARTS.items()},
        "sure": {"from": BANDS[-1], **share(fits, sure >= BANDS[-1])},
        "confidence": [
            {"from": low, "mean": _mean(sure[band]), **share(fits, band)} for low, band in bands_of(sure, BANDS)
        ],
        "errors": dict(Counter(verdict for verdict in verdicts if verdict != YES).most_common()),
        "as_own": share(labels == own),
        "of_own_group": _by_group(labels, own, dialogues),
        "pools": share_by_pool(fits, dialogues, [record.pool for record in records], "turns"),
        "labels": _shares(labels.tolist()),
    }


def _mean(values: Floats) -> float | None:
    return round(float(values.mean()), 4) if len(values) else None


def _by_group(labels: np.ndarray, own: np.ndarray, dialogues: np.ndarray) -> dict[str, Any]:
    groups, theirs = (np.array([_GROUP_OF[label] for label in each.tolist()]) for each in (labels, own))
    shares = {group: share_of(groups == group, dialogues, theirs == group, "turns") for group in GROUPS}
    return {group: share for group, share in shares.items() if share["turns"]}


def _shares(labels: Sequence[str]) -> dict[str, float]:
    """Return the fraction of each label, the most frequent first, equal ones by name."""
    counts = sorted(Counter(labels).items(), key=lambda each: (-each[1], each[0]))
    return {label: round(count / len(labels), 4) for label, count in counts}


def show(figures: dict[str, Any]) -> None:
    """Print the figures as a table."""
    columns = ("acceptable", "emotions", "intents", "neutral", "sure")
    table = Table(title=f"acceptable labels: {figures['turns']} turns of {figures['dialogues']} dialogues")
    for name in ("model", *columns, "errors"):
        table.add_column(name)
    for model, own in figures["models"].items():
        errors = ", ".join(f"{kind} {number}" for kind, number in own["errors"].items())
        table.add_row(model, *(show_share(own[name], "turns") for name in columns), errors)
    Console(width=150, file=sys.stdout).print(table)


def texts(arguments: argparse.Namespace) -> None:
    """Write the dialogues with the judge's labels: their own label first, then the accepted candidates."""
    with tempfile.TemporaryDirectory() as folder:
        readings = Path(folder) / "judged.parquet"
        _write_readings(READING.read(arguments.judged), readings)
        dialogues, counts = read_readings(data_dir_of(arguments), readings)
    lines = []
    for each in dialogues:
        turns = [
            {"text": text} | ({"label": "|".join(names)} if names else {})
            for text, names in zip(each.turns, each.labels, strict=True)
        ]
        lines.append(json.dumps({"dialogue_id": each.dialogue_id, "turns": turns}, ensure_ascii=False) + "\n")
    write_text(arguments.out, "".join(lines))
    say(f"{arguments.out}: " + ", ".join(f"{number} {reason}" for reason, number in counts.items()))


def _write_readings(records: Sequence[Judged], path: Path) -> None:
    """Write judged turns in the form that `read_readings` reads: dialogues up to their last judged turn."""
    rows = []
    ordered = sorted(records, key=lambda record: (record.file, record.dialogue_id, record.turn))
    for (file, name), group in groupby(ordered, key=lambda record: (record.file, record.dialogue_id)):
        own = {record.turn: record for record in group}
        turns = []
        for number, ids in enumerate(own[max(own)].sentence_ids, 1):
            record = own.get(number)
            stand = [] if record is None else [label for label, verdict in record.candidates.items() if verdict == YES]
            names = dict.fromkeys([record.own, *stand]) if record else {}
            digest = int(record.digest, 16) if record else 0
            turns.append({"digest": digest, "labels": [LABEL_IDS[each] for each in names], "sentence_ids": ids})
        rows.append({"file": file, "dialogue_id": name, "turns": turns})
    pq.write_table(pa.Table.from_pylist(rows, pq.read_schema(READINGS)), path)


def _record_of(row: dict[str, Any]) -> Judged:
    answers = {model: Answer(*answer) for model, answer in row.pop("answers").items()}
    return Judged(**row, answers=answers)


def _add_options(step: argparse.ArgumentParser) -> None:
    add_run(step)
    step.add_argument("--turns", type=int, default=75, help="number of turns of each pool (default: 75)")
    step.add_argument("--seed", type=int, default=16)
    models = "labels now; for a NAME alone, --answers has its answers"
    step.add_argument("--models", nargs="+", required=True, metavar="NAME=MODEL", help=models)
    step.add_argument("--answers", type=Path, required=True, help="file in which the models' predictions are stored")
    add_data_dir(step)


def _add_steps(steps: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    step = steps.add_parser("texts", help="restore the texts")
    step.set_defaults(step=texts)
    step.add_argument("--judged", type=Path, default=READING.judged)
    step.add_argument("--out", type=Path, required=True, help="JSON lines for `domain.py --labelled`")
    add_data_dir(step)


READING = Reading(
    __doc__,
    Path(__file__).with_suffix(".jsonl"),
    "turn",
    record_of=_record_of,
    judge=judge,
    tally=tally,
    show=show,
    add_options=_add_options,
    sample=sample,
    add_steps=_add_steps,
)

if __name__ == "__main__":
    READING.main()
