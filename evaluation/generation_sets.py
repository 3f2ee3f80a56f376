"""The test sets of `generation.py`: held-out dialogues with the contexts to answer, and contexts that we wrote, whose
texts a report may show.
"""

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.labels import parse_label
from edos_dataset.runs.shards import write_text
from edos_dataset.runs.untrusted import read_yaml
from training.caches import key_of
from training.generator.corpus import CONVERSATIONS, read_source, with_labels, with_splits
from training.generator.recipe import GeneratorRecipe

INVENTED = "invented"
"""Name of the set of contexts that we wrote."""

CONTEXTS = Path(__file__).with_name("generation_contexts.yaml")


@dataclass(frozen=True)
class Context:
    """A history and its true answer.

    Attributes:
        document: what it belongs to, such as a film; answers in one document are not independent.
        turns: turns of the history, oldest first.
        labels: label ids of these turns.
        truth: the true answer.
        label: label id of the true answer.
    """

    document: str
    turns: list[str]
    labels: list[int]
    truth: str
    label: int


@dataclass(frozen=True)
class HeldOut:
    """A test set.

    Attributes:
        name: name of its source, or INVENTED.
        division: how the source was split; "" for INVENTED.
        dialogues: number of dialogues in the source.
        labels: origin of the labels.
        train: the training split (CONVERSATIONS, labels as given); empty for INVENTED.
        test: dialogues sampled from the test split, labelled; all answers in them count for the perplexity.
        contexts: the contexts to answer, one per dialogue.
    """

    name: str
    division: str
    dialogues: int
    labels: str
    train: pa.Table
    test: pa.Table
    contexts: list[Context]

    @cached_property
    def digest(self) -> str:
        """A digest of the test data, and of what is used from the training split."""
        parts = [self.name, self.division, str(len(self.train)), *map(repr, self.contexts)]
        for table in (self.test, self.train.slice(0, 1000)):
            parts += [repr(batch.to_pydict()) for batch in table.to_batches(1000)]
        return key_of(parts)


def read_set(
    name: str,
    data_dir: Path | None,
    dialogues: str | None,
    *,
    labeler: str,
    cache: Path,
    most: int,
    limit: int,
    seed: int,
    split_seed: int = 0,
    relabel: bool = False,
) -> HeldOut:
    """Read a source as in training, and sample from its test split.

    Args:
        name: as for `read_source`.
        data_dir: folder of the raw releases.
        dialogues: folder or Hub id of the dataset of which `name` is a config.
        labeler: labels the turns without labels.
        cache: folder in which its labels are cached.
        most: number of test dialogues to sample; 0 for all.
        limit: number of contexts to answer, one per dialogue; 0 for all dialogues.
        seed: seed of the sample.
        split_seed: seed of the split if the data state none, as in the models' recipes.
        relabel: also label turns that have a label, as recipes with `relabel` do.

    Raises:
        ValueError: the source does not exist, or its test or training split is empty.
    """
    table, division = with_splits(read_source(name, data_dir, dialogues), split_seed)
    train, test = (table.filter(pc.equal(table["split"], split)) for split in ("train", "test"))
    if not len(train) or not len(test):
        raise ValueError(f"{name}: no dialogue for training or test, of {len(table)}: give a data set with both parts")
    ranks = np.array([_drawn(each, seed) for each in test["dialogue_id"].to_pylist()])
    test = test.take(pa.array(np.argsort(ranks, kind="stable")[: most or None]))
    how = GeneratorRecipe(labeler=labeler, relabel=relabel)
    test, labelled_by = with_labels(test.combine_chunks(), how, name, cache)
    rows = test.slice(0, limit or None).to_pylist()
    return HeldOut(name, division, len(table), labelled_by, train, test, [_context(row, seed) for row in rows])


def _context(row: dict[str, Any], seed: int) -> Context:
    """Return one context of a dialogue; the seed and the dialogue's id determine which turn is the answer."""
    turn = 1 + int(_drawn(f"answer of {row['dialogue_id']}", seed) * (len(row["texts"]) - 1))
    return Context(
        row["document_id"], row["texts"][:turn], row["labels"][:turn], row["texts"][turn], row["labels"][turn]
    )


def _drawn(name: str, seed: int) -> float:
    """Return a number in [0, 1) that is determined by a name and a seed."""
    return int.from_bytes(sha256(f"matrix {seed}\n{name}".encode()).digest()[:6], "big") / 2**48


