"""OPUS XML of any shape by way of lxml: safe, exact, and the yardstick of the scanner."""

from dataclasses import dataclass, field

from lxml import etree

from edos_dataset.sources.parsed import ReadError
from edos_dataset.sources.xml_trees import parse_xml as parse_xml

_GLUE = "\0"  # behind a word that its file joins to the next; no XML document can hold it


@dataclass(slots=True)
class Sentences:
    """The sentences of a file, and the times before, in and between them.

    Attributes:
        ids: `<s id>` of each sentence that has words.
        texts: its tokens with a space between two, or its text.
        first: number of `<time>` elements before its first word.
        last: number of them before its last word.
        opens: whether each `<time>` is the start of a block.
        values: its value.
        tokenized: whether the texts are tokens, whose spaces say nothing.
    """

    ids: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    first: list[int] = field(default_factory=list)
    last: list[int] = field(default_factory=list)
    opens: list[bool] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    tokenized: bool = False


def walk(root: etree._Element) -> Sentences:
    """Collect the sentences of a parsed file, whatever its layout.

    Raises:
        ReadError: with the reason forbidden_xml at a reference to an entity.
    """
    sentences = Sentences(tokenized=root.find(".//w") is not None)
    pieces: list[str] = []
    gaps: list[int] = []
    depth = 0
    for event, node in etree.iterwalk(root, events=("start", "end", "comment", "pi")):
        if event == "start":
            if node.tag is etree.Entity:
                raise ReadError("forbidden_xml", f"line {node.sourceline}: reference to an entity")
            if node.tag == "s":
                depth += 1
            elif node.tag == "time":
                sentences.opens.append((node.get("id") or "").endswith("S"))
                sentences.values.append(node.get("value") or "")
            _add(pieces, gaps, _text_of(node) if depth else None, len(sentences.values))
            continue
        if node.tag == "s" and event == "end":
            depth -= 1
            if not depth:
                _close(sentences, node.get("id") or "", pieces, gaps)
                pieces, gaps = [], []
        if depth:
            _add(pieces, gaps, node.tail, len(sentences.values))
    return sentences


def choose_word(word: str, alternative: str | None, initial: str | None) -> str:
    """Return how a word that OPUS changed is to be spelt.

    Args:
        word: the word as OPUS gives it.
        alternative: OPUS's second choice: the true case of a word in capitals, or a guess at another word, which OPUS
            itself did not take.
        initial: the spelling of the subtitle, where OPUS corrected it.
    """
    if alternative and alternative.lower() == word.lower():
        return alternative
    if initial and (initial == f"{word}'" or f"{initial}g" == word):
        return initial  # "fuckin'" and "hangin" are how the film says it, not mistakes
    return word


def _text_of(node: etree._Element) -> str | None:
    if node.tag != "w" or not node.text:
        return node.text
    word = choose_word(node.text, node.get("alternative"), node.get("initial"))
    return word + _GLUE if "SpaceAfter=No" in (node.get("misc") or "") else word


def _add(pieces: list[str], gaps: list[int], text: str | None, position: int) -> None:
    if text and text.strip(" \t\r\n"):
        pieces.append(text)
        gaps.append(position)


def _close(sentences: Sentences, number: str, pieces: list[str], gaps: list[int]) -> None:
    if pieces:
        text = " ".join(pieces)
        if _GLUE in text:
            text = text.replace(f"{_GLUE} ", "").replace(_GLUE, "")
            sentences.tokenized = False
        sentences.ids.append(number)
        sentences.texts.append(text)
        sentences.first.append(gaps[0])
        sentences.last.append(gaps[-1])
