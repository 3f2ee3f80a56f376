"""Render the sample: python -m sample_source.render writes edos_dataset/sample/ from the screenplays.

The tables here say which file format, encoding and defect each film gets; the speech is in the screenplays.
"""

import json
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sample_source.broken import broken_files, corrupt_zip, pack_gzip, pack_zip
from sample_source.layout import Block, Look, lay_out
from sample_source.opus import Facts, write_opus
from sample_source.screenplay import Screenplay, parse_screenplay
from sample_source.spoil import misread, mistranslate
from sample_source.subtitle import Markup, write_ass, write_srt, write_vtt
from sample_source.truth import BadTurn, Document, build_truth

HERE = Path(__file__).parent
SAMPLE = HERE.parent / "edos_dataset" / "sample"
ZIP = "OpenSubtitles.zip"
CORRUPT_ZIP = "broken/corrupt_member.zip"


@dataclass(frozen=True)
class Film:
    """One rendered file. `form`: opus, raw (loose, .gz with `gz`), zip, zip-raw, corrupt-zip, srt, vtt, ass.

    `version` counts the files of one film from 0; `share` is how much of the film a partial file holds.
    """

    number: int
    form: str
    look: Look = Look()
    markup: Markup = Markup()
    encoding: str = "utf-8"
    newline: str = "\n"
    gz: bool = False
    faults: dict[tuple[int, int], str] = field(default_factory=dict)
    version: int = 0
    share: float = 1.0
    outcome: str = "kept"


FAULTS_XML = {(2, 2): "missing", (2, 4): "backward", (3, 2): "absurd", (3, 4): "malformed", (4, 3): "missing"}
FAULTS_SRT = {(2, 2): "missing", (3, 3): "backward", (4, 2): "absurd"}
HINTS = Look(sound_hints=True)
OTHER, OTHER_LANGUAGE = "other_file_of_film", "other_language"

FILMS = (
    Film(1, "opus"),
    Film(1, "opus", share=0.4, version=1, outcome=OTHER),
    Film(2, "srt", Look(names=True), Markup(numbers="missing")),
    Film(3, "raw", Look(names=True)),
    Film(4, "opus", HINTS, Markup(italics=True), gz=True),
    Film(5, "opus", outcome="documentary"),
    Film(6, "srt", encoding="iso-8859-1"),
    Film(7, "ass", Look(sharing=0.9), Markup(voices=True)),
    Film(8, "vtt", markup=Markup(voices=True, entities=True)),
    Film(9, "opus", encoding="iso8859-2"),
    Film(10, "zip"),
    Film(11, "zip"),
    Film(11, "zip", Look(spoil=mistranslate, sharing=0), version=1, outcome=OTHER),
    Film(12, "opus", HINTS, Markup(caps=True)),
    Film(13, "srt", HINTS, Markup(dash="-", colors=True, italics=True, top=True), "utf-8-sig", "\r\n"),
    Film(14, "zip-raw"),
    Film(15, "vtt", Look(names=True, sound_hints=True), Markup(entities=True, italics=True)),
    Film(16, "opus", gz=True, faults=FAULTS_XML),
    Film(17, "ass", HINTS, Markup(italics=True, dash="\u2013 ")),
    Film(18, "srt", Look(spoil=misread)),
    Film(19, "raw", gz=True),
    Film(20, "corrupt-zip"),
    Film(20, "corrupt-zip", version=1, outcome="quarantined"),
    Film(21, "srt", markup=Markup(entities=True, italics=True), encoding="utf-16-le", newline="\r\n"),
    Film(22, "zip"),
    Film(22, "zip", share=0.25, version=1, outcome=OTHER),
    Film(23, "srt", markup=Markup(numbers="shuffled", dash="-"), faults=FAULTS_SRT),
    Film(24, "vtt", Look(sharing=0.9)),
    Film(25, "raw", Look(names=True, sound_hints=True)),
    Film(26, "ass", encoding="utf-8-sig", newline="\r\n"),
    Film(27, "srt", markup=Markup(dash="-"), encoding="cp1252", newline="\r\n", outcome=OTHER_LANGUAGE),
    Film(28, "srt", encoding="cp1250", outcome=OTHER_LANGUAGE),
)

