"""Training, validation and test examples of the two classifiers, with nothing of the held-out parts in the training part."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from classifier_recipe import ClassifierRecipe
from linear_head_data import (
    CROWD_FILES,
    CROWD_LICENCE,
    MISSING,
    WEAK_FILES,
    WEAK_LICENCE,
    Bools,
    Examples,
    Ints,
    embed,
    label_id,
    one_hot,
    plain_text,
    read_crowd,
    read_frequent,
    read_rows,
    read_weak,
    split,
    split_turns,
)

from edos_dataset.labeling.encoder import Encoder
from edos_dataset.labeling.heads import Floats
from edos_dataset.labels import EMOTIONS, LABEL_IDS

SELF_LABELLED = "edos_amt/self_labeled_dialogs.csv"
FREQUENT = Path(__file__).parent / "recipes" / "minilm" / "frequent_turns.yaml"
CONVERSATIONS = tuple(f"empathetic_dialogues/unannotated/{emotion}.csv" for emotion in EMOTIONS)
ANNOTATED = tuple(f"empathetic_dialogues/annotated/{emotion}.csv" for emotion in EMOTIONS)
SAMPLED = ("annotated turns", "texts of the weak labeler")


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
        test: what is looked at once.
        files: the files read, below the data folder.
        left_out: how many texts of other sources were left out because a held-out text is nearly equal, by source.
    """

    train: Part
    replay: Part
    validation: Part
    test: Part
    files: tuple[str, ...]
    left_out: dict[str, int]

    @staticmethod
    def licence(file: str) -> str:
        """Return the licence of one of the files."""
        return WEAK_LICENCE if file.startswith("empathetic_dialogues/") else CROWD_LICENCE


def load_data(recipe: ClassifierRecipe, folder: Path, cache: Path | None) -> Data:
    """Read and split the task's examples, and add the recipe's further sources to the training part, except what is near to a held-out text.

    Args:
        recipe: the training.
        folder: the data folder.
        cache: folder that keeps embeddings for the next training.

    Raises:
        ValueError: a part is left without examples.
    """
    weak = recipe.task == "weak"
    frequent, examples = read_frequent(FREQUENT), read_weak(folder) if weak else read_crowd(folder)
    vectors = _embed_last(examples.dialogues, cache)
    pinned = _near(vectors, _embed_last(frequent.dialogues, cache), recipe.near_duplicate)
    parts = split(examples, vectors, pinned, {"near_duplicate": recipe.near_duplicate, "seed": recipe.split_seed, "shares": recipe.shares})
    counts = np.bincount(parts, minlength=3).tolist()
    if not all(counts):
        raise ValueError(f"{folder}: {counts} examples for training, validation and test: every part needs some; add data or change the recipe's shares")
    own = Part(examples.dialogues, examples.labels, _targets(examples, recipe.workers_share), np.ones(len(parts), np.float32))
    held_texts = {plain_text(turns[-1]) for turns, part in zip(examples.dialogues, parts, strict=True) if part}
    further: dict[str, tuple[float, Examples]] = {}
    if recipe.frequent_turns:
        further["frequent turns"] = recipe.frequent_turns, frequent
    if recipe.first_turns:
        further["first turns"] = recipe.first_turns, read_first_turns(folder, held_texts)
    if recipe.annotated:
        further["annotated turns"] = recipe.annotated, read_annotated(folder, held_texts)
    if recipe.unagreed:
        further["dialogues without agreement"] = recipe.unagreed, read_crowd(folder, agreed=False)
    if recipe.replay:
        further["texts of the weak labeler"] = recipe.replay, read_weak(folder)
    if recipe.self_labelled:
        further["self-labelled dialogues"] = recipe.self_labelled, read_self_labelled(folder)
    left_out: dict[str, int] = {}
    added: dict[str, Part] = {}
    for source, (weight, more) in further.items():
        # Another mark ("Really?" and "Really!") can move an embedding further than the threshold: equal words are compared besides.
        equal = np.array([plain_text(turns[-1]) in held_texts for turns in more.dialogues], bool)
        near = equal | _near(_embed_last(more.dialogues, cache), vectors[parts > 0], recipe.near_duplicate)
        left_out[source] = int(near.sum())
        added[source] = Part(more.dialogues, more.labels, more.targets, np.full(len(near), weight, np.float32)).take(~near)
    replay = _join([own.take(np.zeros(0, np.int64)), *(added.pop(source) for source in SAMPLED if source in added)])
    files = (WEAK_FILES if weak or recipe.replay else ()) + (() if weak else CROWD_FILES) + (CONVERSATIONS if recipe.first_turns else ())
    files += (ANNOTATED if recipe.annotated else ()) + ((SELF_LABELLED,) if recipe.self_labelled else ())
    return Data(_join([own.take(parts == 0), *added.values()]), replay, own.take(parts == 1), own.take(parts == 2), files, left_out)


