"""All labelled turns for training, without those of the held-out splits."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from edos_dataset.arrays import Floats
from edos_dataset.crowd.splits import plain_text
from edos_dataset.labels import LABEL_IDS, LABELS, NEUTRAL, parse_label
from edos_dataset.releases.labelled_sets.readers import SOURCES, LabelledDialogue
from edos_dataset.releases.raw import Reject
from training.classifier.data import FREQUENT, load_data
from training.classifier.parts import Part
from training.classifier.recipe import ClassifierRecipe
from training.examples import CROWD_FILES, WEAK_FILES, read_frequent
from training.held_out import HELD_OUT_FILES, SPLIT_BY_DIGEST, held_out, held_out_reading
from training.labels.readings import READINGS, NoTextsError, read_readings
from training.labels.targets import Kind, Target, target_of, target_of_reader
from training.near_copies import near_copies
from training.written_notes import LEXICON, Noted, read_notes

WEAK, CROWD, FILMS, COMMON, NOTES = "weak", "crowd", "films", "frequent", "notes"
_TASKS = {
    WEAK: (ClassifierRecipe(task="weak", frequent_turns=0), WEAK_FILES),
    CROWD: (ClassifierRecipe(task="dialogue", frequent_turns=0, workers_share=0.5), CROWD_FILES),
}
"""The tasks of the EDOS authors, with the splits on which the papers' classifiers are trained and tested, and their
files.
"""

OWN = {
    WEAK: (WEAK, "first_turns", 1.0),
    "weak_annotated": (WEAK, "annotated", None),
    CROWD: (CROWD, None, 1.0),
    "crowd_undecided": (CROWD, "unagreed", 0.5),
    "crowd_self_labelled": (CROWD, "self_labelled", 0.25),
}
"""Source of the EDOS authors → its task, the key of `ClassifierRecipe` that selects it, and the weight of its examples
there; None for replayed ones.
"""

ACTED = (FILMS, "meld", "emorynlp", "emotyda", "mustard")
"""Sources that partly cover the same episodes, segmented into other turns."""

NAMES = (*OWN, FILMS, COMMON, NOTES, *SOURCES)


@dataclass(frozen=True)
class Taught:
    """A dialogue with the targets of its turns.

    Attributes:
        turns: oldest first.
        targets: one for each turn; None if the turn has no target.
    """

    turns: tuple[str, ...]
    targets: tuple[Target | None, ...]


@dataclass(frozen=True)
class Corpus:
    """The training data, and what is held out.

    Attributes:
        train: source → its dialogues.
        held: source → held-out dialogues; for `weak` and `crowd` the validation splits.
        tests: `weak` and `crowd` → the test split, if one of their sources is named or their files exist.
        apart: set → all of its held-out texts, even if the set is not trained on.
        left_out: source → number of turns without a target because they are near-duplicates of held-out ones.
        counts: source → further counts, such as unreadable lines.
        files: name below the data folder → the file.
    """

    train: dict[str, list[Taught]]
    held: dict[str, list[Taught]]
    tests: dict[str, Part]
    apart: dict[str, list[str]]
    left_out: dict[str, int]
    counts: dict[str, dict[str, int]]
    files: dict[str, Path]


def load_corpus(sources: Mapping[str, float], folder: Path, cache: Path | None, short: int | None) -> Corpus:
    """Read the sources that a recipe names.

    Args:
        sources: names of the sources.
        folder: the data folder.
        cache: folder in which embeddings are cached.
        short: see `LabelsRecipe`; None where only held-out turns are wanted: near-copies of them stay in the others.

    Raises:
        ValueError: a source is unknown, or its files are missing.
    """
    if strange := sorted(set(sources) - set(NAMES)):
        raise ValueError(f"sources: {strange[0]!r} is unknown; there are {', '.join(NAMES)}")
    corpus = Corpus({}, {}, {}, {}, {}, {}, {})
    for task in dict.fromkeys([*(OWN[name][0] for name in sources if name in OWN), *_TASKS]):
        _read_task(task, sources, folder, cache, corpus)
    for name in dict.fromkeys([*sources, FILMS, *SOURCES]):
        if name == FILMS:
            _read_films(folder, name in sources, corpus)
        elif name == COMMON:
            examples = read_frequent(FREQUENT)
            corpus.train[name] = [_last(*each) for each in zip(examples.dialogues, examples.targets, strict=True)]
        elif name == NOTES:
            _read_notes(folder, corpus)
        elif name in SOURCES:
            _read_set(name, name in sources, folder, corpus)
    if short is not None:
        _leave_out_copies(corpus, short)
    if not any(corpus.held.values()):
        raise ValueError(f"the sources {', '.join(sources)} hold no turns out, to calibrate on: add one that does")
    return corpus


def _leave_out_copies(corpus: Corpus, short: int) -> None:
    for name in [name for name in corpus.train if name != COMMON]:
        kept = [part for part in without_copies(corpus.train[name], corpus, short, name in ACTED) if taught_texts(part)]
        corpus.left_out[name] = _taught(corpus.train[name]) - _taught(kept)
        corpus.train[name] = kept


def taught_texts(dialogue: Taught) -> list[str]:
    """Return the turns with a target."""
    return [text for text, target in zip(dialogue.turns, dialogue.targets, strict=True) if target is not None]


def _read_task(task: str, sources: Collection[str], folder: Path, cache: Path | None, corpus: Corpus) -> None:
    """Add the sources of a task that a recipe names, and the held-out split even if it names none,
    if the files exist.
    """
    recipe, files = _TASKS[task]
    wanted = {name: OWN[name] for name in sources if OWN.get(name, (None,))[0] == task}
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
    return Taught(tuple(turns), (*[None] * (len(turns) - 1), Target(values, Kind.SHARES)))


def _read_notes(folder: Path, corpus: Corpus) -> None:
    train, held = ([_of_note(each) for each in read_notes(folder, held_out)] for held_out in (False, True))
    corpus.train[NOTES], corpus.held[NOTES] = train, held
    corpus.files[f"notes/{LEXICON.name}"] = LEXICON
    corpus.apart[NOTES] = [text for each in held for text in taught_texts(each)]


def _of_note(noted: Noted) -> Taught:
    values = np.zeros(len(LABELS), np.float32)
    values[[*noted.shares]] = [*noted.shares.values()]
    return _last(noted.turns, values)


def _read_films(folder: Path, learned: bool, corpus: Corpus) -> None:
    """Add the held-out turns of films that we labelled by reading to a corpus and, if they are
    trained on, the others.
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
    """Add a third-party set: its held-out part and, if it is trained on, the rest without its test split."""
    parts: dict[str, list[Taught]] = {"train": [], "held": [], "test": []}
    read, rejects = _files_of(name, learned, folder), 0
    for file, split in read.items():
        for each in SOURCES[name].read(folder / file):
            if isinstance(each, Reject):
                rejects += 1
                continue
            taught = Taught(each.turns, tuple(target_of(name, names) for names in each.labels))
            parts[_part(name, split, file, each)].append(taught)
    corpus.apart[name] = [text for part in ("held", "test") for each in parts[part] for text in taught_texts(each)]
    if not learned:
        return
    corpus.counts[name] = {"rejected": rejects}
    if name == "xed":
        parts["train"], corpus.counts[name]["contradicted"] = _mended(parts["train"])
    corpus.train[name], corpus.held[name] = parts["train"], parts["held"]
    corpus.files.update({file: folder / file for file, split in read.items() if split != "test"})
    if not corpus.train[name]:
        wanted = ", ".join(chain.from_iterable(SOURCES[name].files.values()))
        raise ValueError(f"{folder} has nothing of the source {name!r} to learn from: expected {wanted}")


