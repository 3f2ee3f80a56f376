"""Recipe `papers` of a book: dialogues as the code behind the Gutenberg Dialogue Dataset finds them (Csaky and Recski
2021, Section 3, and what their code does beyond it), so that corpora can be compared with theirs.

Its oddities are kept:

- `count_prefix`: the limit of 100 words is one of 99, because the name of the book before an utterance is counted.
- A second test of a book that the paper lacks: a tenth of `min_delimiters` dialogues per 10,000 words, counted before
  the rule of length, with dialogues of one utterance or none.
- A paragraph is one utterance, even if several speak in it; narration between its quotes is dropped. Speech over
  several paragraphs is only its last one, as the others lack a closing quote.
- English and Dutch: a paragraph whose first quote begins with anything but a capital is narration. It may have opened
  a dialogue, which then stays empty.
- German: several quotes of a paragraph are joined without a space between. Straight quotes keep the narration.
- Single quotes: an apostrophe at the end of a word closes one; before , . or - the closing quote is not seen.
- Spanish, Italian, Portuguese: only "--" is a dash; Hungarian: only "–". A book in another style gives nothing.
- Dashes: a book of which few paragraphs hold a second dash is dropped whole (`min_double_delimiters`), rich ones too.
- `keep_empty`: a dash with nothing behind it is an utterance without words.
- The gap counts a space behind every line, and of a paragraph with speech only what stands behind the last quote.
- A blank line that holds spaces ends no paragraph.

Unlike theirs, utterances have single spaces.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from edos_dataset.segmentation.books.papers_words import count_words
from edos_dataset.segmentation.books.speech import Extraction, Utterance
from edos_dataset.text import shown

_DASH_LANGUAGES = {"es": "--", "it": "--", "pt": "--", "hu": "–"}
WEIGHTS: dict[str, dict[str, int]] = {
    "en": {'"': 1, "“": 2, "‘": 2, "_": 1},
    "nl": {'"': 1, "“": 2, "‘": 2, "_": 1},
    "de": {'"': 1, "„": 2, "»": 2},
    **{language: {dash: 2} for language, dash in _DASH_LANGUAGES.items()},
}
"""Language → delimiter → its weight; `_` counts at the beginning of a line only. The first of equals wins."""

_CLOSING = {"„": "“", "»": "«", '"': '"'}
_STYLES = {"“": "“ ”", "‘": "‘ ’", "„": "„ “", "»": "» «"}
PER_WORDS = 10_000


class Found(NamedTuple):
    """Dialogues of a book, some of one utterance or none, and the number of paragraphs of speech with two dashes."""

    dialogues: list[list[Utterance]]
    doubles: int = 0


@dataclass(frozen=True)
class Papers:
    """Parameters of the extraction; the defaults are the authors'.

    Attributes:
        dialog_gap: characters between two utterances beyond which a dialogue ends.
        max_length: words of an utterance beyond which it is dropped and cuts its dialogue in two.
        min_delimiters: delimiters per 10,000 words that a book has to exceed; it needs a tenth as many dialogues per
            10,000 words at least.
        min_double_delimiters: paragraphs with two dashes or more per 10,000 words that a book with dashes has to
            exceed.
        count_prefix: count a word more for each utterance, as their code does.
        keep_empty: keep utterances without words, as their code does.
    """

    dialog_gap: int = 150
    max_length: int = 100
    min_delimiters: float = 150
    min_double_delimiters: float = 40
    count_prefix: bool = True
    keep_empty: bool = True


def extract_as_papers(text: str, language: str, parameters: Papers | None = None) -> Extraction:
    """Return the dialogues of a book.

    Args:
        text: the book without Project Gutenberg's header and licence, in paragraphs between empty lines.
        language: code of one of the seven languages of the paper.
        parameters: by default the authors'.

    Returns:
        Dialogues, whose utterances have the number of their paragraph, counted from 0 over those that are not empty.
        Reasons: "few_delimiters", "few_double_delimiters", "few_dialogues" (for the length of the book), "no_dialogue"
        (none of two utterances).

    Raises:
        ValueError: the language is not one of the seven.
    """
    parameters = parameters or Papers()
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    delimiter, count = choose_delimiter(text, language)
    style = _STYLES.get(delimiter, delimiter)
    parts = count_words(text) / PER_WORDS
    if not parts or count / parts <= parameters.min_delimiters:
        return Extraction([], style, "few_delimiters")
    found = find_dialogues(text, language, delimiter, parameters.dialog_gap)
    if language in _DASH_LANGUAGES and found.doubles / parts <= parameters.min_double_delimiters:
        return Extraction([], style, "few_double_delimiters")
    if len(found.dialogues) / parts < parameters.min_delimiters / 10:
        return Extraction([], style, "few_dialogues")
    dialogues = [piece for dialogue in found.dialogues for piece in cut_at_long(dialogue, parameters)]
    return Extraction(dialogues, style, None if dialogues else "no_dialogue")


def choose_delimiter(text: str, language: str) -> tuple[str, int]:
    """Return the delimiter of a book, the one with the highest weighted count, and this count, which begins at 1.

    Raises:
        ValueError: the language is not one of the seven.
    """
    if language not in WEIGHTS:
        raise ValueError(f"recipe papers knows no books in {shown(language)}: expected one of {', '.join(WEIGHTS)}")
    counts = {
        delimiter: 1 + weight * (_lines_with(text, "_") if delimiter == "_" else text.count(delimiter))
        for delimiter, weight in WEIGHTS[language].items()
    }
    chosen = max(counts, key=counts.__getitem__)
    return chosen, counts[chosen]


def _lines_with(text: str, beginning: str) -> int:
    return text.startswith(beginning) + text.count(f"\n{beginning}")


def find_dialogues(text: str, language: str, delimiter: str, gap: int) -> Found:
    """Return the dialogues of a book before the rule of length; some are empty.

    Args:
        text: with line feeds alone as line ends.
        language: one of the seven.
        delimiter: as `choose_delimiter` has it.
        gap: characters between two utterances beyond which a new dialogue begins.
    """
    paragraphs = [paragraph for piece in text.split("\n\n") if (paragraph := piece.strip("\n"))]
    if language in _DASH_LANGUAGES:
        return _find_dashes(paragraphs, delimiter, gap)
    if language == "de":
        return _find_german(paragraphs, delimiter, gap)
    return _find_plays(paragraphs, gap) if delimiter == "_" else _find_quotes(paragraphs, delimiter, gap)


# A paragraph is given as its lines; it counts as these with a space behind each, one character more than it has.


def _find_quotes(paragraphs: Sequence[str], delimiter: str, gap: int) -> Found:
    """Find speech in quotes, as in English and Dutch: a paragraph is an utterance if its quotes are balanced and the
    first begins with a capital. The gap is counted behind the last quote and in paragraphs without one.
    """
    dialogues: list[list[Utterance]] = []
    closing = {"“": "”", "‘": "’ "}.get(delimiter, delimiter)
    silence = gap + 1
    for number, lines in enumerate(paragraphs):
        if delimiter not in lines and closing[0] not in lines:
            silence += len(lines) + 1
            continue
        paragraph = lines.replace("\n", " ") + " "
        if closing != delimiter:
            paragraph = paragraph.replace(closing, delimiter + closing[1:])
        if delimiter not in paragraph:
            silence += len(lines) + 1
            continue
        if silence > gap:
            dialogues.append([])
        pieces = paragraph.split(delimiter)
        if len(pieces) % 2:
            first = pieces[1][:1]
            if first == first.lower():
                silence += len(lines) + 1
                continue
            dialogues[-1].append(_utterance(" ".join(pieces[1::2]), number))
        silence = len(pieces[-1])
    return Found(dialogues)


def _find_plays(paragraphs: Sequence[str], gap: int) -> Found:
    """Find the lines of a play, which begin with a name between underscores; stage directions in underscores stay."""
    dialogues: list[list[Utterance]] = []
    silence = gap + 1
    for number, lines in enumerate(paragraphs):
        if not lines.startswith("_"):
            silence += len(lines) + 1
            continue
        if silence > gap:
            dialogues.append([])
        dialogues[-1].append(_utterance(" ".join(lines.split("_")[2:]), number))
        silence = 0
    return Found(dialogues)


def _find_german(paragraphs: Sequence[str], delimiter: str, gap: int) -> Found:
    """Find speech in German quotes: a paragraph is an utterance if one opens in its first two characters.

    A quote that is not closed ends with the paragraph, and what follows the last one does not count as a gap.
    """
    dialogues: list[list[Utterance]] = []
    silence = gap + 1
    closing = _CLOSING[delimiter]
    for number, lines in enumerate(paragraphs):
        if delimiter not in lines[:2]:
            silence += len(lines) + 1
            continue
        if silence > gap:
            dialogues.append([])
        quotes = (piece.partition(closing)[0] for piece in lines.split(delimiter)[1:])
        dialogues[-1].append(_utterance("".join(quotes), number))
        silence = 0
    return Found(dialogues)


def _find_dashes(paragraphs: Sequence[str], delimiter: str, gap: int) -> Found:
    """Find speech behind dashes: a paragraph is an utterance if one stands in its first two characters.

    The second dash begins narration, the third speech again, and so on.
    """
    dialogues: list[list[Utterance]] = []
    doubles = 0
    silence = gap + 1
    for number, lines in enumerate(paragraphs):
        if delimiter not in lines[:2]:
            silence += len(lines) + 1
            continue
        if silence > gap:
            dialogues.append([])
        pieces = lines.split(delimiter)[1:]
        doubles += len(pieces) > 1
        dialogues[-1].append(_utterance(" ".join(pieces[::2]), number))
        silence = 0
    return Found(dialogues, doubles)


def _utterance(text: str, paragraph: int) -> Utterance:
    return Utterance(" ".join(text.split()), (paragraph,))


def cut_at_long(dialogue: list[Utterance], parameters: Papers) -> list[list[Utterance]]:
    """Return the pieces of a dialogue between its long utterances, those of two utterances or more."""
    longest = parameters.max_length - parameters.count_prefix
    pieces: list[list[Utterance]] = [[]]
    for utterance in dialogue:
        words = utterance.text.count(" ") + 1  # single spaces; an utterance without words counts as one
        if words > longest:
            pieces.append([])
        elif utterance.text or parameters.keep_empty:
            pieces[-1].append(utterance)
    return [piece for piece in pieces if len(piece) > 1]
