"""The turns that a judge reads: which are drawn, what models say of them, and the sheet that does not say who."""

import json
import random
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from edos_dataset.crowd.splits import plain_text
from edos_dataset.encoders.encoder import limit_threads
from edos_dataset.labeling.models.labelers import check_labeler, load_labeler
from edos_dataset.labels import LABELS
from edos_dataset.releases.dialogues import read_config
from edos_dataset.releases.labelled_sets.sources import SOURCES
from edos_dataset.releases.raw import Reject
from edos_dataset.runs.foreign import json_of
from edos_dataset.runs.shards import write_text
from evaluation.judged_records import KINDS, Answer, Judged
from training.examples import report as say
from training.labels.copies import near_copies
from training.labels.readings import READINGS, digest_of

HISTORY = 6
"""Earlier turns that the sheet shows."""

ACTED = ("meld", "emorynlp")
"""Labelled sets of whole scenes: a run may hold the same ones, cut into other turns."""

TAUGHT = (*ACTED, "xed")
"""Labelled sets made of films."""

SHORT = 3
"""Words of a turn that is nobody's own."""

_HEADER = """\
# Read every turn (>) with the turns before it, and write a line for each into a file of yours:
#
#   NUMBER OWN | LABEL VERDICT | LABEL VERDICT | ...
#
# OWN: the one label that you would give. Then every candidate, and whether a careful reader would let it stand as the
# label of this turn in this dialogue: "yes", or why not, of several reasons the first that fits:
"""


def read_pools(run: Path, pools: Mapping[str, str]) -> dict[str, list[dict[str, Any]]]:
    """Return the dialogues of the config "os" of a run by pool, sorted by id.

    Args:
        run: folder that `edos curate` wrote.
        pools: name → pattern of the document ids, lower-cased, as of a shell; the first that fits counts.

    Raises:
        ValueError: the run has none, or a pool has none.
    """
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in pools}
    for table in read_config(run, "os", 100_000):
        known = [name for name in ("dialogue_id", "document_id", "turns", "certainty") if name in table.column_names]
        for row in table.select(known).to_pylist():
            document = row["document_id"].lower()
            name = next((name for name, pattern in pools.items() if fnmatchcase(document, pattern.lower())), None)
            if name is not None:
                found[name].append(row)
    if empty := [name for name, rows in found.items() if not rows]:
        raise ValueError(f"{run} has no dialogue for the pool {empty[0]!r}: no document is like {pools[empty[0]]!r}")
    return {name: sorted(rows, key=lambda row: row["dialogue_id"]) for name, rows in found.items()}


def taught_texts(data_dir: Path) -> dict[str, list[str]]:
    """Return the texts of the sets of TAUGHT, all their parts, by set.

    Raises:
        ValueError: a set is not there.
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
    """Return the turns of each dialogue (from 0) that models with labels of ours and of TAUGHT have not learned from.

    Out are turns that were read for training, near-copies of taught turns, and all of a dialogue that has two turns in
    common with a scene of ACTED, for there the short turns are the same ones, too. Otherwise turns of up to SHORT words
    stay, whoever learned from "What?": without them these would be no turns of films.
    """
    read = {turn["digest"] for turns in pq.read_table(READINGS)["turns"].to_pylist() for turn in turns}
    texts = [turn["text"] for row in dialogues for turn in row["turns"]]
    acted = [text for name in ACTED for text in taught[name]]
    shared = near_copies(texts, [], cut=acted).tolist()
    copies = near_copies(texts, [text for own in taught.values() for text in own], SHORT).tolist()
    known = [digest_of(text) in read and len(plain_text(text).split()) > SHORT for text in texts]
    kept, at = [], 0
    for row in dialogues:
        end = at + len(row["turns"])
        new = [turn - at for turn in range(at, end) if not (shared[turn] or copies[turn] or known[turn])]
        kept.append(new if sum(shared[at:end]) < 2 else [])
        at = end
    return kept


def draw(
    pools: Mapping[str, Sequence[Mapping[str, Any]]], taught: Mapping[str, Sequence[str]], turns: int, seed: int
) -> list[tuple[str, Mapping[str, Any], int]]:
    """Draw so many turns of each pool; return pool, dialogue and turn (from 0) of each, shuffled.

    Raises:
        ValueError: a pool has fewer.
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
    """Return what models say of all turns of dialogues: model → dialogue → answers.

    Args:
        models: NAME=MODEL, which labels now, or NAME, whose answers are in the file.
        dialogues: as of a run.
        file: JSON, gets the answers of those that label now, beside the others'.

    Raises:
        ValueError: a model is none, or the file lacks answers.
    """
    content: dict[str, Any] = json_of(file.read_bytes()) if file.exists() else {}
    texts = {row["dialogue_id"]: [turn["text"] for turn in row["turns"]] for row in dialogues}
    for name, _, model in (each.partition("=") for each in models):
        if model:
            content[name] = _label(model, texts)
            write_text(file, json.dumps(content, sort_keys=True) + "\n")
    names = [each.partition("=")[0] for each in models]
    for name in names:
        there = content.get(name, {"dialogues": {}})["dialogues"]
        lacking = [key for key, turns in texts.items() if len(there.get(key, ())) != len(turns)]
        if lacking:
            raise ValueError(f"{file} has no answers of {name!r} to {lacking[0]}: give {name}=MODEL to label now")
    return {name: {key: [Answer(*each) for each in content[name]["dialogues"][key]] for key in texts} for name in names}


def _label(model: str, texts: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the identity of a model and its label and confidence of every turn."""
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
    """Return the drawn turns, with the labels that any model gave, shuffled so that their order tells nothing."""
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
    """Return what the judge sees: turns with their history, and the candidates."""
    lines = [_HEADER, *(f"#   {kind}: {told}\n" for kind, told in KINDS.items())]
    for record, (_, row, turn) in zip(records, drawn, strict=True):
        *history, last = [each["text"] for each in row["turns"][max(0, turn - HISTORY) : turn + 1]]
        lines += [f"\n## {record.number}\n", *(f"  {text}\n" for text in history), f"> {last}\n"]
        lines.append(f"candidates: {' | '.join(record.candidates)}\n")
    return "".join(lines)
