"""Labels that we gave to turns of films by reading, joined with the turns' texts.

The texts are copyrighted, so this repository holds only the labels, and the texts are read from the user's own files
(`training/readings/README.md`).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from edos_dataset.arrays import unnest
from edos_dataset.cleaning.lines import CleanLines
from edos_dataset.cleaning.rules import tidy_turns
from edos_dataset.crowd.answers import read_answers
from edos_dataset.labels import LABELS
from edos_dataset.releases.labelled_sets.readers import LabelledDialogue
from edos_dataset.releases.raw import Reject, read_extension
from edos_dataset.runs.pipeline import split_rejects
from edos_dataset.schema.tables import DETAIL
from edos_dataset.segmentation.sentences import SplitSentences
from edos_dataset.segmentation.turns.stage import smooth
from edos_dataset.sources.inventory import find_films
from edos_dataset.sources.read import ReadFilms
from training.transcripts.speakers import read_cues
from training.turns.data import read_text

READINGS = Path(__file__).parents[1] / "readings" / "turns.parquet"

_CROWD = "mturk_groundtruth_labels.csv"


class NoTextsError(ValueError):
    """None of the labelled texts was found."""


class Turn(NamedTuple):
    """A labelled turn without its text.

    Attributes:
        digest: the digest of its text, by `digest_of`.
        labels: label ids, best first; empty if it has no label.
        sentence_ids: those of a film, or of its cues if they name the speakers; empty if the file itself has turns.
    """

    digest: int
    labels: list[int]
    sentence_ids: list[int]


class Reading(NamedTuple):
    """A labelled dialogue without its texts.

    Attributes:
        file: the file of the film, or of the authors' labels; a path below the data folder.
        dialogue_id: unique in the file.
        turns: consecutive turns.
    """

    file: str
    dialogue_id: str
    turns: list[Turn]

    @property
    def labelled(self) -> int:
        """Number of turns that have labels."""
        return sum(bool(turn.labels) for turn in self.turns)


def digest_of(text: str) -> int:
    """Return the first 8 hex digits of the SHA-256 of a text, as a number."""
    return int.from_bytes(sha256(text.encode()).digest()[:4], "big")


def read_readings(data_dir: Path, readings: Path = READINGS) -> tuple[list[LabelledDialogue], dict[str, int]]:
    """Return the labelled dialogues, in the order of the file of labels, with texts from the user's own copies.

    Args:
        data_dir: the data folder, as named by EDOS_DATA_DIR.
        readings: the file of labels.

    Returns:
        The dialogues that have labels, as names, best first; turns without labels are kept as history. And the number
        of labelled turns that are `labelled`, or are not because of a `missing_file`, an `unreadable_file`, a
        `missing_dialogue` (no dialogue in the file has that id and length), or an `other_text` than the labelled one.

    Raises:
        NoTextsError: none of the texts was found.
        ValueError: a file of the authors has an unexpected form.
    """
    dialogues: list[LabelledDialogue] = []
    counts: Counter[str] = Counter()
    rows = _load(readings)
    for file, group in groupby(rows, key=lambda reading: reading.file):
        own = list(group)
        texts, otherwise = _texts(data_dir / file, own)
        for reading in own:
            turns = texts.get(reading.dialogue_id, ())
            if len(turns) != len(reading.turns):
                counts[otherwise] += reading.labelled
                continue
            dialogue = _with_texts(reading, turns)
            labelled = sum(map(bool, dialogue.labels))
            counts.update(labelled=labelled, other_text=reading.labelled - labelled)
            dialogues += [dialogue] if labelled else []
    if not dialogues:
        raise NoTextsError(
            f"{data_dir} has none of the texts that {readings} holds labels of, such as those of {rows[0].file}: give "
            "the folder of the data, as EDOS_DATA_DIR names it"
        )
    return dialogues, {reason: count for reason, count in counts.items() if count}


def _load(path: Path) -> list[Reading]:
    return [
        Reading(row["file"], row["dialogue_id"], [Turn(**turn) for turn in row["turns"]])
        for row in pq.read_table(path).to_pylist()
    ]


def _with_texts(reading: Reading, texts: Sequence[str]) -> LabelledDialogue:
    """Return a dialogue with the labels of those turns whose text has the stored digest."""
    labels = tuple(
        tuple(LABELS[label] for label in turn.labels) if digest_of(text) == turn.digest else ()
        for turn, text in zip(reading.turns, texts, strict=True)
    )
    return LabelledDialogue(reading.dialogue_id, tuple(texts), (None,) * len(texts), labels)


def _texts(path: Path, readings: Sequence[Reading]) -> tuple[Mapping[str, Sequence[str]], str]:
    """Return the turns of the dialogues found in a file, by id, and the reason why others are missing."""
    if not path.is_file():
        return {}, "missing_file"
    if path.suffix == ".merged":
        return _spoken_turns(path, readings)
    if path.suffix != ".csv":
        return _film_turns(path, readings)
    if path.name == _CROWD:
        answers = read_answers(path)
        return dict(zip(answers.tasks, answers.dialogues, strict=True)), "missing_dialogue"
    rows = read_extension(path, "spread" if "similar" in path.name else "self-label")
    turns = {row["dialogue_id"]: [turn["text"] for turn in row["turns"]] for row in rows if not isinstance(row, Reject)}
    return turns, "missing_dialogue"


def _film_turns(path: Path, readings: Sequence[Reading]) -> tuple[Mapping[str, Sequence[str]], str]:
    """Return the same for a subtitle file, its sentences joined into turns by `SegmentTurns` and `CleanTurns`.
    Sentences and words are those that were labelled, without later repairs.
    """
    lines, _ = split_rejects(ReadFilms()(find_films([path], "en").films))
    if not lines.num_rows:
        return {}, "unreadable_file"
    # The sentences as they were when labelled, before the stages had these parameters.
    clean, _ = split_rejects(CleanLines(mend=False)(lines.drop_columns([DETAIL])))
    sentences = unnest(SplitSentences(go_on_at_dash=False, end_at_capital=False)(clean), "sentences")[0]
    return _joined(sentences.field("id").to_pylist(), sentences.field("text"), readings), "missing_dialogue"


def _spoken_turns(path: Path, readings: Sequence[Reading]) -> tuple[Mapping[str, Sequence[str]], str]:
    """Return the same for timed cues with speakers; the cues, numbered from 1, take the place of sentences."""
    cues = read_cues(read_text(path)).cues
    if not cues:
        return {}, "unreadable_file"
    texts = pa.array([" ".join(cue.lines) for cue in cues], pa.string())
    return _joined(range(1, len(cues) + 1), texts, readings), "missing_dialogue"


def _joined(numbers: Sequence[int], texts: pa.StringArray, readings: Sequence[Reading]) -> dict[str, list[str]]:
    """Return the turns of the dialogues whose sentences were all found, by id.

    Args:
        numbers: ids of the sentences of a film.
        texts: texts of the sentences.
        readings: dialogues of the film.
    """
    place = {number: at for at, number in enumerate(numbers)}
    there = [reading for reading in readings if all(place.keys() >= set(turn.sentence_ids) for turn in reading.turns)]
    turns = [turn.sentence_ids for reading in there for turn in reading.turns]
    starts = np.cumsum([0, *map(len, turns)])
    chosen = texts.take(pa.array([place[number] for turn in turns for number in turn], pa.int64()))
    joined = pa.ListArray.from_arrays(pa.array(starts, pa.int32()), smooth(chosen, starts[:-1]))
    tidy = iter(tidy_turns(pc.binary_join(joined, " ")).to_pylist())
    return {reading.dialogue_id: [next(tidy) for _ in reading.turns] for reading in there}