DETAILED = (1, 2, 3, 4, 6, 7, 8, 10, 12, 16, 18)
"""Films whose turns stand in the truth file."""

BAD_TURNS = (
    BadTurn(2, 3, "Yes", "too_short"),
    BadTurn(2, 4, "It's 555-0142, 555-0199, 24-7-365, #1138.", "few_letters"),
    BadTurn(2, 6, "I was looking for my hat, and then I found a beetle", "too_long"),
    BadTurn(2, 7, "I have no idea.", "repeats_previous"),
    BadTurn(3, 3, "$#@! 555-0199 ... *&%!", "bad_start"),
    BadTurn(3, 4, "No no no no no no no!", "repetitive"),
    BadTurn(8, 1, "Previously on Orchard Station, the signal came back.", "previously_on"),
    BadTurn(8, 4, "That night the wind came down from the ridge", "single_turn"),
)
"""Planned bad turns; what follows them in the scene leaves with them."""

DEFECTS: dict[str, tuple[int, str]] = {
    "names": (2, r"(?m)^[A-Z]+: "),
    "numbers_missing": (2, r"\n\n\d\d:\d\d:\d\d,"),
    "numbers_out_of_order": (23, r"(?m)^85\n[\d:,]+ --> [^\0]+?^2\n"),
    "empty_block": (2, r"(?m)^<i></i>$"),
    "credit": (2, r"Subtitles by "),
    "web_address": (2, r"www\.example\.com"),
    "dash_lines": (6, r"(?m)^- .+\n- "),
    "dash_sentences": (1, r'<w id="\d+\.1">-</w>'),
    "emphasis_sentence": (4, r'<s emphasis="true"'),
    "emphasis_word": (4, r'<w emphasis="true"'),
    "alternative": (12, r'<w alternative="I?[a-z]+" id="[\d.]+">[A-Z]+</w>'),
    "italics": (13, r"<i>"),
    "font_color": (13, r'<font color="#'),
    "position": (13, r"\{\\an8\}"),
    "crlf": (13, r"\r\n"),
    "bom": (13, "^\ufeff"),
    "sound_brackets": (13, r"\[[A-Z ]+\]"),
    "sound_parentheses": (13, r"\([a-z ]+\)"),
    "music": (8, "♪ .+ ♪"),
    "html_entities": (8, r"&#39;[^\0]+&quot;"),
    "html_ampersand": (8, r"&amp;"),
    "ocr": (18, r"l'm|lt's|\bl [a-z]"),
    "utf_16": (21, "^\ufeff1\r\n\\d"),
    "latin_1": (6, "[é-ü]"),
    "cp1250": (28, "[őű]"),
    "latin_2_declared_utf_8": (9, 'encoding="utf-8"[^\0]+ő'),
    "xml_time_missing": (16, r"<s id=\"\d+\">\s+<w[^\0]*?</s>"),
    "xml_time_absurd": (16, r'value="99:59:59,999"'),
    "xml_time_malformed": (16, r'value="--:'),
    "srt_time_missing": (23, r"00:00:00,000 --> 00:00:00,000"),
    "srt_time_absurd": (23, r"99:59:59,999"),
    "documentary": (5, r"<genre>Documentary"),
}
"""Planned defect: the film that shows it, and a pattern that its decoded file must match."""


def read_screenplays() -> dict[int, Screenplay]:
    """Return all screenplays by number."""
    films = [parse_screenplay(path) for path in sorted((HERE / "screenplays").glob("*.txt"))]
    return {film.number: film for film in films}


def place(row: Film, film: Screenplay) -> Document:
    """Say where a rendered file goes."""
    file = f"{3_000_000 + 10 * film.number + row.version}"
    tree = f"xml/en/{film.year}/{film.imdb}/{file}.xml"
    facts = (row.outcome, row.number, row.encoding)
    if row.form in ("srt", "vtt", "ass"):
        return Document(f"{row.form}/{film.slug}.{row.form}", None, *facts)
    if "zip" in row.form:
        return Document(CORRUPT_ZIP if row.form == "corrupt-zip" else ZIP, f"OpenSubtitles/{tree}", *facts)
    return Document(f"opus/{tree}{'.gz' if row.gz else ''}", None, *facts)


