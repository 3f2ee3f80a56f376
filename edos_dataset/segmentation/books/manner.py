"""How something is said, in the author's own words: "angrily", "whispered", "with a sigh".

Only the clause of the dialogue tag is read: verbs of saying that describe the voice, adverbs right beside the verb or
its subject, and phrases with "with" or "in" whose noun is a sound, a look or a feeling. A language without such words
in its rules has none.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache

from edos_dataset.segmentation.books.rules import Rules

_CLAUSE = re.compile(r"[.;:!?…—–(]|--")
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_UNTOLD = ("tone", "tones", "voice", "accents", "accent")
_TELLS = re.compile(r" (?:of|that|which|as|so)\b[^,]{2,70}")
_SPEAKING = frozenset(("speaking",))
_FAR = 160  # characters of narration
_PHRASE = 5  # words between "with" and its noun
_SUBJECT = 4  # words


def manner_of(lead: str, narration: Iterable[str], verbs: Iterable[str], rules: Rules) -> str | None:
    """Return how a turn is said, as written, several parts joined by "; "; None where its tags do not say so.

    Args:
        lead: narration before it in its paragraph.
        narration: between and after its quotes.
        verbs: of saying in its tags, in lower case; without any there is no tag.
        rules: of the language.
    """
    wanted = frozenset(verbs)
    if not wanted or not rules.voices:
        return None
    reader = _reader(rules)
    found: list[str] = []
    for clause in _clauses(lead, narration):
        if not wanted.isdisjoint(clause.lower().replace(",", " ").split()):
            found += reader.read(clause, wanted)
    return "; ".join(dict.fromkeys(found)) or None


def _clauses(lead: str, narration: Iterable[str]) -> Iterator[str]:
    """Yield the clauses in which tags stand: the last one before the speech, the first one behind a quote."""
    if lead:
        before = [part for part in _CLAUSE.split(lead[-_FAR:]) if part.strip(" ,’'\"”")]
        if before:
            yield before[-1]
    for text in narration:
        masked = text[:_FAR].lstrip(" ,")
        yield _CLAUSE.split(_TITLE_STOPS.sub(r"\1", masked), maxsplit=1)[0]


_TITLE_STOPS = re.compile(r"\b(Mr|Mrs|Ms|Dr|St|Rev|Mme|Mlle|Messrs)\.")


class _Reader:
    """Reads the clauses of tags in one language."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        nouns = "|".join(sorted(rules.feelings, key=len, reverse=True))
        self._phrase = re.compile(
            rf"\b(?:{'|'.join(sorted(rules.manner_leads))}) (?:[a-z’'-]+,? ){{0,{_PHRASE}}}?(?:{nouns})\b"
            rf"(?:(?: and | of )(?:[a-z’'-]+ ){{0,2}}?(?:{nouns})\b)?"
        )

    @cached_property
    def _breaks(self) -> frozenset[str]:
        return frozenset(self.rules.clause_breaks)

    def read(self, clause: str, verbs: frozenset[str]) -> list[str]:
        """Return the words about the voice, in order."""
        words = list(_WORD.finditer(clause))
        small = [word[0].lower() for word in words]
        at = next((place for place, word in enumerate(small) if word in verbs), None)
        if at is None:
            return []
        end = next((place for place in range(at + 1, len(small)) if small[place] in self._breaks), len(small))
        parts: list[tuple[int, str]] = []
        if small[at] in self.rules.voices:
            parts.append((words[at].start(), words[at][0]))
        before = self._adverbs_before(small, at)
        if before is not None:
            parts.append((words[before].start(), clause[words[before].start() : words[at - 1].end()]))
        behind = self._adverbs_behind(clause, words, small, at, end)
        if behind is not None:
            parts.append((words[behind[0]].start(), clause[words[behind[0]].start() : words[behind[1]].end()]))
        stop = words[end - 1].end()
        parts += self._phrases(clause, words[at].start(), stop)
        return [text for _, text in sorted(parts)]

    def _phrases(self, clause: str, begin: int, stop: int) -> list[tuple[int, str]]:
        """Return the phrases between two places, with where they begin; one right behind another belongs to it."""
        found: list[tuple[int, int]] = []
        for phrase in self._phrase.finditer(clause, begin, stop):
            if not self._breaks.isdisjoint(phrase[0].lower().split()):
                continue
            first, last = phrase.span()
            if phrase[0].endswith(_UNTOLD):
                more = _TELLS.match(clause, last)
                joined = bool(found) and first == found[-1][1] + 1
                if more is None and not joined and self._is_bare(phrase[0]):
                    continue
                last = more.end() if more else last
            if found and first == found[-1][1] + 1:
                found[-1] = found[-1][0], last
            elif not found or first > found[-1][1]:
                found.append((first, last))
        return [(first, clause[first:last].rstrip()) for first, last in found]

    def _is_bare(self, phrase: str) -> bool:
        """Return whether nothing describes the noun of a phrase: "in a tone"."""
        return phrase.count(" ") < 3 and phrase.split()[1] in self.rules.articles

    def _is_adverb(self, word: str) -> bool:
        rules = self.rules
        return word.endswith(rules.adverb_endings) and len(word) > 4 and word not in rules.no_manner

    def _adverbs_before(self, small: list[str], at: int) -> int | None:
        """Return the first of the adverbs right before the verb."""
        place = at
        while place and self._is_adverb(small[place - 1]):
            place -= 1
        if place == at:
            return None
        return self._with_degrees(small, place, 0)

    def _with_degrees(self, small: list[str], place: int, begin: int) -> int:
        """Return where the words of degree before an adverb begin: "a little", "very"."""
        while place > begin and small[place - 1] in self.rules.degrees:
            place -= 1
        return place

    def _adverbs_behind(
        self, clause: str, words: list[re.Match[str]], small: list[str], at: int, end: int
    ) -> tuple[int, int] | None:
        """Return the first and the last of the adverbs behind the verb and its subject."""
        for place in range(at + 1, min(at + 2 + _SUBJECT, end)):
            word = small[place]
            if self._is_adverb(word):
                first = self._with_degrees(small, place, at + 1)
                last = place
                while last + 2 < end and small[last + 1] in ("and", "but", "yet") and self._is_adverb(small[last + 2]):
                    last += 2
                return (first, last) if self._ends_at(clause, words, small, last) else None
            joins = "," in clause[words[place - 1].end() : words[place].start()]
            if joins and word not in self.rules.degrees and not (place == at + 1 and word in _SPEAKING):
                return None  # behind the subject another clause begins
        return None

    def _ends_at(self, clause: str, words: list[re.Match[str]], small: list[str], last: int) -> bool:
        """Return whether nothing follows that the adverb may belong to, as in "highly amused"."""
        if last + 1 == len(small) or "," in clause[words[last].end() : words[last + 1].start()]:
            return True
        behind = small[last + 1]
        return behind in self.rules.stops and not behind.endswith("ing")


@lru_cache(maxsize=16)
def _reader(rules: Rules) -> _Reader:
    return _Reader(rules)
