"""The sets on which `domain.py` measures, in one form: what no model learned from, and what counts as right there."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from edos_dataset.arrays import Bools, Ints
from edos_dataset.labels import INTENTS, LABEL_IDS, LABELS, parse_label
from edos_dataset.releases.given.dialogue import Dialogue, unique
from edos_dataset.releases.given.forms import SUFFIXES
from edos_dataset.releases.given.json_texts import json_lines
from edos_dataset.releases.given.records import Record, dialogues_of
from edos_dataset.releases.given.streams import opened
from edos_dataset.releases.given.tables import csv_rows
from edos_dataset.releases.labelled_sets.label_sets import known_names, label_set, silent_on_intents
from edos_dataset.releases.labelled_sets.record import LabelledDialogue
from edos_dataset.releases.labelled_sets.sources import SOURCES
from edos_dataset.releases.raw import Reject
from edos_dataset.text import shown
from training.classifier.data import load_data
from training.classifier.recipe import ClassifierRecipe
from training.held_out import PARTED, held_out, held_out_reading
from training.labels.readings import read_readings

TASKS = {"crowd": "dialogue", "weak": "weak"}
"""Set → task of `ClassifierRecipe` whose test part it is."""

FILMS = "films"
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
}
"""Name → what it is."""

INTENT_IDS: Ints = np.array([LABEL_IDS[name] for name in INTENTS])
CODED = ("swda",)
"""Sources whose labels are codes that nobody reads."""
JUDGED = "judged"
BLOCK = 50
"""Turns that are drawn together where a set is one dialogue."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Judged turns.

    Attributes:
        name: of the set.
        told: what it is, in a phrase.
        classes: what can be right, by name.
        sets: [classes, 41], which of our labels stand for each.
        intents: our 8 intents are answers there; otherwise they are left out.
        dialogues: turns, oldest first.
        judged: int64 [n] numbers of the judged turns, counted through all dialogues.
        right: [n, classes], what is right for each; at least one.
        unreadable: reason → rows that the reader rejected.

    Raises:
        ValueError: no turn is judged.
    """

    name: str
    told: str
    classes: tuple[str, ...]
    sets: Bools
    intents: bool
    dialogues: list[list[str]]
    judged: Ints
    right: Bools
    unreadable: Mapping[str, int]

    def __post_init__(self) -> None:
        """Refuse a set on which nothing can be measured."""
        if not len(self.judged):
            raise ValueError(
                f"{self.name!r} has no turn with a label that one of ours can stand for; give one that has"
            )

    @property
    def clusters(self) -> Ints:
        """What belongs together, int64 [n]: the dialogue; blocks of turns where there is but one."""
        sizes = [len(turns) for turns in self.dialogues]
        if len(sizes) == 1:
            return self.judged // BLOCK
        found: Ints = np.repeat(np.arange(len(sizes)), sizes)[self.judged]
        return found


def read_set(name: str, folder: Path, cache: Path | None) -> HeldOut:
    """Return a set of `SETS`.

    Args:
        name: of the set.
        folder: of the data.
        cache: folder that keeps embeddings, by which the parts of "crowd" and "weak" are found.

    Raises:
        ValueError, OSError: its files are not there, or are none.
    """
    if name == FILMS:
        return _of_readings(folder)
    return _of_task(name, folder, cache) if name in TASKS else _of_source(name, folder)


def _of_ours(
    name: str, told: str, dialogues: list[list[str]], labels: Sequence[Sequence[int]], unreadable: Mapping[str, int]
) -> HeldOut:
    """Return a set whose classes are our labels: those of each turn, counted through all dialogues, are right; turns
    without any are history.
    """
    judged = np.array([turn for turn, ids in enumerate(labels) if len(ids)], np.int64)
    right = np.array([[label in labels[turn] for label in range(len(LABELS))] for turn in judged], bool)
    return HeldOut(name, told, LABELS, np.eye(len(LABELS), dtype=bool), True, dialogues, judged, right, unreadable)


def _of_task(name: str, folder: Path, cache: Path | None) -> HeldOut:
    test = load_data(ClassifierRecipe(task=TASKS[name], frequent_turns=0), folder, cache).test  # type: ignore[arg-type]
    labels: list[list[int]] = []
    for turns, label in zip(test.dialogues, test.labels.tolist(), strict=True):
        labels += [*([] for _ in turns[1:]), [label]]
    return _of_ours(name, SETS[name], test.dialogues, labels, {})


def _of_readings(folder: Path) -> HeldOut:
    read, counts = read_readings(folder)
    held = [each for each in read if held_out_reading(each.dialogue_id)]
    labels = [[LABEL_IDS[name] for name in names] for each in held for names in each.labels]
    lost = {f"{reason}, held out or not": number for reason, number in counts.items() if reason != "labelled"}
    return _of_ours(FILMS, SETS[FILMS], [list(each.turns) for each in held], labels, lost)


def _of_source(name: str, folder: Path) -> HeldOut:
    dialogues: list[LabelledDialogue] = []
    rejected: Counter[str] = Counter()
    files = SOURCES[name].files
    for file in files.get("dev") or files["all"]:
        for each in SOURCES[name].read(folder / file):
            if isinstance(each, Reject):
                rejected[each.reason] += 1
            elif name not in PARTED or held_out(name, each.turns[0] if name == "xed" else each.dialogue_id):
                dialogues.append(each)
    meant = {label: ours for label in sorted(known_names(name)) if (ours := _meant(name, label))}
    given = [{meant[label] for label in labels if label in meant} for each in dialogues for labels in each.labels]
    judged = np.array([turn for turn, sets in enumerate(given) if sets], np.int64)
    sets = sorted(set(meant.values()), key=lambda ours: (-sum(ours in turn for turn in given), sorted(ours)))
    right = np.array([[ours in given[turn] for ours in sets] for turn in judged], bool)
    masks = np.array([[label in ours for label in range(len(LABELS))] for ours in sets])
    classes = tuple(_called(name, ours, [label for label in meant if meant[label] == ours]) for ours in sets)
    intents = not silent_on_intents(name)
    texts = [list(dialogue.turns) for dialogue in dialogues]
    return HeldOut(name, SETS[name], classes, masks, intents, texts, judged, right, dict(sorted(rejected.items())))


def _meant(source: str, label: str) -> frozenset[int] | None:
    """Return our labels for which one of theirs stands by itself; DailyDialog's acts are left aside."""
    return None if label.startswith("act:") else label_set(source, [label])


