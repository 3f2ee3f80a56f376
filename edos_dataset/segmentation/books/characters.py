"""The characters of a book, by the names under which it mentions them: "Mr. Darcy", "Darcy" and "Fitzwilliam Darcy" are
one, "Mr. Bennet" and "Mrs. Bennet" are two.

A name is one of a character if a dialogue tag has it ("said Alice") or a title stands before it ("Mr. Collins"). The
gender of a character is that of the title, else that of the pronouns that follow the name in narration.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from edos_dataset.segmentation.books.rules import Rules, small_words
from edos_dataset.segmentation.books.speakers import is_title

_CAPITALISED = re.compile(r"[A-ZÀ-ÖØ-ÞŐŰ][\w’'-]*")
_POSSESSIVE = re.compile(r"(?:['’]s?|--?)$")
_FEW = 40  # mentions of a name of which the pronouns are counted
_BEHIND = 90  # characters behind a mention in which a pronoun is looked for
_SURE = 0.62  # share of the pronouns from which a gender is taken
_MOST_WORDS = 4  # of a name
_COMMON = 2  # times as often in lower case as with a capital: no name
_PART = 1 << 18  # characters in which a word in lower case is looked for

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

    def __init__(self, text: str, starts: np.ndarray, is_narration: np.ndarray, tagged: Iterable[str], rules: Rules) -> None:
        self.rules = rules
        tags = Counter(tagged)
        self.mentions = list(_mentions(text, _known_words(tags, text[:_PART], rules), rules))
        self.characters: list[Character] = []
        self._of: dict[Key, int] = {}
        self.starts = np.fromiter((mention.start for mention in self.mentions), np.int64, len(self.mentions))
        self.parts = np.searchsorted(starts, self.starts, side="right") - 1
        self._make(text, is_narration[self.parts].tolist(), tags)

    def of(self, name: str) -> int | None:
        """Return the number of the character with a name; None if there is none."""
        return self._of.get(key_of(name))

    def of_key(self, key: Key) -> int | None:
        """Return the number of the character with the words of a name; None if there is none."""
        return self._of.get(key)

    def _make(self, text: str, narrated: Sequence[bool], tags: Counter[str]) -> None:
        counts: Counter[Key] = Counter(mention.key for mention in self.mentions)
        shown: dict[Key, Counter[str]] = defaultdict(Counter)
        for mention in self.mentions:
            if len(shown[mention.key]) < _FEW:
                shown[mention.key][_POSSESSIVE.sub("", text[mention.start : mention.end])] += 1
        told: Counter[Key] = Counter()
        for name, count in tags.items():
            key = key_of(name)
            told[key] += count
            counts[key] += count
            shown[key][name] += count
        genders = _genders(text, narrated, self.mentions, self.rules)
        groups = _Groups(counts, told, genders, self.rules)
        order = sorted(groups.found, key=lambda group: (-sum(counts[key] for key in group.keys), group.keys[0]))
        for number, group in enumerate(order):
            names: Counter[str] = Counter()
            for key in group.keys:
                names[shown[key].most_common(1)[0][0]] += counts[key]
                self._of[key] = number
            best = max(names, key=lambda name: (names[name], name))
            self.characters.append(Character(number, best, names, group.gender, group.described))


def _known_words(tags: Iterable[str], text: str, rules: Rules) -> frozenset[str]:
    """Return the words of the names of dialogue tags, without articles, titles, and words that a sentence begins."""
    words: set[str] = set()
    for name in tags:
        for part in name.replace("’", "'").split():
            if part[0].isupper() and not is_title(part, rules):
                words.add(_POSSESSIVE.sub("", part).lower())
    words -= set(rules.pronouns) | rules.articles | rules.particles | rules.stops
    return frozenset(
        word for word in words if text.count(f" {word} ") <= _COMMON * text.count(f" {word.capitalize()} ") + 1
    )


class _Common:
    """Words that a book also writes in lower case, and that therefore belong to no name: "Poor Elizabeth"."""

    def __init__(self, text: str, rules: Rules) -> None:
        self._text = text[:_PART]
        self._known = dict.fromkeys((*rules.particles, *rules.stops, *rules.articles, *rules.pronouns), True)

    def __contains__(self, word: str) -> bool:
        found = self._known.get(word)
        if found is None:
            found = self._known[word] = f" {word} " in self._text or f" {word}," in self._text
        return found


def _mentions(text: str, known: frozenset[str], rules: Rules) -> Iterator[Mention]:
    """Yield the names in a text: capitalised words in a row of which one is known, or that follow a title."""
    titles, common = rules.bare_titles, _Common(text, rules)
    row: list[tuple[int, int, str]] = []
    wanted = False
    end = -2
    for found in _CAPITALISED.finditer(text):
        first, last = found.span()
        word = found[0]
        if not word.isalpha():
            word = _POSSESSIVE.sub("", word.replace("’", "'"))
        word = word.lower()
        joined = first == end + 1 and text[end] == " "
        if not joined and row and row[-1][2] in titles and text[end : first] == ". ":
            joined = True
        if not joined:
            if wanted:
                yield from _name(row, known, titles, common)
            row, wanted = [], False
        row.append((first, last, word))
        wanted = wanted or word in known or word in titles
        end = last if text[last - 1] != "s" or text[last - 2] not in "'’" else -2
    if wanted:
        yield from _name(row, known, titles, common)


def _name(
    row: list[tuple[int, int, str]], known: frozenset[str], titles: Mapping[str, str | None], common: _Common
) -> Iterator[Mention]:
    begin, end = 0, len(row)
    while begin < end and row[begin][2] not in known and row[begin][2] not in titles and row[begin][2] in common:
        begin += 1
    while end > begin and row[end - 1][2] not in known and row[end - 1][2] in common:
        end -= 1
    words = tuple(word for _, _, word in row[begin:end])
    if not 0 < len(words) <= _MOST_WORDS:
        return
    if any(word in known for word in words) or (words[0] in titles and len(words) > 1):
        yield Mention(row[begin][0], row[end - 1][1], words)


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
    if m + f < 2:
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
        self, counts: Counter[Key], told: Counter[Key], pronouns: Mapping[Key, tuple[int, int]], rules: Rules
    ) -> None:
        self.rules, self.counts = rules, counts
        self.found: list[_Group] = []
        self.pronouns = pronouns
        firsts: Counter[str] = Counter()
        for key in counts:
            titles, words = self._split(key)
            if len(words) > 1 and not titles:
                firsts[words[0]] += counts[key]
        self._by_word: dict[str, list[_Group]] = defaultdict(list)
        for key in sorted(counts, key=lambda key: (-len(self._split(key)[1]), -counts[key], key)):
            self._place(key)

    def _split(self, key: Key) -> tuple[tuple[str, ...], tuple[str, ...]]:
        titles = self.rules.bare_titles
        begin = 0
        while begin < len(key) - 1 and key[begin] in titles:
            begin += 1
        return key[:begin], key[begin:]

    def _place(self, key: Key) -> None:
        titles, words = self._split(key)
        rules = self.rules
        if words[0] in rules.articles:
            self._add(key, titles, words, self._gender_of(key, titles, words), True)
            return
        gender = self._gender_of(key, titles, words)
        fitting = [group for group in self._by_word[words[-1]] if self._fits(group, titles, words, gender)]
        if len(words) == 1 and not titles:
            by_first = [group for group in self._of_first(words[0]) if self._agree(group.gender, gender)]
            if by_first:
                fitting = by_first
        if titles and len(fitting) > 1 and len(words) == 1:
            same = [group for group in fitting if group.titles & set(titles)]
            fitting = same if len(same) == 1 else []
        if not fitting:
            self._add(key, titles, words, gender, False)
            return
        group = max(fitting, key=lambda group: group.count)
        group.keys.append(key)
        group.titles.update(titles)
        group.count += self.counts[key]
        group.gender = group.gender or gender

    def _of_first(self, word: str) -> list[_Group]:
        word = self.rules.nicknames.get(word, word)
        return [group for group in self._by_word[word] if group.first == word]

    @staticmethod
    def _agree(one: str | None, other: str | None) -> bool:
        return one is None or other is None or one == other

    def _fits(self, group: _Group, titles: Sequence[str], words: Sequence[str], gender: str | None) -> bool:
        if group.described or not set(words) <= group.words or not self._agree(group.gender, gender):
            return False
        married = {"mrs", "miss"}
        kinds = (group.titles | set(titles)) & married
        return len(kinds) < 2 or not titles

    def _gender_of(self, key: Key, titles: Sequence[str], words: Sequence[str]) -> str | None:
        for title in titles:
            if (gender := self.rules.bare_titles.get(title)) in ("m", "f"):
                return gender
        m, f = self.pronouns.get(key, (0, 0))
        found = _gender(m, f)
        if found is None and len(words) > 1:
            found = _gender(*self.pronouns.get((words[0],), (0, 0)))
        return found

    def _add(
        self, key: Key, titles: Sequence[str], words: Sequence[str], gender: str | None, described: bool
    ) -> None:
        first = self.rules.nicknames.get(words[0], words[0]) if (len(words) > 1 or not titles) and not described else None
        group = _Group([key], set(words), first, gender, set(titles), self.counts[key], described)
        self.found.append(group)
        for word in {*words, *([first] if first else [])}:
            self._by_word[word].append(group)
