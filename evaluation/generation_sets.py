"""The test sets of `generation.py`: dialogues held out from training, the contexts to answer among them, and contexts
that we wrote, whose texts a report may show.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.labels import parse_label
from edos_dataset.runs.foreign import read_yaml
from training.caches import key_of
from training.generator.corpus import with_labels, with_splits
from training.generator.recipe import GeneratorRecipe
from training.generator.sources import CONVERSATIONS, read_source

INVENTED = "invented"
"""Name of the contexts that we wrote."""

CONTEXTS = Path(__file__).with_name("generation_contexts.yaml")


@dataclass(frozen=True)
class Context:
    """A history and its true answer.

    Attributes:
        document: what it belongs to, such as a film; answers of one document are not independent.
        turns: of the history, oldest first.
        labels: of these turns, ids.
        truth: the true answer.
        label: of the true answer, an id.
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
        name: of its source, or INVENTED.
        division: how the source was shared out; "" of INVENTED.
        dialogues: of the whole source.
        labels: who labelled the turns.
        train: the training part (CONVERSATIONS, labels as given); empty of INVENTED.
        test: dialogues drawn from the test part, labelled; all answers in them count for the perplexity.
        contexts: what is answered, one context of a dialogue.
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
        """A digest of all that is measured on, and of what is learned of the training part."""
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
    """Read a source as training reads it, and draw from its test part.

    Args:
        name: as of `read_source`.
        data_dir: folder of the raw releases.
        dialogues: folder or Hub id of the data set whose config `name` is.
        labeler: labels the turns that have no label.
        cache: folder that keeps its labels.
        most: test dialogues that are drawn; 0 for all.
        limit: contexts of them that are answered, one of a dialogue; 0 for as many as dialogues.
        seed: of the drawing.
        split_seed: of the division where the data give none, as in the models' recipes.
        relabel: label the turns that have a label, too, as recipes with `relabel` do.

    Raises:
        ValueError: the source is not there, or leaves no test or training part.
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
    """Return one context of a dialogue; which turn is the answer, the seed and the dialogue's id decide."""
    turn = 1 + int(_drawn(f"answer of {row['dialogue_id']}", seed) * (len(row["texts"]) - 1))
    return Context(
        row["document_id"], row["texts"][:turn], row["labels"][:turn], row["texts"][turn], row["labels"][turn]
    )


def _drawn(name: str, seed: int) -> float:
    """Return a number from 0 to below 1 that a name and a seed decide."""
    return int.from_bytes(sha256(f"matrix {seed}\n{name}".encode()).digest()[:6], "big") / 2**48


def read_invented(path: Path = CONTEXTS) -> HeldOut:
    """Read the contexts that we wrote: a list of dialogues, each turn "label: text", the last one the true answer.

    Raises:
        ValueError: a turn has no label of ours, or a dialogue no answer.
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
    """Return, for each set, how many of its contexts are of documents that lie in the training part of another one:
    there zero-shot is no word for it. Sets without any are left out.
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
    """Return what the report tells of the sets, by their names, with the contexts."""
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
