"""How a language marks speech and names speakers: `rules/<code>.yaml`, one small file a language, and how its words and
phrases are looked up in narration.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from typing import Any, Generic, NamedTuple, TypeVar

from edos_dataset.runs.recipes import nearest
from edos_dataset.runs.untrusted import UntrustedInputError, yaml_of
from edos_dataset.text import shown

Case = TypeVar("Case")
Decision = TypeVar("Decision")

_PERSONS = ("m", "f", "i", "p")
_PERSONS_SHOWN = "m, f, i (the narrator), p (several) or null"
_WORD = re.compile(r"[^\W\d_]+")
_SMALL = bytes(ord(chr(code).lower()) if code < 128 and chr(code).isalpha() else 32 for code in range(256))


_TYPOGRAPHIC = "’—“”‘–…"


def small_words(text: str) -> list[str]:
    """Return the words of a text in lower case, split at everything that is not a letter."""
    if not text.isascii():
        for mark in _TYPOGRAPHIC:
            if mark in text:
                text = text.replace(mark, " ")
    if text.isascii():  # the same, five times as fast
        return text.encode().translate(_SMALL).decode().split()
    return _WORD.findall(text.lower())


class Words(frozenset[str]):
    """A set of words in lower case; one that ends in * stands for all that begin with it."""

    def __new__(cls, words: Iterable[str] = ()) -> "Words":
        """Return the words, as a plain set where none ends in *."""
        words = tuple(words)
        return super().__new__(_Beginnings if any(word.endswith("*") for word in words) else cls, words)

    def meet(self, words: Sequence[str]) -> bool:
        """Return whether the set holds any of some words in lower case."""
        return not self.isdisjoint(words)


class _Beginnings(Words):
    def __init__(self, _: Iterable[str] = ()) -> None:
        whole = frozenset(self)
        beginnings = tuple(word[:-1] for word in whole if word.endswith("*"))
        # Most words occur often.
        self._holds = lru_cache(maxsize=1 << 14)(lambda word: word in whole or word.startswith(beginnings))

    def __contains__(self, word: object) -> bool:
        return self._holds(word)

    def meet(self, words: Sequence[str]) -> bool:
        return True in map(self._holds, words)


class Phrases:
    """Texts to look for in narration, in upper or lower case."""

    def __init__(self, texts: tuple[str, ...] = ()) -> None:
        self._texts = tuple(text.lower() for text in texts)
        self._pieces = tuple(_pieces_of(self._texts))

    def within(self, narration: str) -> bool:
        """Return whether narration contains any of the phrases."""
        if not self._texts:
            return False
        narration = narration.lower()
        for piece in self._pieces:  # a hundredth of the time of an expression that ignores case
            if piece in narration:
                return any([text in narration for text in self._texts])
        return False


def _pieces_of(texts: Sequence[str]) -> Iterator[str]:
    """Yield a few short texts, so that each of the given texts contains one: where none of them occurs, none of the
    given texts does.
    """
    while texts:
        in_texts = [{text[at : at + 4] for at in range(max(len(text) - 3, 1))} for text in texts]
        pieces = Counter(piece for each in in_texts for piece in each)
        best = max(pieces, key=lambda piece: (pieces[piece], piece))
        yield _longest_around(best, [text for text in texts if best in text])
        texts = [text for text in texts if best not in text]


def _longest_around(piece: str, texts: Sequence[str]) -> str:
    """Extend a piece as far as all texts contain it: a longer piece occurs in less narration."""
    first = texts[0]
    begin = first.index(piece)
    end = begin + len(piece)
    while begin and all(first[begin - 1 : end] in text for text in texts):
        begin -= 1
    while end < len(first) and all(first[begin : end + 1] in text for text in texts):
        end += 1
    return first[begin:end]


class Later:
    """How sentences of narration begin when the time or the place has changed."""

    def __init__(self, texts: tuple[str, ...]) -> None:
        # The marks come first, so that nothing more is tried where no sentence begins.
        self._pattern = re.compile(rf"[.!?…] (?:{'|'.join(texts)})\b", re.IGNORECASE)

    def begins_in(self, narration: str) -> bool:
        """Return whether a sentence of narration, in single spaces, begins so."""
        return self._pattern.search(f". {narration}") is not None


class Quotes(NamedTuple):
    """Two marks that enclose speech."""

    opening: str
    closing: str


@dataclass(frozen=True, eq=False)
class Rules:
    """What the extraction knows of a language.

    Attributes:
        quotes: the pairs of quotes that may enclose speech: "“ ”".
        says: verbs of saying, in the forms that stand beside speech.
        pronouns: person, one of m, f, i (the narrator) and p (several), by pronoun; null where it may be anybody.
        articles: words that begin a subject: "the", "my".
        dashes: dashes with which speech may begin at the start of a paragraph.
        unmarked: narration may follow speech behind a dash without a second dash: "--Yes, said he."
        run_in: a dash behind a whole sentence begins another person's speech in the same paragraph: "--Why? --Come.".
        goes_on: verbs of saying that mean that the same person continues.
        answers: verbs of saying that mean an answer.
        thinks: verbs of thinking; quotes beside them are not spoken.
        to_self: phrases that turn a verb of saying into one of thinking: "to herself".
        writes: words about what is written, sung or quoted, not said.
        possessives: person by pronoun of possession and object, as in `pronouns`: "her".
        first_names: person, m or f, by first name in lower case.
        wives: titles of married women: one with such a title and a last name only is not somebody with a first name.
        nicknames: first name by short form: "lizzy".
        titles: person by title before a name: "mrs".
        particles: words between subject and verb or before the subject that are no subject: "then".
        stops: words that end a subject: "with".
        others: words that make a subject a different one: "another".
        oblique: endings of nouns that cannot be a subject, in languages with cases: "nak".
        silent: phrases that say that the person addressed is silent, so that the same person speaks next: "made no
            answer".
        later: regular expressions of how sentences begin when time or place have changed; each has to take time that
            grows linearly with the text.
        voices: verbs of saying that describe the voice: "whispered".
        feelings: nouns behind `manner_leads` that name a sound, a look or a feeling: "sigh" in "with a sigh".
        manner_leads: words that begin such a phrase: "with".
        adverb_endings: of adverbs of manner: "ly".
        degrees: words before such an adverb: "very".
        no_manner: words with such an ending that are none: "only".
        clause_breaks: words behind which a clause no longer describes the voice: "while".
        learned_speakers: the networks of `attribution` say who speaks.
        leaves: words by which a stage direction says that somebody leaves: "exit".
        elisions: words that begin with an apostrophe, which is no quote: "tis".
    """

    quotes: tuple[Quotes, ...]
    says: Words
    pronouns: Mapping[str, str | None]
    articles: Words
    dashes: tuple[str, ...] = ()
    unmarked: bool = False
    run_in: bool = False
    goes_on: Words = field(default_factory=Words)
    answers: Words = field(default_factory=Words)
    thinks: Words = field(default_factory=Words)
    to_self: Phrases = field(default_factory=Phrases)
    writes: Words = field(default_factory=Words)
    possessives: Mapping[str, str | None] = field(default_factory=dict)
    first_names: Mapping[str, str] = field(default_factory=dict)
    wives: Words = field(default_factory=Words)
    nicknames: Mapping[str, str] = field(default_factory=dict)
    titles: Mapping[str, str | None] = field(default_factory=dict)
    particles: Words = field(default_factory=Words)
    stops: Words = field(default_factory=Words)
    others: Words = field(default_factory=Words)
    oblique: tuple[str, ...] = ()
    silent: Phrases = field(default_factory=Phrases)
    later: Later | None = None
    voices: Words = field(default_factory=Words)
    feelings: Words = field(default_factory=Words)
    manner_leads: Words = field(default_factory=Words)
    adverb_endings: tuple[str, ...] = ()
    degrees: Words = field(default_factory=Words)
    no_manner: Words = field(default_factory=Words)
    clause_breaks: Words = field(default_factory=Words)
    learned_speakers: bool = False
    leaves: Words = field(default_factory=Words)
    elisions: tuple[str, ...] = ()

    @cached_property
    def speaks(self) -> Words:
        """Verbs of saying and of thinking."""
        return Words((*self.says, *self.thinks))

    @cached_property
    def unheard(self) -> Words:
        """Words beside which a quote may be thought or written."""
        return Words((*self.thinks, *self.writes))

    @cached_property
    def abbreviations(self) -> frozenset[str]:
        """Titles that end in a full stop, without it."""
        return frozenset(title[:-1] for title in self.titles if title.endswith("."))

    @cached_property
    def bare_titles(self) -> Mapping[str, str | None]:
        """Person by title without its full stop."""
        bare = {title.removesuffix(".") for title in self.titles}
        return {title: self.titles.get(title) or self.titles.get(f"{title}.") for title in bare}

    @cached_property
    def marks(self) -> tuple[str, ...]:
        """Quotes that cannot be apostrophes."""
        return tuple({mark for pair in self.quotes for mark in pair} - set("'’"))

    def holds_marks(self, texts: Iterable[str]) -> bool:
        """Return whether any of some texts contains one of `marks`."""
        whole = "\n".join(texts)
        return any([mark in whole for mark in self.marks])


@dataclass(frozen=True)
class Rule(Generic[Case, Decision]):
    """A predicate, and the decision where it holds.

    Attributes:
        name: what holds, in words.
        holds: the predicate.
        decides: the decision.
        example: paragraphs of a book that show it, a line each.
        language: of the example.
    """

    name: str
    holds: Callable[[Case], bool]
    decides: Decision
    example: str
    language: str = "en"


class Table(Generic[Case, Decision]):
    """Rules in order.

    Args:
        rules: the first that holds decides.
    """

    def __init__(self, *rules: Rule[Case, Decision]) -> None:
        self.rules = rules
        self._pairs = tuple((rule.holds, rule.decides) for rule in rules)

    def decide(self, case: Case) -> Decision | None:
        """Return the decision of the first rule that holds; None if none does."""
        for holds, decision in self._pairs:
            if holds(case):
                return decision
        return None


def languages() -> tuple[str, ...]:
    """Return the codes of the languages with rules, in alphabetical order."""
    folder = files("edos_dataset.segmentation.books") / "rules"
    return tuple(sorted(entry.name[:-5] for entry in folder.iterdir() if entry.name.endswith(".yaml")))


@cache
def load_rules(language: str) -> Rules:
    """Return the rules of a language.

    Args:
        language: code, ISO 639-1: "en".

    Raises:
        ValueError: there are none, or its file is wrong; the message names what is there, or the key.
    """
    if language not in languages():
        raise ValueError(f"no rules say how speech is marked in {shown(language)}{nearest(language, languages())}")
    return rules_of(rules_text(language), f"rules/{language}.yaml")


def rules_text(language: str) -> str:
    """Return the text of the file of a language."""
    return (files("edos_dataset.segmentation.books") / "rules" / f"{language}.yaml").read_text(encoding="utf-8")


def rules_of(text: str, where: str) -> Rules:
    """Parse a file of rules.

    Args:
        text: YAML, a mapping of the attributes of `Rules`; words stand in one text with spaces between.
        where: names the file in messages.

    Raises:
        ValueError: a key is unknown or missing, or its value is of another form.
    """
    try:
        content = yaml_of(text)
    except UntrustedInputError as error:
        raise ValueError(f"{where}: {error}") from error
    if not isinstance(content, dict):
        raise ValueError(f"{where}: expected a mapping of keys such as quotes and says, got {shown(content)}")
    known = {each.name: each for each in fields(Rules)}
    for key in content:
        if key not in known:
            raise ValueError(f"{where}: unknown key {shown(key)}{nearest(str(key), list(known))}")
    for key, each in known.items():
        if each.default is MISSING and each.default_factory is MISSING and key not in content:
            raise ValueError(f"{where}: the key {key!r} is missing")
    return Rules(**{key: _READ[key](value, f"{where}, {key}") for key, value in content.items()})


def _words(value: Any, where: str) -> Words:  # noqa: ANN401 - any value of YAML, here and below
    if not isinstance(value, str):
        raise ValueError(f"{where}: expected words with spaces between, got {shown(value)}")
    return Words(tuple(value.lower().split()))


def _texts(value: Any, where: str) -> tuple[str, ...]:  # noqa: ANN401
    if not (isinstance(value, list) and all(isinstance(each, str) and each for each in value)):
        raise ValueError(f"{where}: expected a list of texts, got {shown(value)}")
    return tuple(value)


def _quotes(value: Any, where: str) -> tuple[Quotes, ...]:  # noqa: ANN401
    pairs = [tuple(each.split(" ")) for each in _texts(value, where)]
    for pair in pairs:
        if [len(mark) for mark in pair] != [1, 1]:
            raise ValueError(f"{where}: expected two marks with a space between, such as “ ”, got {' '.join(pair)!r}")
    return tuple(Quotes(*pair) for pair in pairs)


def _flag(value: Any, where: str) -> bool:  # noqa: ANN401
    if not isinstance(value, bool):
        raise ValueError(f"{where}: expected true or false, got {shown(value)}")
    return value


def _persons(value: Any, where: str) -> dict[str, str | None]:  # noqa: ANN401
    if not isinstance(value, dict):
        raise ValueError(f"{where}: expected words with the person of each, got {shown(value)}")
    for word, person in value.items():
        if not isinstance(word, str) or (person is not None and person not in _PERSONS):
            raise ValueError(f"{where}: expected {_PERSONS_SHOWN} for each word, got {shown({word: person})}")
    return {word.lower(): person for word, person in value.items()}


def _nicknames(value: Any, where: str) -> dict[str, str]:  # noqa: ANN401
    if not (isinstance(value, dict) and all(isinstance(each, str) for pair in value.items() for each in pair)):
        raise ValueError(f"{where}: expected first names with their short forms, got {shown(value)}")
    return {short: name.lower() for name, shorts in value.items() for short in shorts.lower().split()}


def _first_names(value: Any, where: str) -> dict[str, str]:  # noqa: ANN401
    if not (
        isinstance(value, dict) and set(value) <= {"m", "f"} and all(isinstance(each, str) for each in value.values())
    ):
        raise ValueError(f"{where}: expected first names under m and f, got {shown(value)}")
    return {name: person for person, names in value.items() for name in names.lower().split()}


def _phrases(value: Any, where: str) -> Phrases:  # noqa: ANN401
    return Phrases(_texts(value, where))


def _later(value: Any, where: str) -> Later:  # noqa: ANN401
    texts = _texts(value, where)
    for each in texts:
        try:
            re.compile(each)
        except re.error as error:
            raise ValueError(f"{where}: {shown(each)} is no regular expression: {error}") from error
    return Later(texts)


_READ: dict[str, Callable[[Any, str], Any]] = {
    **dict.fromkeys(
        ("says", "articles", "goes_on", "answers", "thinks", "writes", "particles", "stops", "others", "leaves")
        + ("wives", "voices", "feelings", "manner_leads", "degrees", "no_manner", "clause_breaks"),
        _words,
    ),
    **dict.fromkeys(("dashes", "oblique", "elisions", "adverb_endings"), _texts),
    **dict.fromkeys(("pronouns", "possessives", "titles"), _persons),
    "nicknames": _nicknames,
    "first_names": _first_names,
    "quotes": _quotes,
    "unmarked": _flag,
    "run_in": _flag,
    "learned_speakers": _flag,
    "to_self": _phrases,
    "silent": _phrases,
    "later": _later,
}
