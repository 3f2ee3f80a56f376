"""All counts of a report, made in one pass: batches may come in any order, and counts of parts are summed."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from edos_dataset.analysis.batch import NONE, Batch
from edos_dataset.analysis.duplicates import Keys
from edos_dataset.analysis.samples import Samples
from edos_dataset.analysis.words import WordCounts
from edos_dataset.arrays import Bools, Doubles, Ints
from edos_dataset.text import count_tokens, hash64

MOST = 5_000
_ALL = 2.0**64


@dataclass
class Film:
    """Counts of one film or book.

    Attributes:
        hash: Hash of its id.
        dialogues: Number of its dialogues.
        labels: [labels] turns of each label.
    """

    hash: int
    dialogues: int
    labels: Ints


@dataclass
class Films:
    """Counts by film and by year.

    Attributes:
        labels: Number of labels.
        films: Id → counts, of at most `MOST` films.
        left: Whether films were left out because there are more.
        years: Year (`NONE` if not known) → dialogues, and [labels] turns of each label.
    """

    labels: int
    films: dict[str, Film] = field(default_factory=dict)
    left: bool = False
    years: dict[int, tuple[int, Ints]] = field(default_factory=dict)

    def add(self, batch: Batch) -> None:
        """Count the films and years of a batch."""
        documents = batch.documents.dictionary_encode()
        if documents.null_count < len(documents):
            names = documents.dictionary.to_pylist()
            codes = documents.indices.fill_null(len(names)).to_numpy(zero_copy_only=False).astype(np.int64)
            dialogues, labels = self._table(batch, codes, len(names) + 1)
            found = zip(names, dialogues[:-1].tolist(), labels[:-1], strict=True)
            self._put({name: Film(hash64(name), count, row) for name, count, row in found})
        years, codes = np.unique(batch.years, return_inverse=True)
        for year, dialogues_, row in zip(years.tolist(), *self._table(batch, codes, len(years)), strict=True):
            self._put_year(year, int(dialogues_), row)

    def merge(self, other: "Films") -> None:
        """Add the counts of another object."""
        self.left |= other.left
        self._put(other.films)
        for year, (dialogues, row) in other.years.items():
            self._put_year(year, dialogues, row)

    def number(self) -> int:
        """Return the number of films; if some were left out, estimate it from the hashes of the others."""
        if not self.left:
            return len(self.films)
        return round((len(self.films) - 1) * _ALL / max(film.hash for film in self.films.values()))

    def _table(self, batch: Batch, codes: Ints, size: int) -> tuple[Ints, Ints]:
        there = batch.labels != NONE
        cells = codes[batch.of_turn[there]] * self.labels + batch.labels[there]
        table = np.bincount(cells, minlength=size * self.labels).reshape(size, self.labels)
        return np.bincount(codes, minlength=size), table

    def _put(self, films: dict[str, Film]) -> None:
        for name, film in films.items():
            mine = self.films.get(name)
            self.films[name] = (
                film if mine is None else Film(film.hash, mine.dialogues + film.dialogues, mine.labels + film.labels)
            )
        if len(self.films) > MOST:
            kept = sorted(self.films, key=lambda name: (self.films[name].hash, name))[:MOST]
            self.films = {name: self.films[name] for name in kept}
            self.left = True

    def _put_year(self, year: int, dialogues: int, labels: Ints) -> None:
        before, row = self.years.get(year, (0, np.zeros(self.labels, np.int64)))
        self.years[year] = (before + dialogues, row + labels)


PLACES = 8
"""Places in a dialogue that are counted separately; the last includes all later ones."""
FLOW_TURNS = 4
"""First turns of a dialogue whose labels the flow diagram shows, as in the EDOS paper (Figure 3)."""
BINS = 20
"""Bins of confidence and certainty, of equal width from 0 to 1."""
MOST_TURNS, MOST_TOKENS, MOST_TOKENS_OF_DIALOGUE = 50, 100, 500
"""The last bin of a histogram of lengths includes all longer ones."""
BLOCKS = 200
"""Blocks of films, or of dialogues if the film is not known, that the bootstrap resamples."""


@dataclass
class Counts:
    """Counts of a dataset; `merge` sums them.

    Attributes:
        labels: Number of labels.
        word_share: Fraction of the dialogues, drawn by hash, whose words are counted.
        dialogues, turns, tokens: Split → number.
        turns_of_dialogue, tokens_of_turn, tokens_of_dialogue: Histograms with one bin per length.
        places: [PLACES, labels + 1] turns by position and label; the last column is for unlabelled turns.
        last_turns: [labels + 1] the same for the last turns of dialogues.
        transitions: [labels, labels] counts of the column's label in the turn after the row's label.
        flows: [labels of the first turn, FLOW_TURNS - 1, labels, labels] the same over the first turns.
        confidence: [labels, BINS] turns; `confidence_sums`: [labels] sums of their confidences.
        reliability: [BINS, 3] of turns whose correct label is known: number, sum of confidences, number correct.
        given: [2, labels] turns with `top`, and sums of the probabilities of their labels in it, × 1e6.
        certainty: [BINS] dialogues; `boundaries`: [BINS] turns by the certainty of the boundary before them.
        blocks: [2, BLOCKS, labels] turns by resampling block: all turns, and the first turns of dialogues.
    """

    labels: int
    word_share: float = 1.0
    dialogues: Counter[str] = field(default_factory=Counter)
    turns: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)
    turns_of_dialogue: Ints = field(default_factory=lambda: np.zeros(MOST_TURNS + 1, np.int64))
    tokens_of_turn: Ints = field(default_factory=lambda: np.zeros(MOST_TOKENS + 1, np.int64))
    tokens_of_dialogue: Ints = field(default_factory=lambda: np.zeros(MOST_TOKENS_OF_DIALOGUE + 1, np.int64))
    certainty: Ints = field(default_factory=lambda: np.zeros(BINS, np.int64))
    boundaries: Ints = field(default_factory=lambda: np.zeros(BINS, np.int64))
    reliability: Doubles = field(default_factory=lambda: np.zeros((BINS, 3)))
    words_of: int = 0
    keys: Keys = field(default_factory=Keys)

    def __post_init__(self) -> None:
        size = self.labels
        self.places: Ints = np.zeros((PLACES, size + 1), np.int64)
        self.last_turns: Ints = np.zeros(size + 1, np.int64)
        self.transitions: Ints = np.zeros((size, size), np.int64)
        self.flows: Ints = np.zeros((size, FLOW_TURNS - 1, size, size), np.int64)
        self.confidence: Ints = np.zeros((size, BINS), np.int64)
        self.confidence_sums: Doubles = np.zeros(size)
        self.given: Doubles = np.zeros((2, size))
        self.blocks: Ints = np.zeros((2, BLOCKS, size), np.int64)
        self.words, self.films, self.samples = WordCounts(size), Films(size), Samples(size)

    @property
    def of_label(self) -> Ints:
        """[labels] turns of each label."""
        turns: Ints = self.places[:, :-1].sum(axis=0)
        return turns

    def add(self, batch: Batch, first: int = 0) -> None:
        """Count the dialogues of a batch; `first` is the position of its first one, by which samples are found."""
        hashes = batch.hashes()
        ranks: Doubles = hashes / _ALL
        self._add_sizes(batch)
        self._add_labels(batch)
        self._add_sureness(batch)
        self.blocks += self._of_blocks(batch, (hashes % np.uint64(BLOCKS)).astype(np.int64))
        chosen: Bools = ranks < self.word_share
        self.words_of += int(chosen.sum())
        self.words.add(batch.texts, batch.labels, chosen[batch.of_turn])
        self.keys.add(batch)
        self.films.add(batch)
        self.samples.add(batch, ranks, first)

    def merge(self, other: "Counts") -> None:
        """Add the counts of another object with the same labels."""
        for name, value in vars(other).items():
            mine = getattr(self, name)
            if isinstance(value, np.ndarray):
                mine += value
            elif isinstance(value, Counter):
                mine.update(value)
            elif hasattr(value, "merge"):
                mine.merge(value)
        self.words_of += other.words_of

    def _add_sizes(self, batch: Batch) -> None:
        lengths, tokens = np.diff(batch.offsets), count_tokens(batch.texts).to_numpy().astype(np.int64)
        self.dialogues[batch.split] += len(batch.ids)
        self.turns[batch.split] += len(tokens)
        self.tokens[batch.split] += int(tokens.sum())
        of_dialogue = np.bincount(batch.of_turn, tokens, len(batch.ids)).astype(np.int64)
        for histogram, values in (
            (self.turns_of_dialogue, lengths),
            (self.tokens_of_turn, tokens),
            (self.tokens_of_dialogue, of_dialogue),
        ):
            histogram += np.bincount(values.clip(max=len(histogram) - 1), minlength=len(histogram))

    def _add_labels(self, batch: Batch) -> None:
        size, labels, place = self.labels, batch.labels, batch.place
        column = np.where(labels == NONE, size, labels)
        cells = place.clip(max=PLACES - 1) * (size + 1) + column
        self.places += np.bincount(cells, minlength=self.places.size).reshape(self.places.shape)
        ends = batch.offsets[1:][np.diff(batch.offsets) > 0] - 1
        self.last_turns += np.bincount(column[ends], minlength=size + 1)
        after = np.flatnonzero((place > 0) & (labels != NONE))
        after = after[labels[after - 1] != NONE]
        pairs = labels[after - 1] * size + labels[after]
        self.transitions += np.bincount(pairs, minlength=size * size).reshape(size, size)
        starts = batch.offsets[batch.of_turn[after]]
        in_flow = (place[after] < FLOW_TURNS) & (labels[starts] != NONE)
        step = labels[starts[in_flow]] * (FLOW_TURNS - 1) + place[after[in_flow]] - 1
        cells = step * size * size + pairs[in_flow]
        self.flows += np.bincount(cells, minlength=self.flows.size).reshape(self.flows.shape)

    def _add_sureness(self, batch: Batch) -> None:
        sure = ~np.isnan(batch.confidence) & (batch.labels != NONE)
        labels, values = batch.labels[sure], batch.confidence[sure]
        bins = _bins(values)
        self.confidence += np.bincount(labels * BINS + bins, minlength=self.confidence.size).reshape(-1, BINS)
        self.confidence_sums += np.bincount(labels, np.rint(values * 1e6), self.labels) / 1e6
        probable = batch.probability()
        there = ~np.isnan(probable)
        for row, weights in enumerate((np.ones(there.sum()), np.rint(probable[there] * 1e6))):
            self.given[row] += np.bincount(batch.labels[there], weights, self.labels)
        judged = batch.truth[sure] != NONE
        right = (batch.truth[sure] == labels)[judged]
        for column, weights in enumerate((np.ones(len(right)), np.rint(values[judged] * 1e6) / 1e6, right)):
            self.reliability[:, column] += np.bincount(bins[judged], weights, BINS)
        for counted, values in ((self.certainty, batch.certainty), (self.boundaries, batch.boundaries)):
            counted += np.bincount(_bins(values[~np.isnan(values)]), minlength=BINS)

    def _of_blocks(self, batch: Batch, of_dialogue: Ints) -> Ints:
        documents = batch.documents.dictionary_encode()
        names = documents.dictionary.to_pylist()
        codes = documents.indices.fill_null(len(names)).to_numpy(zero_copy_only=False).astype(np.int64)
        of_film = np.array([*(hash64(name) % BLOCKS for name in names), NONE], np.int64)[codes]
        block = np.where(of_film == NONE, of_dialogue, of_film)
        labelled = np.flatnonzero(batch.labels != NONE)
        tables = []
        for turns in (labelled, labelled[batch.place[labelled] == 0]):
            cells = block[batch.of_turn[turns]] * self.labels + batch.labels[turns]
            tables.append(np.bincount(cells, minlength=BLOCKS * self.labels).reshape(BLOCKS, self.labels))
        return np.stack(tables)


def _bins(values: Doubles) -> Ints:
    bins: Ints = (values * BINS).clip(0, BINS - 1).astype(np.int64)
    return bins
