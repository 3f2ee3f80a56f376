"""Who speaks, by the dialogue tags beside the speech: "said X", "X replied:"."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from edos_dataset.segmentation.books.rules import Rules, small_words

_WINDOW = 90  # characters of narration beside speech that are read
_SENTENCE_ENDS = frozenset(".;:!?…")
_COLONS = (":", ":--", ":—", ":–")
_LEADS_IN = frozenset((":", ",", "—", "–", "--"))
_ENDS_OF_TAGS = frozenset(".,;")
_BESIDE = 70  # characters of narration in which a word says that what follows is written
_NEAR = 9  # tokens from the speech to its verb
_NEAR_BEGINNING = 5  # the same where a sentence begins behind the speech
_LONGEST_SUBJECT = 4  # words
_JOINING = frozenset("of de da di do dos del della von van der den zu la le du y ten".split())  # noqa: SIM905

_TOKEN = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|[.,;:!?…—–()]|--")
_ASCII_MARKS = (*".,;:!?()", "--")
_ASCII_TOKENS = bytes(  # whatever belongs to no token becomes a space
    code if code < 128 and (chr(code).isalnum() or chr(code) in ".,;:!?()'-") else 32 for code in range(256)
)
_HANGING = re.compile(r"([^\W_]+)['’-](.+)")


class Speaker(NamedTuple):
    """A speaker as a dialogue tag names them.

    Attributes:
        verb: of saying or thinking, in lower case.
        name: the subject as written: "Alice", "the Hatter"; None where it is a pronoun or missing.
        person: as in `rules.Rules.pronouns`; None where unknown.
    """

    verb: str
    name: str | None = None
    person: str | None = None


def tokens_of(text: str) -> list[str]:
    """Return the words and marks of narration."""
    if not text.isascii():
        return _TOKEN.findall(text)
    for mark in _ASCII_MARKS:  # the same, in a third of the time
        if mark in text:
            text = text.replace(mark, f" {mark} ")
    found = text.encode().translate(_ASCII_TOKENS).decode().split()
    if "'" not in text and "-" not in text:
        return found
    return [token for piece in found for token in ((piece,) if piece.isalnum() else _TOKEN.findall(piece))]


@lru_cache(maxsize=1 << 6)  # what stands behind one quote stands before the next
def with_verbs(text: str, rules: Rules) -> Sequence[str]:
    """Return words and marks, with verbs of saying split from pronouns attached to them: "disse-lhe", "diss'egli"."""
    tokens = tokens_of(text)
    if "'" not in text and "’" not in text and "-" not in text:
        return tokens
    for place in reversed([place for place, token in enumerate(tokens) if not token.isalnum()]):
        if (found := _HANGING.fullmatch(tokens[place])) and found[1].lower() in rules.says:
            tokens[place : place + 1] = found.groups()
    return tokens


def tag_after(speech: str, narration: str, rules: Rules) -> Speaker | None:
    """Return who spoke before some narration, by a tag such as ", said X"; None where it has none.

    A sentence that begins behind a full stop describes what happens next, unless it is no more than "X said"; one
    behind "!" may still name the speaker. Narration that ends in a colon leads in the next speech, if it is a sentence
    of its own or has a verb of answering.
    """
    begins = narration[0].isupper()
    tokens = with_verbs(narration[:_WINDOW], rules)
    near = list(map(str.lower, tokens[: _NEAR_BEGINNING if begins else _NEAR]))
    if not rules.speaks.meet(near):
        return None
    place = _first_verb(near, rules)
    if place is None:
        return None
    own_sentence = begins and speech[-1] == "."
    if own_sentence and place + 1 < len(tokens) and tokens[place + 1] not in _ENDS_OF_TAGS:
        return None
    if narration.endswith(_COLONS) and (own_sentence or near[place] in rules.answers):
        return None
    return _with_subject(tokens, place, 0, rules)


def _first_verb(words: Sequence[str], rules: Rules) -> int | None:
    speaks = rules.speaks
    for place, word in enumerate(words):
        if word in speaks:
            return place
        if word in _SENTENCE_ENDS and place and words[place - 1] not in rules.abbreviations:
            return None
    return None


def tag_before(narration: str, rules: Rules) -> Speaker | None:
    """Return who speaks after some narration, not empty, by a tag such as "X replied:"; None where it has none."""
    if narration[-1] in ".!?;…":
        return None
    tokens = with_verbs(narration[-2 * _WINDOW :], rules)
    end = len(tokens)
    while end and tokens[end - 1] in _LEADS_IN:
        end -= 1
    tokens, begin = tokens[:end], _sentence_begin(tokens, end, rules)
    near, speaks = list(map(str.lower, tokens[max(begin, end - 2 * _NEAR + 1) :])), rules.speaks
    if not speaks.meet(near):
        return None
    place = len(near) - 1
    while near[place] not in speaks:
        place -= 1
    return _with_subject(tokens, end - len(near) + place, begin, rules)


def _sentence_begin(tokens: Sequence[str], end: int, rules: Rules) -> int:
    for place in range(end - 1, -1, -1):
        if tokens[place] in _SENTENCE_ENDS and not (
            tokens[place] == "." and place and tokens[place - 1].lower() in rules.abbreviations
        ):
            return place + 1
    return 0


def lead_in(narration: str, rules: Rules) -> Speaker | None:
    """Return who speaks after narration that ends in a colon, None where it has no tag."""
    return tag_before(narration, rules) if narration.endswith(_COLONS) else None


def leads_in_unspoken(narration: str, rules: Rules) -> bool:
    """Return whether narration leads in, with a colon, what is thought, said to oneself, or written."""
    if narration.rstrip("—–- ")[-1:] != ":":
        return False
    tag = tag_before(narration, rules)
    if tag is None or tag.verb in rules.writes:
        return rules.writes.meet(small_words(narration[-_NEAR:]))
    return tag.verb in rules.thinks or rules.to_self.within(narration[-_NEAR:])


def subject_of(narration: str, rules: Rules) -> Speaker | None:
    """Return the subject of the first sentence of narration, without a verb; None where it is not clear."""
    tokens, place = tokens_of(narration[:_WINDOW]), 0
    while place < len(tokens) and (tokens[place] == "," or tokens[place].lower() in rules.particles):
        place += 1
    if place == len(tokens) or not _begins_subject(tokens, place, rules):
        return None
    name, person = _beginning_at(tokens, place, rules)
    return Speaker("", name, person) if name or person else None


def same_name(one: str, other: str, rules: Rules) -> bool:
    """Return whether two names may be one person's: they share a word, and no title or "other" distinguishes them."""
    if one == other:
        return True
    (first, titles, is_other), (second, other_titles, other_is_other) = _key(one, rules), _key(other, rules)
    if is_other != other_is_other or (titles and other_titles and titles.isdisjoint(other_titles)):
        return False
    return not first.isdisjoint(second) or (not first and not second and titles == other_titles)


