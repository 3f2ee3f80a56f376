"""OPUS XML of the usual layout by regular expressions: the same sentences as the tree gives, in less than the time of
building it.
"""

import html
import re

from lxml import etree

from edos_dataset.sources.parsed import ReadError
from edos_dataset.sources.subtitles.opus_tree import Sentences, choose_word, parse_xml

_EMPHASIS = ' emphasis="true"'
_BLANKS = r"[ \t\r\n]*"
_VALUE = r'[^"<&\x00-\x1f\ufffe\uffff]'  # what an attribute may hold, but for what is seldom there
_ALTERNATIVE = re.compile(rf'<w alternative="({_VALUE}*)" id="{_VALUE}*">([^<&]*)</w>')
_INITIAL = re.compile(rf' initial="({_VALUE}*)">([^<>&]*)</w>')
_BETWEEN_WORDS = re.compile(rf'</w>{_BLANKS}<w id="{_VALUE}*">')
# The commonest neighbours are taken together: the cost of the scan is the number of its matches.
_ITEM = re.compile(
    rf'<w id="{_VALUE}*">{_BLANKS}([^ \t\r\n<][^<]*)</w>{_BLANKS}'
    rf'(?:<time id="{_VALUE}*E" value="({_VALUE}+)" ?/>{_BLANKS})?'
    rf'|</s>{_BLANKS}<s id="({_VALUE}+)">{_BLANKS}(?:<time id="{_VALUE}*S" value="({_VALUE}+)" ?/>{_BLANKS})?'
    rf'|<time id="{_VALUE}*([SE])" value="({_VALUE}*)" ?/>{_BLANKS}'
    r"|([^ \t\r\n<][^<]*)"
    r"|(<)"
)
_OTHER_ENTITY = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)")
_NOT_XML = re.compile(r"[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def scan(text: str) -> tuple[Sentences, etree._Element] | None:
    """Read a file.

    Args:
        text: the document without its XML declaration.

    Returns:
        Its sentences and the root of what is left of the document without them; null if anything is not as OPUS writes
        it, as then only an XML parser can tell whether the file is sound.
    """
    begin, end = text.find("<s "), text.rfind("</s>")
    if begin < 0 or end < begin:
        return None
    try:
        root = parse_xml(text[:begin] + text[end + len("</s>") :])
    except ReadError:
        return None
    if next(root.iter("s", "time", "w"), None) is not None:
        return None
    # Every "<s" must follow a "</s>", so the first is given one; the last "</s>" is left out.
    body = "</s>" + text[begin:end].replace(_EMPHASIS, "")
    if _OTHER_ENTITY.search(body):
        return None
    if "alternative=" in body:
        body = _ALTERNATIVE.sub(lambda match: f'<w id="">{choose_word(match[2], match[1], None)}</w>', body)
    if "initial=" in body:
        body = _INITIAL.sub(lambda match: f">{choose_word(match[2], None, match[1])}</w>", body)
    sentences = _collect(_BETWEEN_WORDS.sub(" ", body))
    if sentences is None or _holds_no_xml("\n".join(sentences.texts)):
        return None
    if "&" in body:
        sentences.texts = [html.unescape(line) if "&" in line else line for line in sentences.texts]
    return sentences, root


def _holds_no_xml(text: str) -> bool:
    # A printable text is sound; telling so takes a tenth of the time of the search.
    return "]]>" in text or (not text.replace("\n", "").isprintable() and _NOT_XML.search(text) is not None)


def _collect(body: str) -> Sentences | None:
    sentences = Sentences(tokenized="<w " in body)
    ids, texts, first, last = sentences.ids, sentences.texts, sentences.first, sentences.last
    opens, values = sentences.opens, sentences.values
    waiting = None
    pieces: list[str] = []  # of the sentence that is being read; it joins the texts when the next one begins
    for words, end, number, start, kind, value, raw, other in _ITEM.findall(body):
        if words or raw:
            position = len(values)
            if waiting is None:
                pieces.append(words or raw)
                last[-1] = position
            else:
                texts.append(" ".join(pieces))
                pieces = [words or raw]
                ids.append(waiting)
                first.append(position)
                last.append(position)
                waiting = None
            if end:
                opens.append(False)
                values.append(end)
        elif number:
            waiting = number
            if start:
                opens.append(True)
                values.append(start)
        elif kind:
            opens.append(kind == "S")
            values.append(value)
        elif other:
            return None
    sentences.texts = [*texts[1:], " ".join(pieces)] if ids else []
    return sentences
