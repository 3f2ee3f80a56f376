"""The sets on which `domain.py` measures, in one form: data held out from all training, and what counts as right."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from edos_dataset.arrays import Bools, Ints
from edos_dataset.labels import INTENTS, LABEL_IDS, LABELS, parse_label
from edos_dataset.releases.formats.forms import SUFFIXES
from edos_dataset.releases.formats.readers import json_lines, opened
from edos_dataset.releases.formats.records import Dialogue, Record
from edos_dataset.releases.formats.selection import ALL
from edos_dataset.releases.formats.sheets import csv_rows
from edos_dataset.releases.formats.survey import checked_dialogues
from edos_dataset.releases.labelled_sets.label_sets import known_names, label_set, silent_on_intents
from edos_dataset.releases.labelled_sets.readers import SOURCES, LabelledDialogue
from edos_dataset.releases.raw import Reject, read_weak_labeler
from edos_dataset.text import shown
from training.classifier.data import load_data
from training.classifier.recipe import ClassifierRecipe
from training.held_out import SPLIT_BY_DIGEST, held_out, held_out_reading
from training.labels.readings import read_readings

TASKS = {"crowd": "dialogue", "weak": "weak"}
"""Set → the task of `ClassifierRecipe` whose test split it is."""

FILMS, AUTHORS, MUSTARD = "films", "weak_test", "mustard"
AUTHORS_FILE = "empathetic_dialogues/weak_labeler/test.txt"
SETS = {
    "crowd": "subtitle dialogues on whose last turn two of three workers agreed; the test part of the split",
    "weak": "single turns of EmpatheticDialogues and of phrases for intents; the test part of the weak labeler's set",
    "meld": "Friends, each utterance with one of seven emotions; the dev part",
    "emorynlp": "scenes of Friends, each utterance with one of seven emotions; a fifth of the dev part",
    "xed": "single sentences of OpenSubtitles, each with one or several of Plutchik's emotions or neutral; a fifth",
    "goemotions": "single comments of Reddit, each with one or several of 27 emotions or neutral; the dev part",
    "dailydialog": "dialogues for learners of English, each turn with one of six emotions or none; a fifth of the "
    "validation part",
    "swda": "telephone calls, the acts of which ours can stand for: questions, answers, signs of listening; the "
    "validation part",
    FILMS: "turns of sitcoms and of the EDOS authors' dialogues of subtitles, labelled by reading, by language models, "
    "not by people, once and unchecked; each label that the reader gave, one to three, counts as right. An eighth of "
    "the dialogues: others of the same episodes are learned from, and the confidence of `general` is fitted on these",
    AUTHORS: "single turns of EmpatheticDialogues and of phrases for intents; all of the authors' test.txt, on which "
    "the papers' weak labeler is right in 65.88 %",
    MUSTARD: "scenes of sitcoms (MUStARD++), the last utterance with one of ten emotions that the speaker means; half "
    "are sarcastic; a fifth",
}
"""Name → description."""

BY_NAME = (AUTHORS, MUSTARD)
"""Sets that are measured only if they are named: not everyone has them."""

INTENT_IDS: Ints = np.array([LABEL_IDS[name] for name in INTENTS])
CODED = ("swda",)
"""Sources whose labels are codes that a reader would not understand."""
JUDGED = "judged"
BLOCK = 50
"""Number of turns that are resampled together if a set is one dialogue."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Labelled turns that are held out from training.

    Attributes:
        name: name of the set.
        description: a phrase that describes it.
        classes: names of the classes.
        sets: [classes, 41], which of our labels stand for each class.
        intents: whether our 8 intents are possible answers; otherwise they are excluded.
        dialogues: turns, oldest first.
        judged: int64 [n], indices of the labelled turns among all turns.
        right: [n, classes], the right classes of each labelled turn, at least one.
        unreadable: reason → number of rejected rows.

    Raises:
        ValueError: no turn is labelled.
    """

    name: str
    description: str
    classes: tuple[str, ...]
    sets: Bools
    intents: bool
    dialogues: list[list[str]]
    judged: Ints
    right: Bools
    unreadable: Mapping[str, int]

    def __post_init__(self) -> None:
        """Check that there is something to measure on."""
        if not len(self.judged):
            raise ValueError(
                f"{self.name!r} has no turn with a label that one of ours can stand for; give one that has"
            )

    @property
    def clusters(self) -> Ints:
        """The group of each labelled turn, int64 [n]: its dialogue, or a block of turns if there is only
        one dialogue.
        """
        sizes = [len(turns) for turns in self.dialogues]
        if len(sizes) == 1:
            return self.judged // BLOCK
        found: Ints = np.repeat(np.arange(len(sizes)), sizes)[self.judged]
        return found


def read_set(name: str, folder: Path, cache: Path | None) -> HeldOut:
    """Return a set of `SETS`.

    Args:
        name: name of the set.
        folder: the data folder.
        cache: folder in which the embeddings that determine the splits of "crowd" and "weak" are cached.

    Raises:
        ValueError, OSError: its files are missing or malformed.
    """
    if name == FILMS:
        return _of_readings(folder)
    if name == AUTHORS:
        return _of_authors(folder / AUTHORS_FILE)
    return _of_task(name, folder, cache) if name in TASKS else _of_source(name, folder)


def _of_ours(
    name: str,
    description: str,
    dialogues: list[list[str]],
    labels: Sequence[Sequence[int]],
    unreadable: Mapping[str, int],
) -> HeldOut:
    """Return a set whose classes are our labels. `labels` are the right ones of each turn, over all dialogues; turns
    without any are history.
    """
    judged = np.array([turn for turn, ids in enumerate(labels) if len(ids)], np.int64)
    right = np.array([[label in labels[turn] for label in range(len(LABELS))] for turn in judged], bool)
    return HeldOut(
        name, description, LABELS, np.eye(len(LABELS), dtype=bool), True, dialogues, judged, right, unreadable
    )


def _of_task(name: str, folder: Path, cache: Path | None) -> HeldOut:
    test = load_data(ClassifierRecipe(task=TASKS[name], frequent_turns=0), folder, cache).test  # type: ignore[arg-type]
    labels: list[list[int]] = []
    for turns, label in zip(test.dialogues, test.labels.tolist(), strict=True):
        labels += [*([] for _ in turns[1:]), [label]]
    return _of_ours(name, SETS[name], test.dialogues, labels, {})


def _of_authors(path: Path) -> HeldOut:
    pairs = list(read_weak_labeler(path))
    return _of_ours(AUTHORS, SETS[AUTHORS], [[text] for text, _ in pairs], [[label] for _, label in pairs], {})


def _of_readings(folder: Path) -> HeldOut:
    read, counts = read_readings(folder)
    held = [each for each in read if held_out_reading(each.dialogue_id)]
    labels = [[LABEL_IDS[name] for name in names] for each in held for names in each.labels]
    lost = {f"{reason}, held out or not": number for reason, number in counts.items() if reason != "labelled"}
    return _of_ours(FILMS, SETS[FILMS], [list(each.turns) for each in held], labels, lost)


def _held_out_of(name: str, folder: Path) -> tuple[list[LabelledDialogue], dict[str, int]]:
    dialogues: list[LabelledDialogue] = []
    rejected: Counter[str] = Counter()
    files = SOURCES[name].files
    for file in files.get("dev") or files["all"]:
        for each in SOURCES[name].read(folder / file):
            if isinstance(each, Reject):
                rejected[each.reason] += 1
            elif _is_held_out(name, each):
                dialogues.append(each)
    return dialogues, dict(sorted(rejected.items()))


def _is_held_out(name: str, dialogue: LabelledDialogue) -> bool:
    if name not in SPLIT_BY_DIGEST:
        return True
    return held_out(name, dialogue.turns[0] if name == "xed" else dialogue.dialogue_id)


def _ours(labels: Iterable[str], meant: Mapping[str, frozenset[int]]) -> set[frozenset[int]]:
    """Return the meanings of a set's labels, without labels that have no counterpart in ours."""
    return {meant[label] for label in labels if label in meant}


