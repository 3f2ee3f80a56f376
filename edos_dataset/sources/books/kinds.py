"""The kind of a paragraph of plain text, judged by its words and the shape of its lines."""

import re
from collections.abc import Callable

from edos_dataset.sources.books.book import CONTENTS, HEADING, NOTE, PARAGRAPH, VERSE

_NUMBER = r"(?:[0-9]{1,3}|[IVXLC]{1,8}|[ivxlc]{1,8})"
_CHAPTER_WORDS = (  # of titles of chapters, in the seven languages and French
    "chapter|book|part|volume|act|scene|canto|letter|stave|preface|introduction|prologue|epilogue|conclusion|appendix"
    "|kapitel|buch|teil|theil|band|akt|aufzug|szene|vorwort|einleitung|nachwort"
    "|capítulo|capitulo|libro|parte|jornada|acto|escena|prólogo|epílogo|tomo"
    "|capitolo|volume|atto|scena|prefazione|prologo|epilogo|introduzione"
    "|hoofdstuk|boek|deel|voorrede|inleiding|voorwoord|bedrijf|tooneel"
    "|fejezet|könyv|kötet|rész|előszó|felvonás|jelenet|capitulo|livro|prefácio|prefacio|introdução|conclusão"
    "|chapitre|livre|partie|préface"
)
_HEADING = re.compile(
    rf"(?:the )?(?:{_CHAPTER_WORDS})\b[.:]?(?:[ :,—–-]+(?:the )?(?-i:[A-ZÀ-ÞŐŰ0-9])\w*[.:]?(?=\s|$|—|–|-)|\s*$)"
    rf"|\w+[ .]+(?:{_CHAPTER_WORDS})\s*$|\w+[ .]+(?-i:(?=[A-ZÀ-ÞŐŰ]))(?:{_CHAPTER_WORDS})\.$"
    r"|(?:finis|the end|ende|fine|fin|fim|einde|vége)\.?\s*$",
    re.IGNORECASE,
)
_NUMERAL = re.compile(rf"{_NUMBER}[.):]?\s*$")
_BETWEEN_DASHES = re.compile(rf"[–—-]+ ?{_NUMBER}\.? ?[–—-]+$")
_NUMBERED = re.compile(rf"{_NUMBER}[.):—–-]+ ?[^\W\d_][^\n]*[^\W\d_]$")
_PAGED = re.compile(r".*\S(?: {2,80}| {0,80}\. ?|”  ?|\" )\d{1,4}\s{0,20}$")
_CONTENTS = re.compile(
    r"(?:table of )?contents\b|illustrations$|list of illustrations|inhalt(?:sverzeichni(?:s|ß|ss))?$|índice|indice\b"
    r"|inhoud(?:sopgave)?$|tartalom|sommario|tabla de|list of plates",
    re.IGNORECASE,
)
_TRANSCRIBER = re.compile(
    r"\W*(?:transcriber[’']?s?[’']? note|transcription note|note del trascrittore|nota del? trans[ck]ri(?:p|)tor"
    r"|notas? d[eo] transcri|opmerkingen van de bewerker|anmerkung(?:en)? zur transkription|a jegyzet|megjegyzés a"
    r"|note du transcripteur|produced by|e-?text prepared by|this e-?(?:book|text) was (?:produced|prepared|scanned)"
    r"|credits:|(?:the following )?(?:typographical errors|corrections)|scanned (?:and|by)"
    r"|character set encoding|html version by)",
    re.IGNORECASE,
)
_EDITION = re.compile(
    r"(?:imprint|colophon|uncopyright|about this (?:digital )?(?:edition|e-?book)|à propos de cette édition.{0,20}"
    r"|über diese (?:digitale )?ausgabe|sobre est[ae] (?:edición|edição|libro).{0,20}"
    r"|informazioni su questa edizione.{0,20}|over deze (?:digitale )?uitgave|erről a (?:digitális )?kiadásról)$",
    re.IGNORECASE,
)
_BRACKETED = re.compile(
    r"\s*\[(?:foot-?note|fu(?:ß|ss)note|voetnoot|nota|note|illustra|ilustra|abbildung|sidenote|transcriber|lábjegyzet"
    r"|\d{1,3}\]\s|[*†‡A-H]\]\s)",
    re.IGNORECASE,
)
_STAR_NOTE = re.compile(r"\s*(?:\*{1,3}|†|\(\d{1,2}\)) ?[^\s*].{20}")
_ENTRY = re.compile(rf"\s*(?:{_CHAPTER_WORDS}) |\s*{_NUMBER}[.)—–-]+\s", re.IGNORECASE)
_ENTRY_PAGED = re.compile(r".*(?:[ .]{3}|\s)\d{1,4}\s{0,20}$")
_RULE = re.compile(r"[\s*·•.~_+=|–—-]*$")
_SIGNS = frozenset("\"'“”„«»‘‹›–—-¿¡([")
_QUOTES = _SIGNS - frozenset("([")
_BEGINNINGS = (  # of paragraphs that may be a transcriber's
    "Trans", "NOTE ", "Nota ", "Opmer", "OPMER", "Anmer", "Produ", "E-tex", "Etext", "This ", "Credi", "Scann",
)  # fmt: skip
_TERMINAL = frozenset(".!?…:;,»”\"’'—–-)]")
_NARROW = 0.78  # of the width at which lines are wrapped
_LONGEST_TITLE = 120  # characters
_PROSE = 200


