"""Who speaks, by the narrator's words beside the speech: "said X", "X replied:"."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from edos_dataset.segmentation.books.rules import Rules
from edos_dataset.segmentation.books.tokens import tokens_of, with_verbs
from edos_dataset.segmentation.books.words import small_words

_WINDOW = 90  # characters of narration beside speech that are looked at
_SENTENCE_ENDS = frozenset(".;:!?…")
_COLONS = (":", ":--", ":—", ":–")
_LEADS_IN = frozenset((":", ",", "—", "–", "--"))
_NEAR = 9  # tokens from the speech to its verb
_NEAR_BEGINNING = 5  # the same where a sentence begins behind the speech
_LONGEST_SUBJECT = 4  # words
_JOINING = frozenset(
    (
        "of",
        "de",
        "da",
        "di",
        "do",
        "dos",
        "del",
        "della",
        "von",
        "van",
        "der",
        "den",
        "zu",
        "la",
        "le",
        "du",
        "y",
        "ten",
    )
)


class Speaker(NamedTuple):
    """What the narrator tells of who speaks.

    Attributes:
        verb: of saying or thinking, in small letters.
        name: of the subject as it stands there: "Alice", "the Hatter"; None where it is a pronoun or none.
        person: as in `rules.Rules.pronouns`; None where unknown.
    """

    verb: str
    name: str | None = None
    person: str | None = None


def told_after(speech: str, narration: str, rules: Rules) -> Speaker | None:
    """Return who has spoken before some narration, None where it does not say: ", said X".

    A sentence that begins behind a full stop tells what happens next, unless it says no more than "X said"; one behind
    "!" may still tell who cried it. One that ends in a colon leads in the next speech, as does an answer there.
    """
    begins = narration[0].isupper()
    tokens = with_verbs(narration[:_WINDOW], rules)
    near, speaks = list(map(str.lower, tokens[: _NEAR_BEGINNING if begins else _NEAR])), rules.speaks
    if not speaks.meet(near):
        return None
    for place, word in enumerate(near):
        if word in speaks:
            if begins and speech[-1] == "." and tokens[place + 1 : place + 2] not in (["."], [","], [";"], []):
                return None
            if narration.endswith(_COLONS) and ((begins and speech[-1] == ".") or word in rules.answers):
                return None  # it tells who speaks next
            return _with_subject(tokens, place, 0, rules)
        if word in _SENTENCE_ENDS and place and near[place - 1] not in rules.abbreviations:
            return None
    return None


def told_before(narration: str, rules: Rules) -> Speaker | None:
    """Return who speaks after some narration, not empty; None where it does not say: "X replied:"."""
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
    """Return where the sentence begins that some tokens end with."""
    for place in range(end - 1, -1, -1):
        if tokens[place] in _SENTENCE_ENDS and not (
            tokens[place] == "." and place and tokens[place - 1].lower() in rules.abbreviations
        ):
            return place + 1
    return 0


def led_in(narration: str, rules: Rules) -> Speaker | None:
    """Return who speaks after narration that ends in a colon, None where it does not say."""
    return told_before(narration, rules) if narration.endswith(_COLONS) else None


def subject_of(narration: str, rules: Rules) -> Speaker | None:
    """Return whom the first sentence of some narration is about, without a verb; None where it does not say."""
    tokens, place = tokens_of(narration[:_WINDOW]), 0
    while place < len(tokens) and (tokens[place] == "," or tokens[place].lower() in rules.particles):
        place += 1
    if place == len(tokens) or not _begins_subject(tokens, place, rules):
        return None
    name, person = _beginning_at(tokens, place, rules)
    return Speaker("", name, person) if name or person else None


def same_name(one: str, other: str, rules: Rules) -> bool:
    """Say whether two names may be one person's: they share a word, and no title and no "other" tells them apart."""
    if one == other:
        return True
    (first, titles, is_other), (second, other_titles, other_is_other) = _key(one, rules), _key(other, rules)
    if is_other != other_is_other or (titles and other_titles and titles.isdisjoint(other_titles)):
        return False
    return not first.isdisjoint(second) or (not first and not second and titles == other_titles)


def mentions(name: str, text: str, rules: Rules) -> bool:
    """Say whether a text speaks of somebody by a word of their name."""
    words, titles, _ = _key(name, rules)
    return not (words or titles).isdisjoint(small_words(text))


