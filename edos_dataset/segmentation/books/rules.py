"""How a language marks speech and says who speaks: `rules/<code>.yaml`, one small file a language."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, NamedTuple

from edos_dataset.runs.foreign import ForeignError, yaml_of
from edos_dataset.runs.recipes import nearest
from edos_dataset.segmentation.books.words import Later, Phrases, Words
from edos_dataset.text import shown

_PERSONS = ("m", "f", "i", "p")
_PERSONS_SHOWN = "m, f, i (the narrator), p (several) or null"


class Quotes(NamedTuple):
    """Two marks that speech stands between."""

    opening: str
    closing: str


@dataclass(frozen=True, eq=False)
class Rules:
    """What the extraction knows of a language.

    Attributes:
        quotes: the pairs of quotes that speech may stand in: "“ ”".
        says: verbs of saying, in the forms that stand beside speech.
        pronouns: person, as `_PERSONS` names it, by pronoun of a subject; null where it may be anybody.
        articles: words that begin a subject: "the", "my".
        dashes: dashes that speech may begin with at the start of a paragraph.
        unmarked: the narrator's words may follow speech behind a dash without a second dash: "--Yes, said he."
        run_in: a dash behind a whole sentence begins another person's speech in the same paragraph: "--Why? --Come.".
        goes_on: verbs of saying that tell that the same person speaks further.
        answers: verbs of saying that tell that somebody answers.
        thinks: verbs of thinking, beside quotes that nobody hears.
        to_self: what tells the same of a verb of saying: "to herself".
        writes: words of what is written, sung or quoted, not said.
        titles: person by title before a name: "mrs".
        particles: words between subject and verb or before it, which are no subject: "then".
        stops: words that end a subject: "with".
        others: words that make a subject another one than the last: "another".
        oblique: endings of nouns that are no subject, in languages with cases: "nak".
        silent: what tells that who was spoken to says nothing, so that the same person speaks next: "made no answer".
        later: regular expressions of what begins a narrator's sentence when time or place have changed; each has to
            take time that grows linearly with the text.
        leaves: what tells in a stage direction that somebody leaves: "exit".
        elisions: words that an apostrophe begins, which is no quote: "tis".
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
    titles: Mapping[str, str | None] = field(default_factory=dict)
    particles: Words = field(default_factory=Words)
    stops: Words = field(default_factory=Words)
    others: Words = field(default_factory=Words)
    oblique: tuple[str, ...] = ()
    silent: Phrases = field(default_factory=Phrases)
    later: Later | None = None
    leaves: Words = field(default_factory=Words)
    elisions: tuple[str, ...] = ()

    @cached_property
    def speaks(self) -> Words:
        """Return the verbs that stand beside speech and thoughts."""
        return Words((*self.says, *self.thinks))

    @cached_property
    def unheard(self) -> Words:
        """Return the words beside which what is quoted may be thought or written."""
        return Words((*self.thinks, *self.writes))

    @cached_property
    def abbreviations(self) -> frozenset[str]:
        """Return the titles that end in a full stop, without it."""
        return frozenset(title[:-1] for title in self.titles if title.endswith("."))

    @cached_property
    def bare_titles(self) -> Mapping[str, str | None]:
        """Return person by title, none with a full stop behind it."""
        bare = {title.removesuffix(".") for title in self.titles}
        return {title: self.titles.get(title) or self.titles.get(f"{title}.") for title in bare}

    @cached_property
    def marks(self) -> tuple[str, ...]:
        """Return the marks that only quotes are, no apostrophes."""
        return tuple({mark for pair in self.quotes for mark in pair} - set("'’"))

    def holds_marks(self, texts: Iterable[str]) -> bool:
        """Say whether one of some texts holds a mark that only a quote is."""
        whole = "\n".join(texts)
        return any(mark in whole for mark in self.marks)


def languages() -> tuple[str, ...]:
    """Return the codes of the languages that there are rules for, in alphabetical order."""
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
    """Return the file of a language that there are rules for, by its code."""
    return (files("edos_dataset.segmentation.books") / "rules" / f"{language}.yaml").read_text(encoding="utf-8")


def rules_of(text: str, where: str) -> Rules:
    """Return what a file of rules says.

    Args:
        text: YAML, a mapping of the attributes of `Rules`; words stand in one text with spaces between.
        where: names the file in messages.

    Raises:
        ValueError: a key is unknown or missing, or its value is of another form.
    """
    try:
        content = yaml_of(text)
    except ForeignError as error:
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


def _words(value: Any, where: str) -> Words:  # noqa: ANN401 - whatever the YAML says, here and below
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
        ("says", "articles", "goes_on", "answers", "thinks", "writes", "particles", "stops", "others", "leaves"), _words
    ),
    **dict.fromkeys(("dashes", "oblique", "elisions"), _texts),
    **dict.fromkeys(("pronouns", "titles"), _persons),
    "quotes": _quotes,
    "unmarked": _flag,
    "run_in": _flag,
    "to_self": _phrases,
    "silent": _phrases,
    "later": _later,
}