class Kinds:
    """Decides the kind of paragraphs.

    Args:
        width: column at which the lines of the book are wrapped, 0 if they are not.
    """

    def __init__(self, width: int) -> None:
        self._narrow = _NARROW * max(width, 60) if width else 0.0

    def kind_of(self, text: str, blanks: int) -> str:
        """Return the kind of a paragraph by itself, regardless of its neighbours.

        Args:
            text: its lines.
            blanks: blank lines before it.
        """
        first = text[0]
        if first == "[" or first == " ":
            if _BRACKETED.match(text):
                return NOTE
        elif first in "*†(" and _STAR_NOTE.match(text):
            return NOTE
        end = text.find("\n")
        if end < 0:
            return _kind_of_line(text.strip(), blanks)
        full = end > self._narrow > 0 and text[-1] in _TERMINAL
        if full and (first.isalpha() or first in _QUOTES) and not text.startswith(_BEGINNINGS):
            return PARAGRAPH  # the usual case, decided without a look at the other lines
        return self._kind_of_lines(text, text.split("\n"), blanks)

    def _kind_of_lines(self, text: str, lines: list[str], blanks: int) -> str:
        if _TRANSCRIBER.match(text) or text.lstrip()[:2] in ("+-", "| "):
            return CONTENTS
        if blanks and _is_title_of_lines(text, lines):
            return HEADING
        if self._is_contents(text, lines):
            return CONTENTS
        return VERSE if self._is_verse(lines) else PARAGRAPH

    def _is_contents(self, text: str, lines: list[str]) -> bool:
        """Return whether it has entries like "I. The Mill ... 1 / II. The Fair ... 9", or over three lines of
        capitals.
        """
        may_end_in_page = text[-1].isdigit() or len(lines[0]) < self._narrow
        return (may_end_in_page and _is_entries(lines)) or (len(lines) > 3 and text.isupper())

    def _is_verse(self, lines: list[str]) -> bool:
        """Return whether lines end where verses do instead of at the margin: early and unevenly, mostly followed by a
        capital.
        """
        inner = [len(line.rstrip()) for line in lines[:-1]]
        longest = max(inner)
        if longest >= self._narrow:
            return False
        if len(inner) > 1 and min(inner) >= longest - 8 and longest > 45:
            return False
        capitals = sum(line.lstrip(" _[(\"“‘„«»'—–-")[:1].isupper() for line in lines)
        return capitals >= 0.7 * len(lines) or (lines[0][:2] == "  " and longest < 0.8 * self._narrow)


def _is_title_of_lines(text: str, lines: list[str]) -> bool:
    """Return whether up to four short lines begin like a title, "CHAPTER I. / The Keeper", or are all in capitals."""
    if len(lines) > 4 or len(text) > 2 * _LONGEST_TITLE or text.lstrip()[0] in _SIGNS:
        return False
    begins_so = is_title(lines[0].strip(" _="))
    return (begins_so and all(len(line) < 70 for line in lines) and not _is_entries(lines)) or text.isupper()