def read_first_turns(folder: Path, held_texts: set[str]) -> Examples:
    """Read the opening turn of every conversation of EmpatheticDialogues, labelled with the conversation's emotion.

    Conversations of which the situation or a turn is among `held_texts` (as `plain_text` gives them) are left out whole.
    """
    pairs = []
    for emotion, turns in _conversations(folder, CONVERSATIONS, held_texts):
        pairs += [(row["Text"], LABEL_IDS[emotion]) for row in turns if row["Actor"] == "speaker"][:1]
    return _single_turns(pairs)


def read_annotated(folder: Path, held_texts: set[str]) -> Examples:
    """Read the other turns of these conversations, labelled by the authors' RoBERTa-sized classifier (annotated EmpatheticDialogues): a teacher's answers.

    Conversations are left out as by `read_first_turns`, because the teacher knew their situations.
    """
    pairs = []
    for _, turns in _conversations(folder, ANNOTATED, held_texts, ["Label"]):
        spoken = [row for row in turns if row["Actor"] != "none"]
        pairs += [(row["Text"], label_id(row["Label"])) for row in spoken[1:]]
    return _single_turns([(text, label) for text, label in pairs if label != MISSING])


def _conversations(folder: Path, names: Sequence[str], held_texts: set[str], more: Sequence[str] = ()) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Yield the emotion and the rows (situation and turns) of every conversation of which no text is among `held_texts`; `more` are further columns."""
    for path in (folder / name for name in names):
        conversations: dict[str, list[dict[str, str]]] = {}
        for row in read_rows(path, ("Dialog_ID", "Actor", "Text", *more)):
            conversations.setdefault(row["Dialog_ID"], []).append(row | {"Text": row["Text"].replace("_comma_", ",").strip()})
        yield from ((path.stem, turns) for turns in conversations.values() if not any(plain_text(row["Text"]) in held_texts for row in turns))


def _single_turns(pairs: Sequence[tuple[str, int]]) -> Examples:
    labels = np.array([label for _, label in pairs], np.int64)
    return Examples([[text] for text, _ in pairs], [""] * len(pairs), labels, one_hot(labels))


def read_self_labelled(folder: Path) -> Examples:
    """Read the dialogues that the authors' RoBERTa-sized classifier labelled with a confidence of at least 0.9 (EDOS, Section 3.3.2): a teacher's answers."""
    pairs = [(split_turns(row["os_dialog"]), label_id(row["emotion"])) for row in read_rows(folder / SELF_LABELLED, ("os_dialog", "emotion"))]
    pairs = [(turns, label) for turns, label in pairs if turns and label != MISSING]
    labels = np.array([label for _, label in pairs], np.int64)
    return Examples([turns for turns, _ in pairs], [""] * len(pairs), labels, one_hot(labels))


def mix_in(part: Part, probabilities: Floats, share: float) -> Part:
    """Return the part with targets of which `share` are the given probabilities [n, 41]."""
    return Part(part.dialogues, part.labels, (share * probabilities + (1 - share) * part.targets).astype(np.float32), part.weights)


def _targets(examples: Examples, workers_share: float) -> Floats:
    return (workers_share * examples.targets + (1 - workers_share) * one_hot(examples.labels)).astype(np.float32)


def _embed_last(dialogues: Sequence[Sequence[str]], cache: Path | None) -> Floats:
    return embed([[turns[-1]] for turns in dialogues], Encoder(), cache)[0]


def _near(vectors: Floats, others: Floats, threshold: float) -> Bools:
    """Return which rows have a cosine of at least the threshold with one of the others."""
    blocks = [(vectors[start : start + 1024] @ others.T >= threshold).any(axis=1) for start in range(0, len(vectors), 1024)]
    return np.concatenate(blocks) if blocks else np.zeros(0, bool)


def _join(parts: Sequence[Part]) -> Part:
    dialogues = [turns for part in parts for turns in part.dialogues]
    return Part(dialogues, *(np.concatenate([getattr(part, name) for part in parts]) for name in ("labels", "targets", "weights")))
