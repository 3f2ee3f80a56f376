"""Recipe `papers` of a book: dialogues as the code behind the Gutenberg Dialogue Dataset finds them (Csaky and Recski
2021, Section 3, and what their code does beside it), so that corpora can be compared with theirs.

What is odd in it is kept, and named here:

- `count_prefix`: the limit of 100 words is one of 99, because the name of the book before an utterance is counted.
- A second test of a book that the paper lacks: a tenth of `min_delimiters` dialogues per 10,000 words, counted before
  the rule of length, with dialogues of one utterance or none.
- A paragraph is one utterance, whoever speaks in it; narration between its quotes is dropped. Speech over several
  paragraphs is only its last one, as the others lack a closing quote.
- English and Dutch: a paragraph whose first quote begins with anything but a capital is narration. It may have opened
  a dialogue, which then stays empty.
- German: what stands in several quotes is written without a space between. Straight quotes keep the narration.
- Single quotes: an apostrophe at the end of a word closes one; before , . or - the closing quote is not seen.
- Spanish, Italian, Portuguese: only "--" is a dash; Hungarian: only "–". A book in another style gives nothing.
- Dashes: a book of which few paragraphs hold a second dash is dropped whole (`min_double_delimiters`), rich ones too.
- `keep_empty`: a dash with nothing behind it is an utterance without words.
- The gap counts a space behind every line, and only what stands behind the last quote of a paragraph.
- A blank line that holds spaces ends no paragraph.

Otherwise than theirs: utterances have single spaces.
"""

from dataclasses import dataclass

from edos_dataset.segmentation.books.papers_speech import Found, find_dashes, find_german, find_plays, find_quotes
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
"""Language → delimiter → what one counts; `_` counts at the beginning of a line only. The first of equals wins."""

_STYLES = {"“": "“ ”", "‘": "‘ ’", "„": "„ “", "»": "» «"}
PER_WORDS = 10_000


@dataclass(frozen=True)
class Papers:
    """Parameters of the extraction; the defaults are the authors'.

    Attributes:
        dialog_gap: characters between two utterances beyond which a dialogue ends.
        max_length: words of an utterance beyond which it leaves and cuts its dialogue in two.
        min_delimiters: delimiters per 10,000 words that a book needs more than; a tenth of it are the dialogues per
            10,000 words that it needs at least.
        min_double_delimiters: paragraphs with two dashes or more per 10,000 words that a book with dashes needs more
            than.
        count_prefix: count a word more for each utterance, as theirs does.
        keep_empty: keep utterances without words, as theirs does.
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
        Dialogues, whose utterances tell the number of their paragraph, counted from 0 over those that are not empty.
        Reasons: "few_delimiters", "few_double_delimiters", "few_dialogues" (for the length of the book), "no_dialogue"
        (none of two utterances).

    Raises:
        ValueError: the language is none of the seven.
    """
    parameters = parameters or Papers()
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    delimiter, count = choose_delimiter(text, language)
    style = _STYLES.get(delimiter, delimiter)
    parts = max(count_words(text), 1) / PER_WORDS
    if count / parts <= parameters.min_delimiters:
        return Extraction([], style, "few_delimiters")
    found = find_dialogues(text, language, delimiter, parameters.dialog_gap)
    if language in _DASH_LANGUAGES and found.doubles / parts <= parameters.min_double_delimiters:
        return Extraction([], style, "few_double_delimiters")
    if len(found.dialogues) / parts < parameters.min_delimiters / 10:
        return Extraction([], style, "few_dialogues")
    dialogues = [piece for dialogue in found.dialogues for piece in cut_at_long(dialogue, parameters)]
    return Extraction(dialogues, style, None if dialogues else "no_dialogue")


def choose_delimiter(text: str, language: str) -> tuple[str, int]:
    """Return the delimiter of a book, the one that counts most, and its count, which begins at 1.

    Raises:
        ValueError: the language is none of the seven.
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
        return find_dashes(paragraphs, delimiter, gap)
    if language == "de":
        return find_german(paragraphs, delimiter, gap)
    return find_plays(paragraphs, gap) if delimiter == "_" else find_quotes(paragraphs, delimiter, gap)


def cut_at_long(dialogue: list[Utterance], parameters: Papers) -> list[list[Utterance]]:
    """Return what is left of a dialogue without its long utterances: the pieces between them that have two utterances
    or more.
    """
    longest = parameters.max_length - parameters.count_prefix
    pieces: list[list[Utterance]] = [[]]
    for utterance in dialogue:
        words = utterance.text.count(" ") + 1  # single spaces; an utterance without words counts as one
        if words > longest:
            pieces.append([])
        elif utterance.text or parameters.keep_empty:
            pieces[-1].append(utterance)
    return [piece for piece in pieces if len(piece) > 1]
