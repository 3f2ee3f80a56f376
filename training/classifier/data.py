"""Training, validation and test examples of the two classifiers. Training examples near held-out ones are removed."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from edos_dataset.arrays import Bools, Floats
from edos_dataset.augmentation.labelled import EDOS, labelled_path
from edos_dataset.crowd.splits import plain_text
from edos_dataset.encoders.encoder import Encoder
from edos_dataset.labeling.translation import as_parameter, translation_of
from edos_dataset.labels import EMOTIONS
from edos_dataset.releases.raw import Reject, Row, read_conversations, read_extension
from edos_dataset.schema import SPLITS
from training.classifier.own import Wanted, read_own
from training.classifier.own_labels import translated
from training.classifier.parts import NONE, Data, Part, balanced, join, targets_of
from training.classifier.parts import mix_in as mix_in
from training.classifier.recipe import ClassifierRecipe
from training.examples import (
    CROWD_FILES,
    WEAK_FILES,
    Examples,
    embed,
    labelled_files,
    labelled_last,
    read_crowd,
    read_frequent,
    read_labelled_rows,
    read_weak,
    single_turns,
    split,
)

SELF_LABELLED = "edos_amt/self_labeled_dialogs.csv"
FREQUENT = Path(__file__).parents[1] / "recipes" / "minilm" / "frequent_turns.yaml"
CONVERSATIONS = tuple(f"empathetic_dialogues/unannotated/{emotion}.csv" for emotion in EMOTIONS)
ANNOTATED = tuple(f"empathetic_dialogues/annotated/{emotion}.csv" for emotion in EMOTIONS)


def further_sources(recipe: ClassifierRecipe, folder: Path, held_texts: set[str]) -> dict[str, tuple[float, Examples]]:
    """Return the weight and the examples of every further source that the recipe names.

    Args:
        recipe: the training.
        folder: the data folder.
        held_texts: held-out texts, normalised by `plain_text`.
    """
    further: dict[str, tuple[float, Examples]] = {}
    if recipe.frequent_turns:
        further["frequent turns"] = recipe.frequent_turns, read_frequent(FREQUENT)
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
    return further


def read_first_turns(folder: Path, held_texts: set[str]) -> Examples:
    """Read the opening turn of every conversation of EmpatheticDialogues, labelled with the conversation's emotion.

    A conversation is left out if its situation or any turn is among `held_texts` (normalised by `plain_text`).
    """
    openings = [
        (next((turn["text"] for turn in each["turns"] if turn["speaker"] == "speaker"), ""), each["emotion"])
        for each in _conversations([folder / name for name in CONVERSATIONS], held_texts)
    ]
    return single_turns([(text, emotion) for text, emotion in openings if text])


def read_annotated(folder: Path, held_texts: set[str]) -> Examples:
    """Read the other turns of these conversations with the labels of the authors' RoBERTa-sized classifier (annotated
    EmpatheticDialogues), which acts as a teacher.

    Conversations are left out as in `read_first_turns`, because the teacher was trained on their situations.
    """
    conversations = _conversations([folder / name for name in ANNOTATED], held_texts)
    return single_turns([(turn["text"], turn["label"]) for each in conversations for turn in each["turns"][1:]])


def _conversations(paths: Sequence[Path], held_texts: set[str]) -> Iterator[Row]:
    for path in paths:
        for row in read_conversations(path, annotated=path.parent.name == "annotated"):
            if not isinstance(row, Reject):
                texts = [row["situation"] or "", *(turn["text"] for turn in row["turns"])]
                if not any(plain_text(text) in held_texts for text in texts):
                    yield row


def read_self_labelled(folder: Path) -> Examples:
    """Read the dialogues that the authors' RoBERTa-sized classifier labelled with a confidence of at least 0.9 (EDOS,
    Section 3.3.2), as labels of a teacher.
    """
    return labelled_last(read_extension(folder / SELF_LABELLED, "self-label"))


SAMPLED = ("annotated turns", "texts of the weak labeler")
FROM_FOLDER = ("first_turns", "annotated", "unagreed", "self_labelled", "replay")
"""Recipe keys that need files of the data folder."""


def load_data(
    recipe: ClassifierRecipe,
    folder: Path | None,
    cache: Path | None,
    labelled: str | Path | None = None,
    wanted: Wanted | None = None,
) -> Data:
    """Read the task's examples and the recipe's further sources, without training examples that are near-duplicates of
    held-out texts.

    Args:
        recipe: the training.
        folder: the data folder; may be None if `labelled` is given and the recipe needs no other data.
        cache: folder in which embeddings are cached.
        labelled: used instead of the authors' files: a dataset of `edos crowd seed` or `edos extend`, with its splits,
            or labelled dialogues in any other form (`read_own`).
        wanted: what to learn from `labelled`.

    Raises:
        ValueError: a split is empty (a labelled set needs no test split), the data folder is needed but not given, or
            `labelled` is unusable.
    """
    if folder is None and (asked := _needed_of_folder(recipe, labelled)):
        raise ValueError(
            f"the recipe's {', '.join(asked)} needs files of the data folder: give --data-dir, or a recipe without"
        )
    root, wanted = folder or Path(), wanted or Wanted()
    if labelled is None:
        own, held = _read_authors(recipe, root, cache)
    elif is_seed(labelled):
        own, held = _read_labelled(Path(labelled), recipe, cache, wanted)
    else:
        own, held = read_own(str(labelled), wanted, recipe), None
    if not len(own.train):
        raise ValueError(f"{labelled}: every training example is a near-duplicate of a held-out one: give other data")
    return _with_further(replace(own, train=balanced(own.train, recipe.class_balance)), held, recipe, root, cache)


def _with_further(own: Data, held: Floats | None, recipe: ClassifierRecipe, root: Path, cache: Path | None) -> Data:
    """Add the recipe's further sources; `held` are the embeddings of the held-out last turns, None if not known."""
    further = further_sources(recipe, root, _last_words(own))
    if not further:
        return own
    if own.label_set != EDOS or own.several:
        raise ValueError(
            f"the recipe adds {' and '.join(further)}, which have the {len(EDOS)} labels of EDOS, but the labels are "
            f"those of {own.label_set.name!r}: leave them out of the recipe; frequent_turns: 0 leaves out the first"
        )
    vectors = _embed_last(own.validation.dialogues + own.test.dialogues, cache) if held is None else held
    left_out, added = dict(own.left_out), {}
    for source, (weight, more) in further.items():
        copies = _copies(more.dialogues, _embed_last(more.dialogues, cache), own, vectors, recipe.near_duplicate)
        left_out[source] = int(copies.sum())
        added[source] = Part(more.dialogues, more.labels, more.targets, np.full(len(copies), weight, np.float32)).take(
            ~copies
        )
    replay = join([own.replay, *(added.pop(source) for source in SAMPLED if source in added)])
    files = own.files | {name: root / name for name in _files_of_sources(recipe)}
    return replace(own, train=join([own.train, *added.values()]), replay=replay, files=files, left_out=left_out)