def _of_source(name: str, folder: Path) -> HeldOut:
    dialogues, rejected = _held_out_of(name, folder)
    meant = _meanings(name)
    given = [_ours(labels, meant) for each in dialogues for labels in each.labels]
    judged = np.array([turn for turn, sets in enumerate(given) if sets], np.int64)
    sets = sorted(set(meant.values()), key=lambda ours: (-sum(ours in turn for turn in given), sorted(ours)))
    right = np.array([[ours in own for ours in sets] for own in given if own], bool)
    masks = np.array([np.isin(np.arange(len(LABELS)), list(ours)) for ours in sets])
    classes = tuple(_called(name, ours, [label for label in meant if meant[label] == ours]) for ours in sets)
    intents = not silent_on_intents(name)
    texts = [list(dialogue.turns) for dialogue in dialogues]
    return HeldOut(name, SETS[name], classes, masks, intents, texts, judged, right, rejected)


def _meanings(source: str) -> dict[str, frozenset[int]]:
    return {label: ours for label in sorted(known_names(source)) if (ours := _meant(source, label))}


def _meant(source: str, label: str) -> frozenset[int] | None:
    """Return those of our labels for which one of theirs stands alone, or None; DailyDialog's acts are ignored."""
    return None if label.startswith("act:") else label_set(source, [label])


