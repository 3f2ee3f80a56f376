"""Labels by film and by year. Of more than `MOST` films those with the least hashes are kept, with all that they say:
which, depends on neither order nor processes.
"""

from dataclasses import dataclass, field

import numpy as np

from edos_dataset.analysis.batch import NONE, Batch
from edos_dataset.arrays import Ints
from edos_dataset.text import hash64

MOST = 5_000
_ALL = 2.0**64


@dataclass
class Film:
    """What one film, or book, gave.

    Attributes:
        hash: of its id.
        dialogues: theirs.
        labels: [labels] turns of each.
    """

    hash: int
    dialogues: int
    labels: Ints


@dataclass
class Films:
    """Films with their labels, and years with theirs.

    Attributes:
        labels: number of labels.
        films: id → film; `MOST` of them at most.
        left: whether films were left out, as there are more.
        years: year, NONE where it is not known → dialogues, and [labels] turns of each.
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
        """Add what another one has counted."""
        self.left |= other.left
        self._put(other.films)
        for year, (dialogues, row) in other.years.items():
            self._put_year(year, dialogues, row)

    def number(self) -> int:
        """Return how many films there are; where some were left out, as estimated from the hashes of those kept."""
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
