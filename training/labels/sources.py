"""Everything that turns were labelled in, with nothing of the held-out parts in what is learned from."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from edos_dataset.arrays import Floats
from edos_dataset.crowd.splits import plain_text
from edos_dataset.labels import LABEL_IDS, NEUTRAL, parse_label
from edos_dataset.releases.labelled_sets.record import LabelledDialogue
from edos_dataset.releases.labelled_sets.sources import SOURCES
from edos_dataset.releases.raw import Reject
from training.classifier.data import Part, load_data
from training.classifier.recipe import ClassifierRecipe
from training.classifier.sources import FREQUENT
from training.examples import CROWD_FILES, WEAK_FILES, read_frequent
from training.held_out import HELD_OUT_FILES, PARTED, held_out, held_out_reading
from training.labels.copies import near_copies
from training.labels.readings import READINGS, NoTextsError, read_readings
from training.labels.targets import Kind, Target, target_of, target_of_reader

WEAK, CROWD, FILMS, COMMON = "weak", "crowd", "films", "frequent"
_TASKS = {
    WEAK: (ClassifierRecipe(task="weak", frequent_turns=0), WEAK_FILES),
    CROWD: (ClassifierRecipe(task="dialogue", frequent_turns=0, workers_share=0.5), CROWD_FILES),
}
"""The tasks of the EDOS authors, with the parts that the papers' classifiers are trained and tested on, and files."""

OWN = {
    WEAK: (WEAK, "first_turns", 1.0),
    "weak_annotated": (WEAK, "annotated", None),
    CROWD: (CROWD, None, 1.0),
    "crowd_undecided": (CROWD, "unagreed", 0.5),
    "crowd_self_labelled": (CROWD, "self_labelled", 0.25),
}
"""Source of the EDOS authors → its task, the key of `ClassifierRecipe` that asks for it, and the weight that its
examples have there; None: those that are replayed."""

ACTED = (FILMS, "meld", "emorynlp")
"""Sources of which some are the same episodes, cut into other turns."""

NAMES = (*OWN, FILMS, COMMON, *SOURCES)


@dataclass(frozen=True)
class Taught:
    """A dialogue with what its turns teach.

    Attributes:
        turns: oldest first.
        targets: of each turn, None where it teaches nothing.
    """

    turns: tuple[str, ...]
    targets: tuple[Target | None, ...]


@dataclass(frozen=True)
class Corpus:
    """What is learned from, and what is held out.

    Attributes:
        train: source → its dialogues.
        held: source → held-out dialogues; of `weak` and `crowd` the validation parts.
        tests: `weak` and `crowd` → the test part, where one of their sources is named or their files are there.
        apart: set → all of its texts that are held out, also of those that are not learned from.
        left_out: source → turns that teach nothing, because they are near-copies of held-out ones.
        counts: source → further counts, such as lines that could not be read.
        files: name below the data folder → the file.
    """

    train: dict[str, list[Taught]]
    held: dict[str, list[Taught]]
    tests: dict[str, Part]
    apart: dict[str, list[str]]
    left_out: dict[str, int]
    counts: dict[str, dict[str, int]]
    files: dict[str, Path]


def load_corpus(sources: Mapping[str, float], folder: Path, cache: Path | None, short: int) -> Corpus:
    """Read the sources that a recipe names.

    Args:
        sources: their names.
        folder: the data folder.
        cache: folder that keeps embeddings for the next training.
        short: see `LabelsRecipe`.

    Raises:
        ValueError: a source is none, or its files are not there.
    """
    if strange := sorted(set(sources) - set(NAMES)):
        raise ValueError(f"sources: {strange[0]!r} is none; there are {', '.join(NAMES)}")
    corpus = Corpus({}, {}, {}, {}, {}, {}, {})
    for task in dict.fromkeys([*(OWN[name][0] for name in sources if name in OWN), *_TASKS]):
        _read_task(task, sources, folder, cache, corpus)
    for name in dict.fromkeys([*sources, FILMS, *SOURCES]):
        if name == FILMS:
            _read_films(folder, name in sources, corpus)
        elif name == COMMON:
            examples = read_frequent(FREQUENT)
            corpus.train[name] = [_last(*each) for each in zip(examples.dialogues, examples.targets, strict=True)]
        elif name in SOURCES:
            _read_set(name, name in sources, folder, corpus)
    for name in [name for name in corpus.train if name != COMMON]:
        kept = [part for part in without_copies(corpus.train[name], corpus, short, name in ACTED) if taught_texts(part)]
        corpus.left_out[name] = _taught(corpus.train[name]) - _taught(kept)
        corpus.train[name] = kept
    if not any(corpus.held.values()):
        raise ValueError(f"the sources {', '.join(sources)} hold no turns out, to calibrate on: add one that does")
    return corpus


def taught_texts(dialogue: Taught) -> list[str]:
    """Return the turns that teach something."""
    return [text for text, target in zip(dialogue.turns, dialogue.targets, strict=True) if target is not None]


def _read_task(task: str, sources: Collection[str], folder: Path, cache: Path | None, corpus: Corpus) -> None:
    """Take in what a recipe names of a task; what is held out, also where it names nothing and the files are there."""
    recipe, files = _TASKS[task]
    wanted = {name: OWN[name] for name in sources if name in OWN and OWN[name][0] == task}
    if not wanted and not all((folder / file).is_file() for file in files):
        return
    asked: Any = {key: weight or 1.0 for _, key, weight in wanted.values() if key}
    data = load_data(replace(recipe, **asked), folder, cache)
    for name, (_, _, weight) in wanted.items():
        part = data.replay if weight is None else data.train.take(data.train.weights == weight)
        corpus.train[name] = _last_labelled(part)
    if wanted:
        corpus.held[task] = _last_labelled(data.validation)
        corpus.files.update(data.files)
    corpus.tests[task] = data.test
    corpus.apart[task] = [turns[-1] for part in (data.test, data.validation) for turns in part.dialogues]