def _called(source: str, ours: frozenset[int], theirs: Sequence[str]) -> str:
    """Return the name of a class: their label, or ours where several of theirs are one class or theirs are codes."""
    return theirs[0] if len(theirs) == 1 and source not in CODED else "|".join(LABELS[label] for label in sorted(ours))


def read_labelled_file(path: Path) -> HeldOut:
    """Return the turns that a file of somebody's own labels by ours.

    Args:
        path: JSON lines, `{"dialogue_id", "turns": [{"text", "label"}, ...]}`, or CSV with the columns `text`, `label`
            and, where turns belong together, `dialogue_id`. A label is one of ours, or several that are all right,
            "annoyed|angry"; a turn without one is history.

    Raises:
        ValueError: something in it is no dialogue or no label of ours; the message names line and value.
        OSError: it cannot be read.
    """
    table = Path(str(path).removesuffix(".gz")).suffix.lower() in SUFFIXES["csv"]
    with opened(str(path)) as file:
        records = csv_rows(file, str(path), None) if table else json_lines(file, str(path))
        dialogues = list(unique(dialogues_of(_marked(record) for record in records)))
    labels = [each for dialogue in dialogues for each in _labels_of(dialogue)]
    texts = [dialogue.texts for dialogue in dialogues]
    return _of_ours(path.stem, f"the labelled turns of {path.name}", texts, labels, {})


def _marked(record: Record) -> Record:
    """Return a record whose labels are ids below the key JUDGED, where nothing takes them for labels of ours made
    anew.
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
    """Yield the ids of the labels of each turn."""
    for extra in dialogue.turn_extras or [dialogue.extra] * len(dialogue.texts):
        yield json.loads(extra).get(JUDGED, []) if extra else []