def read_invented(path: Path = CONTEXTS) -> HeldOut:
    """Read the contexts that we wrote: a list of dialogues, each turn "label: text", the last one being the true
    answer.

    Raises:
        ValueError: a turn has none of our labels, or a dialogue has no answer.
    """
    contexts = []
    for number, lines in enumerate(read_yaml(path), 1):
        if len(lines) < 2:
            raise ValueError(f"{path}, dialogue {number}: a history and its answer are two turns or more")
        turns = [line.partition(": ") for line in lines]
        labels = [parse_label(label) for label, _, _ in turns]
        texts = [text for _, _, text in turns]
        contexts.append(Context(f"{INVENTED} {number}", texts[:-1], labels[:-1], texts[-1], labels[-1]))
    empty = CONVERSATIONS.empty_table()
    return HeldOut(INVENTED, "", 0, "by us", empty, empty, contexts)


def shared_documents(sets: Sequence[HeldOut]) -> dict[str, dict[str, int]]:
    """Return for each set how many of its contexts belong to documents in the training split of another set, so that
    "zero-shot" does not apply. Sets without any are left out.
    """
    found: dict[str, dict[str, int]] = {}
    for held in sets:
        for other in sets:
            known = set(other.train["document_id"].to_pylist())
            count = sum(context.document in known for context in held.contexts)
            if other is not held and count:
                found.setdefault(held.name, {})[other.name] = count
    return found


def describe(sets: Sequence[HeldOut]) -> dict[str, dict[str, Any]]:
    """Return the descriptions of the sets for the report, by name, with the contexts."""
    known = shared_documents([held for held in sets if held.name != INVENTED])
    return {
        held.name: {
            "digest": held.digest,
            "division": held.division,
            "labels": held.labels,
            "train_dialogues": len(held.train),
            "test_dialogues": len(held.test),
            "documents": len({context.document for context in held.contexts}),
            "in_training_of": known.get(held.name, {}),
            "contexts": [asdict(context) for context in held.contexts],
        }
        for held in sets
    }


MATRIX = "matrix.json"
NEAREST = "nearest"
REFERENCES = (NEAREST, "RT", "GT")
"""Rows that are not models: answers of the training split, those of similar contexts and random ones, and the true
ones.
"""


def slug(text: str) -> str:
    """Return a name in a form that file names can have."""
    return re.sub(r"[^\w.-]+", "-", text)


def read_cell(path: Path, key: str) -> dict[str, Any] | None:
    """Return the cell stored in a file under a key; None if there is none, or the file is damaged."""
    with suppress(OSError, ValueError, AttributeError):
        cell: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if cell.get("key") == key:
            return cell
    return None


def kept_cell(path: Path, key: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the cell stored in a file under a key; if there is none, make and store it with the seconds that it took.

    The file is written atomically; a damaged file, or one with another key, is made again.
    """
    if (kept := read_cell(path, key)) is not None:
        return kept
    began = time.monotonic()
    cell = {"key": key, **make()}
    cell["seconds"] = round(time.monotonic() - began, 1)
    write_text(path, as_json(cell))
    return cell


@dataclass(frozen=True)
class Ahead:
    """What remains to be measured for a model.

    Attributes:
        cells: number of the model's cells, including recorded ones.
        lacking: number of cells without a record.
        answers: number of answers to generate for them.
        seconds: estimated time, from the first few answers.
    """

    cells: int
    lacking: int
    answers: int
    seconds: float


def told_ahead(parts: Sequence[Ahead]) -> str:
    """Return a sentence about the number of cells to measure and the estimated time."""
    cells, lacking, answers = (sum(getattr(part, name) for part in parts) for name in ("cells", "lacking", "answers"))
    if not lacking:
        return f"all {cells} cells of the models are kept"
    minutes = sum(part.seconds for part in parts) / 60
    return (
        f"{lacking} of {cells} cells of the models are to be measured, {answers:,} answers: about "
        f"{max(1, round(minutes)):,} min at the pace of each model's first few; perplexities and measures come on top"
    )


def as_json(content: Mapping[str, Any]) -> str:
    """Return the JSON text of a record."""
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def read_records(records: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the content of `matrix.json`, and the cells for the same sets and contexts in the order of their rows:
    models (those of the last run first), then RT and GT. Cells of other contexts are skipped.

    Raises:
        ValueError: there are no records, or one is damaged.
    """
    path = records / MATRIX
    if not path.is_file():
        raise ValueError(f"{path} is not there: name the folder of --records of a run that measured")
    content = _read(path)
    digests = {name: held["digest"] for name, held in content["sets"].items()}
    cells = [_read(each) for each in sorted(records.glob("*--*.json"))]
    cells = [cell for cell in cells if digests.get(cell["set"]) == cell["digest"]]
    names = content["models"]

    def place(cell: Mapping[str, Any]) -> tuple[int, int, str, bool, int]:
        name = cell.get("model")
        if name is None:
            return 2, REFERENCES.index(cell["row"]), "", False, 0
        known = name in names
        number = names.index(name) if known else 0
        return int(not known), number, name, cell["condition"] == "predicted", len(cell["row"])

    return content, sorted(cells, key=place)


def _read(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is no record of a cell: {error}; remove it, and measure again") from error
    return found