@lru_cache(maxsize=1 << 13)
def _key(name: str, rules: Rules) -> tuple[frozenset[str], frozenset[str], bool]:
    """Return the words of a name that tell who it is, its titles, and whether it says that it is another."""
    words = name.lower().replace(".", "").split()
    titles = frozenset(word for word in words if is_title(word, rules))
    rest = frozenset(word for word in words if not (word in rules.articles or word in _JOINING))
    return rest - titles, titles, rules.others.meet(words)


def _with_subject(tokens: Sequence[str], verb: int, begin: int, rules: Rules) -> Speaker:
    """Return the speaker whose verb stands at a place: the subject is before it, after it, or begins the sentence."""
    place, particles = verb - 1, rules.particles
    while place >= begin and (word := tokens[place].lower()) in particles and word not in rules.stops:
        place -= 1
    name, person = _ending_at(tokens, place, begin, rules) if place >= begin else (None, None)
    if name is None and person is None:
        place = verb + 1
        while place < len(tokens) and tokens[place].lower() in particles:
            place += 1
        name, person = _beginning_at(tokens, place, rules)
    if name is None and person is None and begin < verb:
        place = begin
        while place < verb and not _begins_subject(tokens, place, rules):
            place = place + 1 if tokens[place].lower() in particles or tokens[place] == "," else verb
        name, person = _beginning_at(tokens[:verb], place, rules)
    return Speaker(tokens[verb].lower(), name, person)


def _begins_subject(tokens: Sequence[str], place: int, rules: Rules) -> bool:
    """Say whether the subject of a sentence may begin at a place, and not an adverb before it."""
    word, behind = tokens[place].lower(), tokens[place + 1].lower() if place + 1 < len(tokens) else ""
    if word in rules.pronouns or word in rules.articles:
        return True
    if not tokens[place][0].isupper() or word in rules.particles or word in rules.stops:
        return False
    return behind != "," and behind not in rules.pronouns and behind not in rules.articles


def is_title(word: str, rules: Rules) -> bool:
    """Say whether a word is a title, with or without its full stop."""
    return word.lower().rstrip(".") in rules.bare_titles


def _beginning_at(tokens: Sequence[str], place: int, rules: Rules) -> tuple[str | None, str | None]:
    """Return name and person of a subject that begins at a place."""
    if place >= len(tokens):
        return None, None
    word = tokens[place].lower()
    if word in rules.pronouns:
        return None, rules.pronouns[word]
    words: list[str] = []
    described = word in rules.articles
    for token in tokens[place:]:
        small = token.lower()
        if token == "." and words and words[-1].lower() in rules.abbreviations:
            words[-1] += "."
            continue
        if not token[0].isalpha() or (words and (small in rules.stops or small in rules.says)):
            break
        if not described and not token[0].isupper() and not is_title(token, rules):
            if not (words and small in _JOINING):
                break
        elif described and len(words) > 1 and words[-1][0].isupper() and not token[0].isupper():
            break
        words.append(token)
        if len(words) == _LONGEST_SUBJECT:
            break
    return _named(words, described, rules)


def _ending_at(tokens: Sequence[str], place: int, begin: int, rules: Rules) -> tuple[str | None, str | None]:
    """Return name and person of a subject that ends at a place."""
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
    while first >= begin and (
        tokens[first][0].isupper()
        or is_title(tokens[first], rules)
        or (tokens[first] == "." and first > begin and tokens[first - 1].lower() in rules.abbreviations)
    ):
        first -= 1
    words = " ".join(tokens[first + 1 : place + 1]).replace(" .", ".").split()
    return _named(words, False, rules)


def _named(words: Sequence[str], described: bool, rules: Rules) -> tuple[str | None, str | None]:
    """Return a name that words make, and the person that its title tells."""
    words = list(words)
    while words and (words[-1].lower() in _JOINING or (rules.oblique and words[-1].endswith(rules.oblique))):
        words.pop()
    if len(words) <= described or words[0].lower() in rules.particles:
        return None, None
    name = " ".join(words)
    return name, _person_of(name, rules)


@lru_cache(maxsize=1 << 13)
def _person_of(name: str, rules: Rules) -> str | None:
    """Return the person that a title in a name tells."""
    persons = map(rules.bare_titles.get, name.lower().replace(".", " ").split())
    return next(filter(None, persons), None)