def _last_labelled(part: Part) -> list[Taught]:
    return [_last(turns, values) for turns, values in zip(part.dialogues, part.targets, strict=True)]


def _last(turns: Sequence[str], values: Floats) -> Taught:
    """Return a dialogue whose last turn has shares of the labels."""
    return Taught(tuple(turns), (*[None] * (len(turns) - 1), Target(values, Kind.SHARES)))


def _read_films(folder: Path, learned: bool, corpus: Corpus) -> None:
    """Take in what is held out of the turns of films that we labelled by reading, and where they are learned from the
    rest.
    """
    try:
        read, counts = read_readings(folder)
    except NoTextsError:
        if learned:
            raise
        return
    parts: dict[bool, list[Taught]] = {True: [], False: []}
    for each in read:
        ids = [[parse_label(name) for name in names] for names in each.labels]
        taught = Taught(each.turns, tuple(target_of_reader(labels) for labels in ids))
        parts[held_out_reading(each.dialogue_id)].append(taught)
    corpus.apart[FILMS] = [text for each in parts[True] for text in taught_texts(each)]
    if learned:
        corpus.counts[FILMS] = counts
        corpus.files[f"readings/{READINGS.name}"] = READINGS
        corpus.train[FILMS], corpus.held[FILMS] = parts[False], parts[True]


def _read_set(name: str, learned: bool, folder: Path, corpus: Corpus) -> None:
    """Take in a set of another maker: what is held out of it, and where it is learned from the rest but for its test
    part.
    """
    parts: dict[str, list[Taught]] = {"train": [], "held": [], "test": []}
    read: dict[str, Path] = {}
    rejects = 0
    for split, file in ((split, file) for split, files in SOURCES[name].files.items() for file in files):
        if not (folder / file).is_file() or not (learned or split == "test" or _holds_out(name, file)):
            continue
        for each in SOURCES[name].read(folder / file):
            if isinstance(each, Reject):
                rejects += 1
                continue
            apart = held_out(name, _key(name, each)) if name in PARTED else file == HELD_OUT_FILES[name]
            taught = Taught(each.turns, tuple(target_of(name, names) for names in each.labels))
            parts["test" if split == "test" else "held" if apart else "train"].append(taught)
        read |= {} if split == "test" else {file: folder / file}
    corpus.apart[name] = [text for part in ("held", "test") for each in parts[part] for text in taught_texts(each)]
    if not learned:
        return
    corpus.counts[name] = {"rejected": rejects}
    if name == "xed":
        parts["train"], corpus.counts[name]["contradicted"] = _mended(parts["train"])
    corpus.train[name], corpus.held[name] = parts["train"], parts["held"]
    corpus.files.update(read)
    if not corpus.train[name]:
        wanted = ", ".join(file for files in SOURCES[name].files.values() for file in files)
        raise ValueError(f"{folder} has nothing of the source {name!r} to learn from: expected {wanted}")


def _holds_out(name: str, file: str) -> bool:
    """Tell whether a file of a set has dialogues that are held out."""
    return name in PARTED or file == HELD_OUT_FILES[name]


def _mended(sentences: Sequence[Taught]) -> tuple[list[Taught], int]:
    """Return the sentences of XED without what gives their labels away, and how many are left out: its neutral ones
    have lost their commas, so none has any here, and those that stand under an emotion too are not neutral.
    """
    neutral = LABEL_IDS[NEUTRAL]
    felt = {plain_text(each.turns[0]) for each in sentences if each.targets[0] and not each.targets[0].holds(neutral)}
    kept = [
        Taught((each.turns[0].replace(",", ""),), each.targets)
        for each in sentences
        if each.targets[0] and (plain_text(each.turns[0]) not in felt or not each.targets[0].holds(neutral))
    ]
    return kept, len(sentences) - len(kept)


def _key(name: str, dialogue: LabelledDialogue) -> str:
    """Return what decides whether a dialogue of a set is held out: see `held_out`."""
    return dialogue.turns[0] if name == "xed" else dialogue.dialogue_id


def without_copies(dialogues: Sequence[Taught], corpus: Corpus, short: int, acted: bool) -> list[Taught]:
    """Return dialogues cut where a turn is a near-copy of a held-out one, which is left out.

    Args:
        dialogues: of a source.
        corpus: what is held out.
        short: see `LabelsRecipe`.
        acted: whether some may be the same episodes as those of `ACTED`.
    """
    held = [text for texts in corpus.apart.values() for text in texts]
    cut = [text for name in ACTED if acted for text in corpus.apart.get(name, ())]
    copies = near_copies([text for each in dialogues for text in each.turns], held, short, cut=cut)
    kept, at = [], 0
    for each in dialogues:
        own = copies[at : at + len(each.turns)]
        at += len(own)
        ends = [-1, *np.flatnonzero(own).tolist(), len(own)]
        parts = [slice(begin + 1, end) for begin, end in pairwise(ends) if end > begin + 1]
        kept += [Taught(each.turns[part], each.targets[part]) for part in parts]
    return kept


def _taught(dialogues: Sequence[Taught]) -> int:
    return sum(len(taught_texts(each)) for each in dialogues)