def write_film(row: Film, film: Screenplay) -> bytes:
    """Return the content of one file, before gzip or zip."""
    blocks = lay_out(film, row.look)
    blocks = blocks[: round(row.share * len(blocks))]
    text = _write_text(row, film, blocks).replace("\n", row.newline)
    if "\u266a" in text and not row.encoding.startswith("utf"):
        text = text.replace("\u266a", "#")
    return (("\ufeff" if row.encoding == "utf-16-le" else "") + text).encode(row.encoding)


def _write_text(row: Film, film: Screenplay, blocks: list[Block]) -> str:
    if row.form == "srt":
        return write_srt(blocks, row.markup, row.faults)
    if row.form == "vtt":
        return write_vtt(film, blocks, row.markup)
    if row.form == "ass":
        return write_ass(film, blocks, row.markup)
    machine = row.look.spoil is mistranslate
    document = f"{3_000_000 + 10 * film.number + row.version}"
    facts = Facts(document, confidence="0.57", unknown=0.19) if machine else Facts(document)
    look = {"raw": row.form.endswith("raw"), "caps": row.markup.caps, "emphasis": row.markup.italics}
    return write_opus(film, blocks, facts, faults=row.faults, **look)


def render_texts(films: dict[int, Screenplay]) -> dict[Document, bytes]:
    """Render every row of the table whose screenplay is there; contents are those before gzip or zip."""
    return {place(row, films[row.number]): write_film(row, films[row.number]) for row in FILMS if row.number in films}


def pack(texts: dict[Document, bytes]) -> dict[str, bytes]:
    """Return path below films/ to bytes: loose files, gzip files, the zips and the broken files."""
    zips: dict[str, dict[str, bytes]] = {ZIP: {}, CORRUPT_ZIP: {}}
    files: dict[str, bytes] = {}
    spoilt = ""
    for document, content in texts.items():
        if document.member:
            zips[document.path][document.member] = content
            spoilt = document.member if document.outcome == "quarantined" else spoilt
        else:
            files[document.path] = pack_gzip(content) if document.path.endswith(".gz") else content
    files[ZIP] = pack_zip(zips[ZIP])
    files[CORRUPT_ZIP] = corrupt_zip(zips[CORRUPT_ZIP], spoilt)
    return files | broken_files(next(iter(texts.values())))


def truth(films: dict[int, Screenplay], texts: dict[Document, bytes]) -> dict[str, Any]:
    """Return the content of truth.json."""
    broken = [Document(name, None, "quarantined") for name in sorted(broken_files(b""))]
    documents = [*texts, *broken]
    shown = {item.film: item.document for item in reversed(list(texts))}
    defects = {name: shown[film] for name, (film, _) in DEFECTS.items() if film in shown}
    bad = tuple(turn for turn in BAD_TURNS if turn.film in films)
    return build_truth(documents, films, bad, DETAILED, defects)


def missing_defects(texts: dict[Document, bytes]) -> list[str]:
    """Name the planned defects that the rendered files do not show."""
    first = {item.film: content for item, content in reversed(list(texts.items()))}
    encodings = {row.number: row.encoding.removesuffix("-sig") for row in FILMS}
    return [
        name
        for name, (film, pattern) in DEFECTS.items()
        if film not in first or not re.search(pattern, first[film].decode(encodings[film]))
    ]


def main() -> int:
    """Write the sample and print what is in it."""
    films = read_screenplays()
    texts = render_texts(films)
    files = pack(texts)
    for old in sorted((SAMPLE / "films").rglob("*"), reverse=True):
        old.rmdir() if old.is_dir() else old.unlink()
    for name, content in files.items():
        path = SAMPLE / "films" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    text = json.dumps(truth(films, texts), ensure_ascii=False, indent=1) + "\n"
    (SAMPLE / "truth.json").write_text(text, "utf-8", newline="\n")
    total = sum(map(len, files.values())) + len(text.encode())
    sys.stdout.write(f"{len(films)} films, {len(files)} files, {total:,} bytes; not shown: {missing_defects(texts)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
