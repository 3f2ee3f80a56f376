"""The data of response metrics: texts as numbers, vocabularies with vectors and probabilities, and their files.

Words are separated by white space and not changed: lower-case the texts or split off their punctuation beforehand if
that is wanted. The vocabulary of dialog-eval consists of the words of the vector file and of the vocabulary file; the
latter have zero vectors. All other words are treated as one, `<unk>`. Probabilities of words and bigrams come from a
single text, the contexts of the training set.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, count
from pathlib import Path

import numpy as np

from edos_dataset.arrays import Bools, Doubles, Ints
from edos_dataset.text import shown


def new_lexicon() -> defaultdict[str, int]:
    """Return an empty lexicon, which numbers words from 0 in the order of their first lookup."""
    number: Callable[[], int] = count().__next__
    return defaultdict(number)


@dataclass(frozen=True)
class Texts:
    """Tokenised texts.

    Attributes:
        ids: [words of all texts], word numbers in a lexicon, text after text.
        lengths: [texts], number of words; 0 is allowed.
    """

    ids: Ints
    lengths: Ints

    def __len__(self) -> int:
        return len(self.lengths)

    @cached_property
    def starts(self) -> Ints:
        """[texts], start of each in `ids`."""
        return np.cumsum(self.lengths) - self.lengths

    @cached_property
    def rows(self) -> Ints:
        """[words], number of the text of each word."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    @cached_property
    def pairs(self) -> Ints:
        """[bigrams], position in `ids` of the first word of each bigram: every word but the last of its text."""
        return np.flatnonzero(self.rows[1:] == self.rows[:-1])

    def part(self, first: int, end: int) -> "Texts":
        """Return the texts from `first` up to, but excluding, `end`."""
        lengths = self.lengths[first:end]
        start = int(self.starts[first]) if len(lengths) else 0
        return Texts(self.ids[start : start + int(lengths.sum())], lengths)

    def padded(self, rows: Ints, fill: int) -> Ints:
        """Return the words of some texts as [rows, words of the longest, at least 1], padded with `fill`."""
        lengths = self.lengths[rows]
        columns = np.arange(max(1, int(lengths.max(initial=0))))
        there = columns < lengths[:, None]
        words = np.full(there.shape, fill, dtype=np.int64)
        words[there] = self.ids[(self.starts[rows][:, None] + columns)[there]]
        return words


def cut(texts: Sequence[str], lexicon: defaultdict[str, int]) -> Texts:
    """Split texts at white space; new words are added to the lexicon."""
    words = [text.split() for text in texts]
    lengths = np.fromiter(map(len, words), dtype=np.int64, count=len(words))
    numbers = map(lexicon.__getitem__, chain.from_iterable(words))
    return Texts(np.fromiter(numbers, dtype=np.int64, count=int(lengths.sum())), lengths)