def _is_number_between_dashes(line: str, blanks: int) -> bool:
    """Such as "— 14 —"."""
    return line[0] in _SIGNS and len(line) < 12 and _BETWEEN_DASHES.match(line) is not None


def _ends_in_page(line: str, blanks: int) -> bool:
    """Such as "The Storm . . . . 12"."""
    return line[-1].isdecimal() and _PAGED.match(line) is not None


def _is_titled(line: str, blanks: int) -> bool:
    """Such as "CHAPTER I.", or after two blank lines "3. Of the Sea"."""
    return is_title(line) or (blanks > 1 and _NUMBERED.match(line) is not None)


def _is_spaced_title(line: str, blanks: int) -> bool:
    """A short line after two blank ones that is not a sentence, "Early Years", or is all in italics, "_A Dream._"."""
    bare = line.strip("_= ")
    spaced = blanks > 1 and len(bare) < 70 and bare[0].isupper() and "_" not in bare
    return spaced and (line[-1] not in _TERMINAL or line[0] == "_")


_RULES_OF_LINES: tuple[tuple[Callable[[str, int], object], str], ...] = (
    (lambda line, blanks: len(line) > _LONGEST_TITLE, PARAGRAPH),
    (_is_number_between_dashes, HEADING),
    (lambda line, blanks: line[0] in _SIGNS, PARAGRAPH),  # "“Where is he?”"
    (lambda line, blanks: _RULE.match(line), CONTENTS),  # "* * *"
    (_ends_in_page, CONTENTS),
    (_is_titled, HEADING),
    (lambda line, blanks: _TRANSCRIBER.match(line), CONTENTS),  # "Produced by ..."
    (_is_spaced_title, HEADING),
)
"""Rules for the kind of a one-line paragraph; the first one that matches decides."""


def _kind_of_line(line: str, blanks: int) -> str:
    for fulfils, kind in _RULES_OF_LINES:
        if fulfils(line, blanks):
            return kind
    return PARAGRAPH


def is_title(line: str) -> bool:
    """Whether a line is the title of a chapter by its words: "CHAPTER I.", "Zweites Buch", "XIV", all capitals."""
    if line[0] in _SIGNS or len(line) > _LONGEST_TITLE:
        return False
    if line[-1] in "!?,;»”\"'":
        return False
    if line.isupper():
        return len(line) > 1 or line in "IVXLC"
    return is_chapter(line)


def is_chapter(line: str) -> bool:
    """Whether a line numbers or names a chapter: "Chapter 3. The Keeper", "XIV", "Epilogue"."""
    return bool(_NUMERAL.match(line)) or (len(line) < 90 and line[0].isupper() and bool(_HEADING.match(line)))


def could_be_title(text: str) -> bool:
    """Whether a paragraph below the number of a chapter can be its title: a short line that is not a sentence."""
    return (
        "\n" not in text and len(text) < 70 and text.lstrip(" _")[:1].isupper() and text.rstrip()[-1] not in _TERMINAL
    )


def opens_contents(text: str) -> bool:
    """Whether a heading opens a table of contents or a list of pictures."""
    return bool(_CONTENTS.match(text.strip(" ._=*")))


def opens_edition(text: str) -> bool:
    """Whether a line is the heading of a part about the electronic edition, such as "Colophon"."""
    return len(text) < _LONGEST_TITLE and bool(_EDITION.match(text.strip(" ._=*\n")))


def opens_transcriber(text: str) -> bool:
    """Whether a paragraph opens the notes of those who made the file."""
    return bool(_TRANSCRIBER.match(text))


def is_prose(text: str) -> bool:
    """Whether a paragraph is too long for a title page or a table of contents."""
    return len(text) > _PROSE and not text.isupper()


def _is_entries(lines: list[str]) -> bool:
    return len(lines) > 2 and sum(map(_is_entry, lines)) > 0.6 * len(lines)


def _is_entry(line: str) -> bool:
    paged = line.rstrip()[-1:].isdecimal() and bool(_ENTRY_PAGED.match(line))
    return paged or bool(_ENTRY.match(line))