def is_seed(labelled: str | Path) -> bool:
    """Return whether a folder is a data set of `edos crowd seed` or `edos extend`, or was to be one."""
    folder = Path(labelled)
    return folder.is_dir() and any(labelled_path(folder, name) for name in SPLITS)


def _needed_of_folder(recipe: ClassifierRecipe, labelled: str | Path | None) -> list[str]:
    return [key for key in FROM_FOLDER if getattr(recipe, key)] or ([] if labelled else ["task"])


def _files_of_sources(recipe: ClassifierRecipe) -> list[str]:
    files = {
        "replay": WEAK_FILES,
        "unagreed": CROWD_FILES,
        "first_turns": CONVERSATIONS,
        "annotated": ANNOTATED,
        "self_labelled": (SELF_LABELLED,),
    }
    return [file for key, own in files.items() if getattr(recipe, key) for file in own]


def _read_authors(recipe: ClassifierRecipe, folder: Path, cache: Path | None) -> tuple[Data, Floats]:
    """Read the authors' files of the task and split them by the recipe; also return the embeddings of the held-out last
    turns.
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
        targets_of(examples.targets, examples.labels, recipe),
        np.ones(len(parts), np.float32),
    )
    files = {name: folder / name for name in (WEAK_FILES if weak else CROWD_FILES)}
    return Data(own.take(parts == 0), own.take(NONE), own.take(parts == 1), own.take(parts == 2), files, {}), vectors[
        parts > 0
    ]


def _read_labelled(folder: Path, recipe: ClassifierRecipe, cache: Path | None, wanted: Wanted) -> tuple[Data, Floats]:
    """Read the splits of a labelled set, without training rows near held-out rows; labels that were not given by people
    get the weight in the recipe.
    """
    wanted.check_no_columns(str(folder), seed=True)
    parts = []
    read = {name: read_labelled_rows(folder, name) for name in SPLITS}
    translation = translation_of(
        read["train"].rows.label_set, as_parameter(wanted.labels.label_set), as_parameter(wanted.labels.label_map)
    )
    for each in read.values():
        soft, kept = translated(each.rows.targets, translation, several=False)
        labels = soft.argmax(axis=1) if translation.maps else each.rows.labels
        weights = (each.rows.weights * np.where(each.by_people, 1, recipe.extended)).astype(np.float32)
        part = Part([*map(list, each.rows.turns)], labels, targets_of(soft, labels, recipe), weights)
        parts.append(part.take((weights > 0) & kept))
    train, validation, test = parts
    if not (len(train) and len(validation)):
        raise ValueError(
            f"{folder}: {[len(part) for part in parts]} examples for training, validation and test: the first two "
            "parts need some"
        )
    root = folder.resolve()
    files = {f"{root.name}/{path.relative_to(root).as_posix()}": path for path in labelled_files(root).values()}
    own = translation.labels != EDOS
    data, held = (
        Data(train, train.take(NONE), validation, test, files, {}, label_set=translation.labels, own=own),
        _embed_last(validation.dialogues + test.dialogues, cache),
    )
    copies = _copies(train.dialogues, _embed_last(train.dialogues, cache), data, held, recipe.near_duplicate)
    return replace(data, train=train.take(~copies), left_out={"labelled dialogues": int(copies.sum())}), held


def _copies(dialogues: Sequence[Sequence[str]], vectors: Floats, data: Data, held: Floats, threshold: float) -> Bools:
    """Return which dialogues have a last turn that equals or is near a held-out last turn, whose
    embeddings are `held`.
    """
    # Texts are compared too, since another punctuation mark ("Really?" and "Really!") can move an embedding beyond the
    # threshold.
    texts = _last_words(data)
    return np.array([plain_text(turns[-1]) in texts for turns in dialogues], bool) | _near(vectors, held, threshold)


def _last_words(data: Data) -> set[str]:
    return {plain_text(turns[-1]) for part in (data.validation, data.test) for turns in part.dialogues}


def _embed_last(dialogues: Sequence[Sequence[str]], cache: Path | None) -> Floats:
    return embed([[turns[-1]] for turns in dialogues], Encoder(), cache)[0]


def _near(vectors: Floats, others: Floats, threshold: float) -> Bools:
    blocks = [
        (vectors[start : start + 1024] @ others.T >= threshold).any(axis=1) for start in range(0, len(vectors), 1024)
    ]
    return np.concatenate(blocks) if blocks else np.zeros(0, bool)