def chunks(number: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield (first, end) of successive chunks of `number` rows, `size` each; the last may be shorter."""
    for first in range(0, number, size):
        yield first, min(first + size, number)


UNKNOWN = "<unk>"


@dataclass(frozen=True)
class Frequencies:
    """A distribution over n-grams, given as numbers.

    Attributes:
        codes: [n-grams], distinct and sorted.
        counts: [n-grams], how often each occurs.
    """

    codes: Ints
    counts: Ints

    @classmethod
    def of(cls, codes: Ints) -> "Frequencies":
        """Count n-grams."""
        found, counts = np.unique(codes, return_counts=True)
        return cls(found, counts.astype(np.int64))

    def places(self, codes: Ints) -> tuple[Ints, Bools]:
        """Return the position of each n-gram of `codes` in this distribution, and whether it has one."""
        if not len(self.codes):
            return np.zeros(len(codes), dtype=np.int64), np.zeros(len(codes), dtype=np.bool_)
        places = np.minimum(np.searchsorted(self.codes, codes), len(self.codes) - 1)
        return places, self.codes[places] == codes

    def probabilities(self, codes: Ints) -> Doubles:
        """Return the probability of each n-gram of `codes`, 0 for unseen ones."""
        places, there = self.places(codes)
        shares = np.append(self.counts / max(1, int(self.counts.sum())), 0.0)
        return shares[np.where(there, places, len(self.counts))]


@dataclass(frozen=True)
class Words:
    """A vocabulary, with word vectors and probabilities.

    Attributes:
        numbers: word → its number from 0; None if every word is known.
        vectors: [words, dimensions], zeros for words without one; None if there are no vectors.
        unigrams, bigrams: distributions of numbers and of `bigram_codes` in the training text; None without a text.
    """

    numbers: Mapping[str, int] | None = None
    vectors: Doubles | None = None
    unigrams: Frequencies | None = None
    bigrams: Frequencies | None = None

    @classmethod
    def of(
        cls,
        vectors: Mapping[str, Doubles] | None = None,
        vocabulary: Sequence[str] | None = None,
        train: Sequence[str] | None = None,
    ) -> "Words":
        """Build a vocabulary.

        Args:
            vectors: word → its vector, all of one length.
            vocabulary: additional words; by default those of `train`, as in dialog-eval. With vectors alone, only words
                that have one are known; without any argument, every word is.
            train: texts that give the probabilities of words and bigrams.
        """
        lexicon = new_lexicon()
        texts = None if train is None else cut(train, lexicon)
        if vocabulary is None and texts is None:  # no words are excluded
            numbers = None if vectors is None else {word: row for row, word in enumerate(vectors)}
            return cls(numbers, _matrix(vectors, len(vectors or ())))
        there = dict.fromkeys([*(vectors or ()), *(lexicon if vocabulary is None else vocabulary)])
        numbers = {word: row for row, word in enumerate(there)}
        words = cls(numbers, _matrix(vectors, len(numbers)))
        if texts is None:
            return words
        shared = words.find(list(lexicon))[0][texts.ids]
        return cls(
            numbers, words.vectors, Frequencies.of(shared), Frequencies.of(words.bigram_codes(shared, texts.pairs))
        )

    def find(self, words: Sequence[str]) -> tuple[Ints, Bools]:
        """Return the number of each word, that of `<unk>` for unknown ones, and which are known.

        Args:
            words: distinct words of a lexicon.
        """
        if self.numbers is None:
            return np.arange(len(words)), np.ones(len(words), dtype=np.bool_)
        numbers = self.numbers
        found = np.fromiter((numbers.get(word, -1) for word in words), dtype=np.int64, count=len(words))
        return np.where(found < 0, numbers.get(UNKNOWN, len(numbers)), found), found >= 0

    def bigram_codes(self, shared: Ints, pairs: Ints) -> Ints:
        """Return a number for each bigram.

        Args:
            shared: [words], numbers from `find`.
            pairs: positions of the first words, as `Texts.pairs`.
        """
        base = 1 << 31 if self.numbers is None else len(self.numbers) + 1
        return shared[pairs] * base + shared[pairs + 1]


def _matrix(vectors: Mapping[str, Doubles] | None, rows: int) -> Doubles | None:
    if vectors is None:
        return None
    dimensions = len(next(iter(vectors.values()))) if vectors else 0
    matrix = np.zeros((rows, dimensions))
    if vectors:
        matrix[: len(vectors)] = np.stack(list(vectors.values()))
    return matrix


def read_lines(path: str | Path) -> list[str]:
    """Return the lines of a UTF-8 file without their ends.

    Empty lines count, and other line breaks of Unicode do not end a line.

    Raises:
        ValueError: the file cannot be read or is not UTF-8.
    """
    path = Path(path) if isinstance(path, str) else path
    try:
        data = path.read_bytes()
        text = data.decode("utf-8-sig")
    except OSError as error:
        hint = "give its files one by one" if path.is_dir() else "give the path of a text file with one text per line"
        raise ValueError(f"{path} cannot be read: {error.strerror or error}; {hint}") from error
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{path}, line {line}: not UTF-8 ({error.reason}); save the file as UTF-8") from error
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def read_vectors(path: str | Path, wanted: Collection[str] | None = None) -> dict[str, Doubles]:
    """Read word vectors in the format of GloVe and fastText: per line a word and its numbers, separated by white space.

    A header line of two integers (words and dimensions), empty lines and words that contain white space are skipped. If
    a word has several lines, the last one counts.

    Args:
        path: the file.
        wanted: words to keep, to save memory; all by default. Every line is checked.

    Returns:
        Word → float64 [dimensions].

    Raises:
        ValueError: the file cannot be read or is malformed; the message names file and line.
    """
    vectors: dict[str, Doubles] = {}
    dimensions = 0
    for number, fields in _fields(Path(path) if isinstance(path, str) else path):
        where = f"{path}, line {number}"
        if not dimensions:
            dimensions = len(fields) - 1
        if not dimensions or len(fields) <= dimensions:
            raise ValueError(
                f"{where}: {len(fields) - 1} numbers behind the word {shown(fields[0])}, not {dimensions or 'one'} as "
                "before: give a file with a word and its vector per line, all of one length"
            )
        values = _numbers(fields[-dimensions:], where)
        if len(fields) > dimensions + 1:
            if all(map(_is_number, fields[1:-dimensions])):
                raise ValueError(
                    f"{where}: {len(fields) - 1} numbers behind the word {shown(fields[0])}, not {dimensions} as "
                    "before: give a file whose vectors are all of one length"
                )
            continue  # a word with white space in it never occurs in a text split at white space
        if wanted is None or fields[0] in wanted:
            vectors[fields[0]] = values
    if not dimensions:
        raise ValueError(f"{path} has no vectors: give a file with a word and its vector per line")
    return vectors


def _fields(path: Path) -> Iterator[tuple[int, list[str]]]:
    number = 0
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                fields = line.split()
                header = number == 1 and len(fields) == 2 and all(field.isdecimal() for field in fields)
                if fields and not header:
                    yield number, fields
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror or error}; give a file of word vectors") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}, below line {number}: not UTF-8 ({error.reason}); save the file as UTF-8") from error


def _numbers(fields: Sequence[str], where: str) -> Doubles:
    try:
        values = np.array(list(map(float, fields)))
    except ValueError:
        wrong = next(field for field in fields if not _is_number(field))
        raise ValueError(
            f"{where}: {shown(wrong)} is not a number: give a file with a word and its vector per line"
        ) from None
    if not np.isfinite(values).all():
        raise ValueError(f"{where}: a number of the vector is not finite: remove the word")
    return values


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True