def mentions(name: str, text: str, rules: Rules) -> bool:
    """Return whether a text mentions somebody by a word of their name."""
    words, titles, _ = _key(name, rules)
    return not (words or titles).isdisjoint(small_words(text))


@lru_cache(maxsize=1 << 13)
def _key(name: str, rules: Rules) -> tuple[frozenset[str], frozenset[str], bool]:
    """Return the words of a name that identify a person, its titles, and whether it says "other"."""
    words = name.lower().replace(".", "").split()
    titles = frozenset(word for word in words if is_title(word, rules))
    rest = frozenset(word for word in words if not (word in rules.articles or word in _JOINING))
    return rest - titles, titles, rules.others.meet(words)


Subject = tuple[str | None, str | None]
"""Name and person, None where unknown."""
_NOBODY: Subject = (None, None)


def _with_subject(tokens: Sequence[str], verb: int, begin: int, rules: Rules) -> Speaker:
    """Return the speaker of the verb at a place: the subject is before it, after it, or begins the sentence."""
    subject = _subject_before(tokens, verb, begin, rules)
    if subject == _NOBODY:
        subject = _subject_after(tokens, verb, rules)
    if subject == _NOBODY and begin < verb:
        subject = _subject_at_beginning(tokens, verb, begin, rules)
    return Speaker(tokens[verb].lower(), *subject)


def _subject_before(tokens: Sequence[str], verb: int, begin: int, rules: Rules) -> Subject:
    place = verb - 1
    while place >= begin and (word := tokens[place].lower()) in rules.particles and word not in rules.stops:
        place -= 1
    return _ending_at(tokens, place, begin, rules) if place >= begin else _NOBODY


def _subject_after(tokens: Sequence[str], verb: int, rules: Rules) -> Subject:
    place = verb + 1
    while place < len(tokens) and tokens[place].lower() in rules.particles:
        place += 1
    return _beginning_at(tokens, place, rules)


