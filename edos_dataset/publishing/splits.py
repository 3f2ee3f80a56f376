"""How films and books are divided among the splits: by a hash of their keys, so that a film stays where it is when
others are added; few of them so that no split is empty.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from edos_dataset.schema import SPLITS

SHARES = (0.8, 0.1)
"""Fractions of films in train and validation; the rest is test (EDOS, Section 6, for its labelled dialogues)."""

SHARES_OF_BOOKS = (0.9, 0.05)
"""Fractions of books in train and validation (the Gutenberg Dialogue Dataset, Section 3)."""


@dataclass(frozen=True)
class Division:
    """A division of films or books among the splits.

    Attributes:
        shares: Fractions of all films or books in train and in validation, 0 to 1; the rest is test.
        seed: Another seed gives another division.
        fill: Whether films or books are moved if a split would be empty; see `filled`.
        moved: Key → split of those that were moved.
    """

    shares: tuple[float, float] = SHARES
    seed: int = 0
    fill: bool = False
    moved: Mapping[str, str] = field(default_factory=dict)

    def split_of(self, key: str) -> str:
        """Return the split of a film or book, for all its files and in every config."""
        return self.moved.get(key) or split_of(key, self.shares, self.seed)

    @property
    def wanted(self) -> list[str]:
        """The splits that should have films or books, in order."""
        fractions = (*self.shares, 1 - sum(self.shares))
        return [split for split, fraction in zip(SPLITS, fractions, strict=True) if fraction > 1e-9]

    @property
    def as_text(self) -> str:
        """The shares in percent: "80/10/10"."""
        return "/".join(f"{100 * fraction:.4g}" for fraction in (*self.shares, max(0.0, 1 - sum(self.shares))))

    @property
    def parameters(self) -> dict[str, object]:
        """What a user chose, by the names of the options, as far as it decides where a film or book goes."""
        return {"--splits": self.as_text, "--split-seed": self.seed, "empty splits filled": self.fill}

    def filled(self, keys: Iterable[str]) -> "Division":
        """Return the division in which no split is empty, as far as there are films or books for it.

        An empty split gets one from the split with the most: the one whose hash is the largest.

        Args:
            keys: All films or books that have dialogues.
        """
        if not self.fill:
            return self
        places = {key: _place_of(key, self.seed) for key in keys}
        found = {key: self.split_of(key) for key in sorted(places, key=places.__getitem__, reverse=True)}
        moved = dict(self.moved)
        for split in self.wanted:
            sizes = Counter(found.values())
            largest = max(SPLITS, key=sizes.__getitem__)
            if not sizes[split] and (sizes[largest] > 1 or (split == self.wanted[0] and sizes[largest])):
                key = next(key for key, its in found.items() if its == largest)
                found[key] = moved[key] = split
        return replace(self, moved=moved)


def _place_of(key: str, seed: int = 0) -> float:
    """Return a number from 0 to 1, the same for a key in every corpus."""
    seeded = f"{seed} {key}" if seed else key
    return int.from_bytes(hashlib.sha256(seeded.encode()).digest()[:8], "big") / 2**64


def split_of(film: str, shares: tuple[float, float] = SHARES, seed: int = 0) -> str:
    """Return the split of a film or a book, by a hash of its key: the same in every corpus, and for all its files.

    Args:
        film: Its key.
        shares: Fractions of all films in train and in validation, 0 to 1.
        seed: Another seed gives another division.
    """
    place = _place_of(film, seed)
    if place < shares[0]:
        return "train"
    return "validation" if place < sum(shares) else "test"


def parse_shares(given: str | Sequence[float]) -> tuple[float, float]:
    """Return fractions of train and validation, given those of all three splits in any scale: "80/10/10".

    Raises:
        ValueError: these are not three numbers from 0, of which that of train is larger.
    """
    try:
        numbers = [float(each) for each in (given.split("/") if isinstance(given, str) else given)]
    except (ValueError, TypeError):
        numbers = []
    if len(numbers) != 3 or not all(0 <= number < float("inf") for number in numbers) or not numbers[0]:
        raise ValueError(f"--splits {given}: give the shares of train, validation and test, as in 80/10/10")
    return numbers[0] / sum(numbers), numbers[1] / sum(numbers)


def division_of(
    splits: str | Sequence[float] | None, seed: int, otherwise: tuple[float, float], fill: bool
) -> Division:
    """Return the division that a user asks for.

    Args:
        splits: Shares as in `parse_shares`; None for `otherwise`.
        seed: Its seed.
        otherwise: The fractions by default.
        fill: Whether to fill empty splits if no shares are given; with shares they are filled.

    Raises:
        ValueError: The shares are none.
    """
    shares = otherwise if splits is None else parse_shares(splits)
    return Division(shares, seed, fill or splits is not None)
