"""Training, validation and test examples of the two classifiers, with nothing of the held-out parts in the training
part.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from edos_dataset.arrays import Bools, Floats, Ints
from edos_dataset.crowd.splits import plain_text
from edos_dataset.encoders.encoder import Encoder
from training.classifier.recipe import ClassifierRecipe
from training.classifier.sources import ANNOTATED, CONVERSATIONS, FREQUENT, SELF_LABELLED, further_sources
from training.examples import (
    CROWD_FILES,
    CROWD_LICENCE,
    WEAK_FILES,
    WEAK_LICENCE,
    embed,
    one_hot,
    read_crowd,
    read_frequent,
    read_weak,
    split,
)
from training.labelled import labelled_files, read_labelled_rows

SAMPLED = ("annotated turns", "texts of the weak labeler")
NONE = np.zeros(0, np.int64)
FROM_FOLDER = ("first_turns", "annotated", "unagreed", "self_labelled", "replay")
"""Keys of a recipe that ask for files of the data folder."""


@dataclass(frozen=True)
class Part:
    """Examples of one split.

    Attributes:
        dialogues: turns, oldest first; the label is of the last one.
        labels: [n] ids.
        targets: float32 [n, 41], probabilities.
        weights: float32 [n], weights in the loss: 1 for the task's own examples.
    """

    dialogues: list[list[str]]
    labels: Ints
    targets: Floats
    weights: Floats

    def __len__(self) -> int:
        """Return the number of examples."""
        return len(self.dialogues)

    def take(self, rows: Ints | Bools) -> "Part":
        """Return some of the examples, by number or by mask."""
        numbers = np.arange(len(self))[rows]
        return Part([self.dialogues[row] for row in numbers], self.labels[rows], self.targets[rows], self.weights[rows])


@dataclass(frozen=True)
class Data:
    """The parts of a task.

    Attributes:
        train: the task's own training part and what the recipe adds to all of its epochs.
        replay: further training examples, of which every epoch takes another sample.
        validation: what chooses the epoch and the temperature.
        test: what is looked at once; empty if a labelled set has no such split.
        files: the files read: name, below the data folder or with the name of the labelled set, → where it lies.
        left_out: how many texts were left out of the training because a held-out text is nearly equal, by source.
    """

    train: Part
    replay: Part
    validation: Part
    test: Part
    files: dict[str, Path]
    left_out: dict[str, int]

    @staticmethod
    def licence(file: str) -> str:
        """Return the licence of one of the files."""
        licences = {"empathetic_dialogues": WEAK_LICENCE, "edos_amt": CROWD_LICENCE}
        return licences.get(file.partition("/")[0], "as the README of the data set says")


def load_data(recipe: ClassifierRecipe, folder: Path | None, cache: Path | None, labelled: Path | None = None) -> Data:
    """Read the task's examples, and add the recipe's further sources to the training part, except what is near to a
    held-out text.

    Args:
        recipe: the training.
        folder: the data folder; None will do with `labelled` and a recipe that asks for nothing else.
        cache: folder that keeps embeddings for the next training.
        labelled: a data set of `edos crowd seed` or `edos extend` whose splits are the task's parts, instead of the
            authors' files and the recipe's split.

    Raises:
        ValueError: a part is left without examples (a labelled set needs no test part), or the data folder is needed
            and not given.
    """
    if folder is None and (
        asked := [key for key in FROM_FOLDER if getattr(recipe, key)] or ([] if labelled else ["task"])
    ):
        raise ValueError(
            f"the recipe's {', '.join(asked)} needs files of the data folder: give --data-dir, or a recipe without"
        )
    root = folder or Path()
    own, held = _read_labelled(labelled, recipe, cache) if labelled else _read_authors(recipe, root, cache)
    left_out, added = dict(own.left_out), {}
    for source, (weight, more) in further_sources(recipe, root, _last_words(own)).items():
        copies = _copies(more.dialogues, _embed_last(more.dialogues, cache), own, held, recipe.near_duplicate)
        left_out[source] = int(copies.sum())
        added[source] = Part(more.dialogues, more.labels, more.targets, np.full(len(copies), weight, np.float32)).take(
            ~copies
        )
    replay = _join([own.replay, *(added.pop(source) for source in SAMPLED if source in added)])
    names = (
        (WEAK_FILES if recipe.replay else ())
        + (CROWD_FILES if recipe.unagreed else ())
        + (CONVERSATIONS if recipe.first_turns else ())
    )
    names += (ANNOTATED if recipe.annotated else ()) + ((SELF_LABELLED,) if recipe.self_labelled else ())
    files = own.files | {name: root / name for name in names}
    return replace(own, train=_join([own.train, *added.values()]), replay=replay, files=files, left_out=left_out)


def _read_authors(recipe: ClassifierRecipe, folder: Path, cache: Path | None) -> tuple[Data, Floats]:
    """Read the authors' files of the task and split them as the recipe says; also return the embeddings of the held-out
    last turns.
    """
    weak = recipe.task == "weak"
    frequent, examples = read_frequent(FREQUENT), read_weak(folder) if weak else read_crowd(folder)
    vectors = _embed_last(examples.dialogues, cache)
    pinned = _near(vectors, _embed_last(frequent.dialogues, cache), recipe.near_duplicate)
    parts = split(
        examples,
        vectors,
        pinned,
        {"near_duplicate": recipe.near_duplicate, "seed": recipe.split_seed, "shares": recipe.shares},
    )
    counts = np.bincount(parts, minlength=3).tolist()
    if not all(counts):
        raise ValueError(
            f"{folder}: {counts} examples for training, validation and test: every part needs some; add data or change "
            "the recipe's shares"
        )
    own = Part(
        examples.dialogues,
        examples.labels,
        _targets(examples.targets, examples.labels, recipe),
        np.ones(len(parts), np.float32),
    )
    files = {name: folder / name for name in (WEAK_FILES if weak else CROWD_FILES)}
    return Data(own.take(parts == 0), own.take(NONE), own.take(parts == 1), own.take(parts == 2), files, {}), vectors[
        parts > 0
    ]


def _read_labelled(folder: Path, recipe: ClassifierRecipe, cache: Path | None) -> tuple[Data, Floats]:
    """Read the splits of a labelled set, without training rows near to a held-out one; labels that people did not give
    have the recipe's weight.
    """
    parts = []
    for name in ("train", "validation", "test"):
        read = read_labelled_rows(folder, name)
        rows, weights = read.rows, (read.rows.weights * np.where(read.by_people, 1, recipe.extended)).astype(np.float32)
        parts.append(
            Part([*map(list, rows.turns)], rows.labels, _targets(rows.targets, rows.labels, recipe), weights).take(
                weights > 0
            )
        )
    train, validation, test = parts
    if not (len(train) and len(validation)):
        raise ValueError(
            f"{folder}: {[len(part) for part in parts]} examples for training, validation and test: the first two "
            "parts need some"
        )
    root = folder.resolve()
    files = {f"{root.name}/{path.relative_to(root).as_posix()}": path for path in labelled_files(root).values()}
    data, held = (
        Data(train, train.take(NONE), validation, test, files, {}),
        _embed_last(validation.dialogues + test.dialogues, cache),
    )
    copies = _copies(train.dialogues, _embed_last(train.dialogues, cache), data, held, recipe.near_duplicate)
    return replace(data, train=train.take(~copies), left_out={"labelled dialogues": int(copies.sum())}), held


def _copies(dialogues: Sequence[Sequence[str]], vectors: Floats, data: Data, held: Floats, threshold: float) -> Bools:
    """Return which dialogues have a last turn equal or near to a held-out one of the data, whose
    embeddings are `held`.
    """
    # Another mark ("Really?" and "Really!") can move an embedding further than the threshold: equal words are compared
    # besides.
    texts = _last_words(data)
    return np.array([plain_text(turns[-1]) in texts for turns in dialogues], bool) | _near(vectors, held, threshold)


def _last_words(data: Data) -> set[str]:
    """Return the words of all held-out last turns."""
    return {plain_text(turns[-1]) for part in (data.validation, data.test) for turns in part.dialogues}


def mix_in(part: Part, probabilities: Floats, share: float) -> Part:
    """Return the part with targets of which `share` are the given probabilities [n, 41]."""
    return Part(
        part.dialogues,
        part.labels,
        (share * probabilities + (1 - share) * part.targets).astype(np.float32),
        part.weights,
    )


def _targets(soft: Floats, labels: Ints, recipe: ClassifierRecipe) -> Floats:
    return (recipe.workers_share * soft + (1 - recipe.workers_share) * one_hot(labels)).astype(np.float32)


def _embed_last(dialogues: Sequence[Sequence[str]], cache: Path | None) -> Floats:
    return embed([[turns[-1]] for turns in dialogues], Encoder(), cache)[0]


def _near(vectors: Floats, others: Floats, threshold: float) -> Bools:
    """Return which rows have a cosine of at least the threshold with one of the others."""
    blocks = [
        (vectors[start : start + 1024] @ others.T >= threshold).any(axis=1) for start in range(0, len(vectors), 1024)
    ]
    return np.concatenate(blocks) if blocks else np.zeros(0, bool)


def _join(parts: Sequence[Part]) -> Part:
    dialogues = [turns for part in parts for turns in part.dialogues]
    return Part(
        dialogues,
        *(np.concatenate([getattr(part, name) for part in parts]) for name in ("labels", "targets", "weights")),
    )