def _called(source: str, ours: frozenset[int], theirs: Sequence[str]) -> str:
    """Return the name of a class: their label, or ours if several of theirs form one class or theirs are codes."""
    return theirs[0] if len(theirs) == 1 and source not in CODED else "|".join(LABELS[label] for label in sorted(ours))


def read_labelled_file(path: Path) -> HeldOut:
    """Return the turns of a file that a user labelled with our labels.

    Args:
        path: JSON lines, `{"dialogue_id", "turns": [{"text", "label"}, ...]}`, or CSV with the columns `text`, `label`
            and, if turns belong together, `dialogue_id`. A label is one of ours, or several that are all right:
            "annoyed|angry". Turns without a label are history.

    Raises:
        ValueError: it contains something that is not a dialogue or not one of our labels; the message names line and
            value.
        OSError: it cannot be read.
    """
    table = Path(str(path).removesuffix(".gz")).suffix.lower() in SUFFIXES["csv"]
    with opened(str(path)) as file:
        records = [_marked(record) for record in (csv_rows if table else json_lines)(file, str(path))]
    dialogues = list(checked_dialogues(lambda _: iter(records), ALL, str(path)))
    labels = [each for dialogue in dialogues for each in _labels_of(dialogue)]
    texts = [dialogue.texts for dialogue in dialogues]
    return _of_ours(path.stem, f"the labelled turns of {path.name}", texts, labels, {})


def _marked(record: Record) -> Record:
    """Return a record with its labels as ids under the key JUDGED, so that readers do not treat them as predicted
    labels.
    """
    where, value = record.place.at(record.number), record.value
    turns = value.get("turns") if isinstance(value, dict) else None
    if not isinstance(turns, list):
        return record._replace(value=_with_ids(value, where))
    if value.get("label"):
        raise ValueError(f"{where}: the label {shown(value['label'])} stands beside the dialogue: put it into its turn")
    marked = [_with_ids(turn, f"{where}, turn {number}") for number, turn in enumerate(turns, 1)]
    return record._replace(value=value | {"turns": marked})


def _with_ids(turn: Any, where: str) -> Any:  # noqa: ANN401 - whatever a line holds
    if not isinstance(turn, dict):
        return turn
    others = {key: inner for key, inner in turn.items() if key not in ("label", JUDGED)}
    return others | ({JUDGED: _ids(turn["label"], where)} if "label" in turn else {})


def _ids(label: object, where: str) -> list[int]:
    if label is None or label == "":
        return []
    if not isinstance(label, str):
        raise ValueError(f"{where}: a label must be a text such as 'annoyed' or 'annoyed|angry', got {shown(label)}")
    try:
        return [parse_label(name) for name in label.split("|")]
    except ValueError as error:
        raise ValueError(f"{where}: {error}; several that are right are joined by |") from error


def _labels_of(dialogue: Dialogue) -> Iterator[list[int]]:
    for extra in dialogue.turn_extras or [dialogue.extra] * len(dialogue.texts):
        yield json.loads(extra).get(JUDGED, []) if extra else []
