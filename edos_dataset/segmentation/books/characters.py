"""The characters of a book, by the names under which it mentions them: "Mr. Darcy", "Darcy" and "Fitzwilliam Darcy" are
one, "Mr. Bennet" and "Mrs. Bennet" are two.

A name is one of a character if a dialogue tag has it ("said Alice") or a title stands before it ("Mr. Collins"). The
gender of a character is that of the title, else that of the pronouns that follow the name in narration.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from edos_dataset.segmentation.books.rules import Rules, small_words
from edos_dataset.segmentation.books.speakers import is_title

_CAPITALISED = re.compile(r"[A-ZÀ-ÖØ-ÞŐŰ][\w’'-]*")
_ROW = re.compile(rf"{_CAPITALISED.pattern}(?:\.? {_CAPITALISED.pattern})*")
_POSSESSIVE = re.compile(r"(?:['’]s?|--?)$")
_FEW = 40  # mentions of a name of which the pronouns are counted
_BEHIND = 90  # characters behind a mention in which a pronoun is looked for
_SEEN = 3  # pronouns
_SURE = 0.62  # share of the pronouns from which a gender is taken
_MOST_WORDS = 4  # of a name
_COMMON, _RARE = 2.0, 0.5  # times as often in lower case as with a capital: no name, if tags name it often or rarely
_OFTEN = 3  # tags
_DOMINANT = 0.9  # share of the mentions of those who bear a name, of the one who is meant by it
_MOST_NAMES = 1500  # of a book: comparing them takes time that grows with the square
_ALONE = 10  # mentions by a first name alone
_FULL = 3  # mentions of a full name under which somebody is shown
_PART, _SHORT_PART = 1 << 18, 1 << 16  # characters in which words of names, and others, are looked for in lower case

NOBODY = 1 << 40
"""A number that no character has."""

Key = tuple[str, ...]
"""Words of a name in lower case, titles without their full stop."""


@dataclass
class Character:
    """Somebody of whom a book speaks.

    Attributes:
        number: in the book, from 0, by how often they are named.
        name: under which the book mentions them most often.
        names: all of them, with the number of mentions of each.
        gender: "m", "f", or None where nothing says so.
        described: they have no name: "the old man".
    """

    number: int
    name: str
    names: Counter[str] = field(default_factory=Counter)
    gender: str | None = None
    described: bool = False

    @property
    def has_capital(self) -> bool:
        """Whether a word behind the first of the name has a capital: "the Hatter"."""
        return any(word[0].isupper() for word in self.name.split()[1:])


class Mention(NamedTuple):
    """A name in the text.

    Attributes:
        start, end: its characters in the text.
        key: its words.
    """

    start: int
    end: int
    key: Key


def key_of(name: str) -> Key:
    """Return the words of a name in lower case, titles without their full stop, without "'s"."""
    return tuple(_POSSESSIVE.sub("", word).rstrip(".").lower() for word in name.replace("’", "'").split())


class Cast:
    """The characters of a book, and who is meant by a name.

    Args:
        text: of the book; mentions are found in it.
        narration: where parts of the text begin, and whether each is narration, and not speech.
        tagged: the names of dialogue tags, as often as they occur.
        rules: of the language.
    """

    def __init__(
        self, text: str, starts: np.ndarray, is_narration: np.ndarray, tagged: Iterable[str], rules: Rules
    ) -> None:
        self.rules = rules
        tags = Counter(tagged)
        known = _known_words(tags, text[:_PART], rules)
        self.mentions = list(_mentions(text, known, rules))
        self.characters: list[Character] = []
        self._of: dict[Key, int] = {}
        self.starts, self.ends = (
            np.fromiter((mention[end] for mention in self.mentions), np.int64, len(self.mentions)) for end in (0, 1)
        )
        self.parts = np.searchsorted(starts, self.starts, side="right") - 1
        self._make(text, is_narration[self.parts].tolist(), tags, known)

    def of(self, name: str) -> int:
        """Return the number of the character with a name; -1 if there is none."""
        return self._of.get(key_of(name), -1)

    @property
    def numbers(self) -> np.ndarray:
        """The number of the character of each mention; NOBODY where it is none."""
        return np.fromiter((self._of.get(each.key, NOBODY) for each in self.mentions), np.int64, len(self.mentions))

    def _make(self, text: str, narrated: Sequence[bool], tags: Counter[str], known: frozenset[str]) -> None:
        counts: Counter[Key] = Counter(mention.key for mention in self.mentions)
        shown: dict[Key, Counter[str]] = defaultdict(Counter)
        for mention in self.mentions:
            if len(shown[mention.key]) < _FEW:
                shown[mention.key][_POSSESSIVE.sub("", text[mention.start : mention.end])] += 1
        stated: Counter[Key] = Counter()
        for name, count in tags.items():
            key = key_of(name)
            stated[key] += count
            counts[key] += count
            shown[key][name] += count
        genders = _genders(text, narrated, self.mentions, self.rules)
        counts = Counter(dict(counts.most_common(_MOST_NAMES)))
        groups = _Groups(counts, stated, genders, known, self.rules)
        order = sorted(groups.found, key=lambda group: (-sum(counts[key] for key in group.keys), group.keys[0]))
        for number, group in enumerate(order):
            names: Counter[str] = Counter()
            for key in group.keys:
                names[shown[key].most_common(1)[0][0]] += counts[key]
                self._of[key] = number
            full = [name for name in names if names[name] >= _FULL and _is_full(name, self.rules)]
            best = max(full or names, key=lambda name: (names[name], name))
            self.characters.append(Character(number, best, names, group.gender, group.described))


def _is_full(name: str, rules: Rules) -> bool:
    """Return whether a name has a first and a last name, and no title."""
    words = name.split()
    return len(words) in (2, 3) and words[0].lower() in rules.first_names


def _known_words(tags: Mapping[str, int], text: str, rules: Rules) -> frozenset[str]:
    """Return the words of the names of dialogue tags, without articles, titles, and words that a sentence begins."""
    words: Counter[str] = Counter()
    for name, count in tags.items():
        for part in name.replace("’", "'").split():
            if part[0].isupper() and not is_title(part, rules):
                words[_POSSESSIVE.sub("", part).lower()] += count
    for word in (*rules.pronouns, *rules.articles, *rules.particles, *rules.stops):
        words.pop(word, None)
    return frozenset(word for word, count in words.items() if _is_name(word, count, text))


def _is_name(word: str, tags: int, text: str) -> bool:
    """Return whether a word of tags is a name, and not one that begins a sentence."""
    small, large = text.count(f" {word} "), text.count(f" {word.capitalize()} ")
    return small <= (_COMMON if tags >= _OFTEN else _RARE) * large + 1


class _Common:
    """Words that a book also writes in lower case, and that therefore belong to no name: "Poor Elizabeth"."""

    def __init__(self, text: str, rules: Rules) -> None:
        self._text = text[:_SHORT_PART]
        self._known = dict.fromkeys((*rules.particles, *rules.stops, *rules.articles, *rules.pronouns), True)

    def __contains__(self, word: str) -> bool:
        found = self._known.get(word)
        if found is None:
            found = self._known[word] = f" {word} " in self._text or f" {word}," in self._text
        return found


class _Reader:
    """Reads names in rows of capitalised words; books repeat most rows, which are read once."""

    def __init__(self, text: str, known: frozenset[str], rules: Rules) -> None:
        self._known, self._titles, self._common = known, rules.bare_titles, _Common(text, rules)

    def names_in(self, row: str) -> tuple[Mention, ...]:
        """Return the names in a row, with their places in it."""
        found: list[Mention] = []
        words: list[tuple[int, int, str]] = []
        for token in _CAPITALISED.finditer(row):
            first, last = token.span()
            if words and not self._goes_on(row, words[-1], first):
                found += self._name(words)
                words = []
            word = token[0] if token[0].isalpha() else _POSSESSIVE.sub("", token[0].replace("’", "'"))
            words.append((first, last, word.lower()))
        return (*found, *self._name(words))

    def _goes_on(self, row: str, before: tuple[int, int, str], first: int) -> bool:
        """Return whether a word belongs to the name of the word before it: not behind "'s" or a full stop."""
        if row[before[1] : first] == ". ":
            return before[2] in self._titles
        return row[before[1] - 2 : before[1]] not in ("'s", "’s")

    def _name(self, words: Sequence[tuple[int, int, str]]) -> list[Mention]:
        known, titles = self._known, self._titles
        if not any(word in known or word in titles for _, _, word in words):
            return []
        begin, end = 0, len(words)
        while begin < end and self._is_common(words[begin][2]) and words[begin][2] not in titles:
            begin += 1
        while end > begin and self._is_common(words[end - 1][2]):
            end -= 1
        key = tuple(word for _, _, word in words[begin:end])
        if not 0 < len(key) <= _MOST_WORDS:
            return []
        if known.isdisjoint(key) and not (key[0] in titles and len(key) > 1):
            return []
        return [Mention(words[begin][0], words[end - 1][1], key)]

    def _is_common(self, word: str) -> bool:
        return word not in self._known and word in self._common


def _mentions(text: str, known: frozenset[str], rules: Rules) -> Iterator[Mention]:
    """Yield the names in a text: capitalised words in a row of which one is known, or that follow a title."""
    names_in = lru_cache(maxsize=1 << 14)(_Reader(text, known, rules).names_in)
    for row in _ROW.finditer(text):
        if names := names_in(row[0]):
            place = row.start()
            for first, last, key in names:
                yield Mention(place + first, place + last, key)


def _genders(
    text: str, narrated: Sequence[bool], mentions: Sequence[Mention], rules: Rules
) -> dict[Key, tuple[int, int]]:
    """Return how often "he" and "she" follow each name in narration."""
    seen: Counter[Key] = Counter()
    counts: dict[Key, list[int]] = defaultdict(lambda: [0, 0])
    for mention, tells in zip(mentions, narrated, strict=True):
        if not tells or seen[mention.key] >= _FEW:
            continue
        seen[mention.key] += 1
        for word in small_words(text[mention.end : mention.end + _BEHIND].partition("\n")[0]):
            person = rules.pronouns.get(word) or rules.possessives.get(word)
            if person in ("m", "f"):
                counts[mention.key][person == "f"] += 1
                break
    return {key: (m, f) for key, (m, f) in counts.items()}


def _gender(m: int, f: int) -> str | None:
    if m + f < _SEEN:
        return None
    return "m" if m >= _SURE * (m + f) else "f" if f >= _SURE * (m + f) else None


@dataclass
class _Group:
    """The names of one character."""

    keys: list[Key]
    words: set[str]
    first: str | None
    gender: str | None
    titles: set[str]
    count: int
    described: bool = False


class _Groups:
    """Joins names to characters, those with more words first."""

    def __init__(
        self,
        counts: Counter[Key],
        stated: Counter[Key],
        pronouns: Mapping[Key, tuple[int, int]],
        known: frozenset[str],
        rules: Rules,
    ) -> None:
        self.rules, self.counts = rules, counts
        self.found: list[_Group] = []
        self.pronouns = pronouns
        self._by_word: dict[str, list[_Group]] = defaultdict(list)
        rare = {key for key in counts if counts[key] < 2 and not stated[key] and self._is_strange(key, known)}
        for key in sorted(counts.keys() - rare, key=lambda key: (-len(self._split(key)[1]), -counts[key], key)):
            self._place(key)
        for key in sorted(rare):
            self._place_rare(key)

    def _split(self, key: Key) -> tuple[tuple[str, ...], tuple[str, ...]]:
        titles = self.rules.bare_titles
        begin = 0
        while begin < len(key) - 1 and key[begin] in titles:
            begin += 1
        return key[:begin], key[begin:]

    def _is_strange(self, key: Key, known: frozenset[str]) -> bool:
        """Return whether a name of several words is none of words that are names of persons elsewhere."""
        _, words = self._split(key)
        if len(words) == 1:
            return False
        firsts = self.rules.first_names
        return not (len(words) == 2 and words[1] in known and (words[0] in known or words[0] in firsts))

    def _place(self, key: Key) -> None:
        titles, words = self._split(key)
        gender = self._gender_of(titles, words)
        group = None if words[0] in self.rules.articles else self._bearer(titles, words, gender)
        if group is None:
            self._add(key, titles, words, gender, words[0] in self.rules.articles)
        else:
            self._join(group, key, titles, gender)

    def _place_rare(self, key: Key) -> None:
        """Give a name of several words that occurs once to somebody who bears one of them."""
        titles, words = self._split(key)
        groups = [group for word in words for group in self._by_word[word] if not group.described]
        if groups:
            self._join(max(groups, key=lambda group: group.count), key, (), None)
        else:
            self._add(key, titles, words, self._gender_of(titles, words), False)

    def _join(self, group: _Group, key: Key, titles: Sequence[str], gender: str | None) -> None:
        group.keys.append(key)
        group.titles.update(titles)
        group.count += self.counts[key]
        group.gender = group.gender or gender

    def _bearer(self, titles: Sequence[str], words: Sequence[str], gender: str | None) -> _Group | None:
        """Return who is meant by a name; None for somebody new."""
        fitting = [group for group in self._by_word[words[-1]] if self._fits(group, titles, words, gender)]
        if len(words) == 1:
            own = self._with_first(words[0], gender)
            if "sir" in titles or (own and not titles):
                fitting = own
        if not fitting:
            return None
        best = max(fitting, key=lambda group: group.count)
        if len(words) == 1 and best.count < _DOMINANT * sum(group.count for group in fitting):
            return best if best.first == words[0] and not titles else None
        return best

    def _with_first(self, word: str, gender: str | None) -> list[_Group]:
        """Return those of a first name."""
        first = self.rules.nicknames.get(word, word)
        return [group for group in self._by_word[first] if group.first == first and self._agree(group.gender, gender)]

    @staticmethod
    def _agree(one: str | None, other: str | None) -> bool:
        return one is None or other is None or one == other

    def _fits(self, group: _Group, titles: Sequence[str], words: Sequence[str], gender: str | None) -> bool:
        if group.described or not set(words) <= group.words or not self._agree(group.gender, gender):
            return False
        if self.rules.wives.isdisjoint(titles):
            if len(words) == 1 and titles and self._is_younger(group, titles, words):
                return False
            return not titles or self.rules.wives.isdisjoint(group.titles)
        return bool(group.titles) and group.titles <= set(titles)  # a mother is not her daughter

    def _is_younger(self, group: _Group, titles: Sequence[str], words: Sequence[str]) -> bool:
        """Return whether somebody is called by title, first and last name because the last one with the title means
        another: "Mr. John Knightley" is not "Mr. Knightley".
        """
        if group.first is None:
            return False
        whole = self.counts[(*titles, group.first, *words)]
        return whole >= _FULL and self.counts[(*titles, *words)] > whole and self.counts[(group.first,)] >= _ALONE

    def _gender_of(self, titles: Sequence[str], words: Sequence[str]) -> str | None:
        for title in titles:
            if (gender := self.rules.bare_titles.get(title)) in ("m", "f"):
                return gender
        if (known := self.rules.first_names.get(words[0])) is not None:
            return known
        counts = [self.pronouns.get(key, (0, 0)) for key in {tuple(words), tuple(words[:1])}]
        return _gender(sum(m for m, _ in counts), sum(f for _, f in counts))

    def _add(self, key: Key, titles: Sequence[str], words: Sequence[str], gender: str | None, described: bool) -> None:
        first = (
            self.rules.nicknames.get(words[0], words[0]) if (len(words) > 1 or not titles) and not described else None
        )
        group = _Group([key], set(words), first, gender, set(titles), self.counts[key], described)
        self.found.append(group)
        for word in {*words, *([first] if first else [])}:
            self._by_word[word].append(group)