def _files_of(name: str, learned: bool, folder: Path) -> dict[str, str]:
    """Return the existing files of a set with their splits; files that are only for training are included only if
    wanted.
    """
    return {
        file: split
        for split, files in SOURCES[name].files.items()
        for file in files
        if (folder / file).is_file() and (learned or split == "test" or _holds_out(name, file))
    }


def _part(name: str, split: str, file: str, dialogue: LabelledDialogue) -> str:
    if split == "test":
        return "test"
    apart = held_out(name, _key(name, dialogue)) if name in SPLIT_BY_DIGEST else file == HELD_OUT_FILES[name]
    return "held" if apart else "train"


def _holds_out(name: str, file: str) -> bool:
    return name in SPLIT_BY_DIGEST or file == HELD_OUT_FILES[name]


def _mended(sentences: Sequence[Taught]) -> tuple[list[Taught], int]:
    """Return the sentences of XED without artefacts that reveal their labels, and how many are left out.

    XED's neutral sentences have lost their commas, so all commas are removed; neutral sentences that also occur under
    an emotion are left out.
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
    """Return the key that decides whether a dialogue of a set is held out; see `held_out`."""
    return dialogue.turns[0] if name == "xed" else dialogue.dialogue_id


def without_copies(dialogues: Sequence[Taught], corpus: Corpus, short: int, acted: bool) -> list[Taught]:
    """Return dialogues split at turns that are near-duplicates of held-out ones, which are removed.

    Args:
        dialogues: the dialogues of a source.
        corpus: has the held-out texts.
        short: see `LabelsRecipe`.
        acted: whether they may be of the same episodes as those in `ACTED`.
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