def _subject_at_beginning(tokens: Sequence[str], verb: int, begin: int, rules: Rules) -> Subject:
    place = begin
    while place < verb and not _begins_subject(tokens, place, rules):
        place = place + 1 if tokens[place].lower() in rules.particles or tokens[place] == "," else verb
    return _beginning_at(tokens[:verb], place, rules)


def _begins_subject(tokens: Sequence[str], place: int, rules: Rules) -> bool:
    """Return whether the subject of a sentence may begin at a place, and not an adverb before it."""
    word, behind = tokens[place].lower(), tokens[place + 1].lower() if place + 1 < len(tokens) else ""
    if word in rules.pronouns or word in rules.articles:
        return True
    if not tokens[place][0].isupper() or word in rules.particles or word in rules.stops:
        return False
    return behind != "," and behind not in rules.pronouns and behind not in rules.articles


def is_title(word: str, rules: Rules) -> bool:
    """Return whether a word is a title, with or without its full stop."""
    return word.lower().rstrip(".") in rules.bare_titles


def _beginning_at(tokens: Sequence[str], place: int, rules: Rules) -> Subject:
    if place >= len(tokens):
        return _NOBODY
    word = tokens[place].lower()
    described = word in rules.articles
    if word in rules.pronouns and not (described and _goes_on_as_noun(tokens, place + 1, rules)):
        return None, rules.pronouns[word]
    words: list[str] = []
    for token in tokens[place:]:
        if token == "." and words and words[-1].lower() in rules.abbreviations:
            words[-1] += "."
            continue
        if not token[0].isalpha() or _ends_subject(token, words, described, rules):
            break
        words.append(token)
        if len(words) == _LONGEST_SUBJECT:
            break
    name, person = _named(words, described, rules)
    return name, person or (rules.pronouns.get(word) if name else None)


def _goes_on_as_noun(tokens: Sequence[str], place: int, rules: Rules) -> bool:
    """Return whether a noun stands at a place, so that the word before it is an article rather than a pronoun: German
    "sagte der Vater", not "sagte der leise".
    """
    if place >= len(tokens) or not tokens[place][0].isalpha():
        return False
    word = tokens[place].lower()
    return not (word in rules.particles or word in rules.stops or word in rules.says)


def _ends_subject(token: str, words: Sequence[str], described: bool, rules: Rules) -> bool:
    """Return whether a word no longer belongs to the words of a subject; one with an article is `described`."""
    small = token.lower()
    if words and (small in rules.stops or small in rules.says):
        return True
    if token[0].isupper():
        return False
    if described:
        return len(words) > 1 and words[-1][0].isupper()
    return not (words and small in _JOINING) and not is_title(token, rules)


def _ending_at(tokens: Sequence[str], place: int, begin: int, rules: Rules) -> Subject:
    word = tokens[place].lower()
    if word in rules.pronouns:
        return None, rules.pronouns[word]
    first = place
    while first >= begin and place - first < _LONGEST_SUBJECT:
        if not tokens[first][0].isalpha() or tokens[first].lower() in rules.stops:
            break
        if tokens[first].lower() in rules.articles:
            return _named(tokens[first : place + 1], True, rules)
        first -= 1
    first = place
    while first >= begin and (tokens[first][0].isupper() or _is_title_at(tokens, first, begin, rules)):
        first -= 1
    words = " ".join(tokens[first + 1 : place + 1]).replace(" .", ".").split()
    return _named(words, False, rules)


def _is_title_at(tokens: Sequence[str], place: int, begin: int, rules: Rules) -> bool:
    """Return whether a title, or the full stop behind one, stands at a place."""
    token = tokens[place]
    if token == ".":
        return place > begin and tokens[place - 1].lower() in rules.abbreviations
    return is_title(token, rules)


def _named(words: Sequence[str], described: bool, rules: Rules) -> Subject:
    """Return the name that words make, and the person of its title."""
    words = list(words)
    while words and (words[-1].lower() in _JOINING or (rules.oblique and words[-1].endswith(rules.oblique))):
        words.pop()
    if len(words) <= described or words[0].lower() in rules.particles:
        return _NOBODY
    name = " ".join(words)
    return name, _person_of(name, rules)


@lru_cache(maxsize=1 << 13)
def _person_of(name: str, rules: Rules) -> str | None:
    persons = map(rules.bare_titles.get, name.lower().replace(".", " ").split())
    return next(filter(None, persons), None)
