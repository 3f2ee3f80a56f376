"""The packaged sample is what the screenplays say, shows every planned defect, and its truth file fits it."""

import gzip
import io
import json
import re
import xml.etree.ElementTree as ElementTree
import zipfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import pysubs2
import pytest

from sample_source import render
from sample_source.layout import lay_out, split_sentences, wrap
from sample_source.opus import tokenize
from sample_source.screenplay import Screenplay, Speech, parse_screenplay
from sample_source.truth import Document

REASONS = {
    "music",
    "sound",
    "credit",
    "empty",
    "previously_on",
    "repeats_previous",
    "bad_start",
    "too_short",
    "too_long",
    "few_letters",
    "repetitive",
    "single_turn",
}
SUBTITLES = [row for row in render.FILMS if row.form in ("srt", "vtt", "ass")]
OUTCOMES = {"kept", "other_file_of_film", "other_language", "documentary", "quarantined"}


@pytest.fixture(scope="module")
def films() -> dict[int, Screenplay]:
    """All screenplays."""
    return render.read_screenplays()


@pytest.fixture(scope="module")
def texts(films: dict[int, Screenplay]) -> dict[Document, bytes]:
    """All rendered files before gzip and zip."""
    return render.render_texts(films)


@pytest.fixture(scope="module")
def truth() -> dict[str, Any]:
    """The packaged truth file."""
    content: dict[str, Any] = json.loads((render.SAMPLE / "truth.json").read_text("utf-8"))
    return content


def contents(data: bytes, name: str) -> object:
    """Return what a file holds; compressed bytes differ between zlib versions, what they hold does not."""
    if name.endswith(".zip"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            stored = [(info.filename, info.date_time, info.CRC, info.file_size) for info in archive.infolist()]
            return stored, archive.testzip()
    if name.endswith(".gz") and "cut_short" not in name:
        return gzip.decompress(data)
    return len(data) > 0 if "cut_short" in name else data


def test_rendering_gives_the_packaged_files(texts: dict[Document, bytes]) -> None:
    """Every packaged file is rendered as it is, and no other lies there."""
    rendered = render.pack(texts)
    folder = render.SAMPLE / "films"
    packaged = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    assert set(packaged) == set(rendered)
    for name, path in packaged.items():
        assert contents(path.read_bytes(), name) == contents(rendered[name], name), name


def test_rendering_gives_the_packaged_truth(
    films: dict[int, Screenplay], texts: dict[Document, bytes], truth: dict[str, Any]
) -> None:
    """The truth file is that of the screenplays of today."""
    assert render.truth(films, texts) == truth


def test_the_sample_is_large_enough_and_small_enough(films: dict[int, Screenplay]) -> None:
    """At least 24 films and 2,500 sentences in less than 1 MB."""
    items = [item for film in films.values() for scene in film.scenes for item in scene]
    sentences = [word for item in items if isinstance(item, Speech) for word in split_sentences(item.text) if word.ends]
    assert len(films) >= 24
    assert len(sentences) >= 2500
    assert sum(path.stat().st_size for path in render.SAMPLE.rglob("*") if path.is_file()) < 1_000_000
    assert len({film.imdb for film in films.values()}) == len(films)


def test_every_planned_defect_shows(texts: dict[Document, bytes]) -> None:
    """Each pattern of the table of defects is in the file that should show it."""
    assert render.missing_defects(texts) == []


def test_scenes_are_apart_and_turns_of_a_scene_together(films: dict[int, Screenplay]) -> None:
    """The silence between two turns is over 5 seconds exactly where a scene begins."""
    for row in render.FILMS:
        spoken = [block for block in lay_out(films[row.number], row.look) if block.spoken]
        for before, after in pairwise(spoken):
            silence = after.start - before.end
            assert silence > 0
            assert (silence > 5000) == (before.place[0] != after.place[0]), (row.number, after.place)


def test_opus_files_are_valid_and_whole(films: dict[int, Screenplay], texts: dict[Document, bytes]) -> None:
    """XML parses, ids run on, and the tokens between the dashes are those of the screenplay in its order."""
    checked = 0
    for row in render.FILMS:
        document = render.place(row, films[row.number])
        if ".xml" not in document.document or row.look.spoil:
            continue
        text = texts[document].decode(row.encoding).replace('encoding="utf-8"', "", 1)
        root = ElementTree.fromstring(text)
        assert [s.get("id") for s in root.iter("s")] == [str(n) for n in range(1, len(root.findall("s")) + 1)]
        assert root.findtext("meta/source/genre") == ",".join(films[row.number].genres)
        found = "".join(w.get("alternative") or w.text or "" for w in root.iter("w") if w.text != "-")
        if not found:
            found = "".join("".join(s.itertext()) for s in root.iter("s"))
        wanted = "".join(part.text for block in lay_out(films[row.number], row.look) for part in block.parts)
        squeeze = re.compile(r"[\s-]")
        whole = squeeze.sub("", wanted)
        whole = whole if row.encoding.startswith("utf") else whole.replace("♪", "#")
        assert whole.startswith(squeeze.sub("", found)) if row.share < 1 else whole == squeeze.sub("", found)
        checked += 1
    assert checked >= 12


def test_latin_2_file_is_not_utf_8(films: dict[int, Screenplay], texts: dict[Document, bytes]) -> None:
    """A strict reader stops at the file that declares the wrong encoding."""
    content = texts[render.place(next(row for row in render.FILMS if row.number == 9), films[9])]
    with pytest.raises(ElementTree.ParseError):
        ElementTree.fromstring(content)


@pytest.mark.parametrize("row", SUBTITLES, ids=lambda row: f"{row.number}-{row.form}")
def test_subtitle_files_hold_every_block(
    row: render.Film, films: dict[int, Screenplay], texts: dict[Document, bytes]
) -> None:
    """An independent reader finds as many subtitles as there are blocks, none with more than two lines."""
    film = films[row.number]
    text = texts[render.place(row, film)].decode(row.encoding).lstrip("\ufeff").replace("\r\n", "\n")
    text = re.sub(r"(?m)^cue-\d+\n", "", text)  # pysubs2 takes the name of a cue for text of the one before
    found = [event for event in pysubs2.SSAFile.from_string(text, format_=row.form) if not event.is_comment]
    blocks = lay_out(film, row.look)
    assert len(found) == len(blocks)
    assert all(event.text.strip("\\N").count("\\N") <= 1 for event in found)


def test_broken_files_are_broken() -> None:
    """Each fails in the reader of its format."""
    folder = render.SAMPLE / "films" / "broken"
    with pytest.raises(EOFError):
        gzip.decompress((folder / "cut_short.xml.gz").read_bytes())
    with pytest.raises(ElementTree.ParseError):
        ElementTree.parse(folder / "truncated.xml")
    with zipfile.ZipFile(folder / "corrupt_member.zip") as archive:
        assert archive.testzip() == archive.namelist()[1]
    assert (folder / "empty.srt").read_bytes() == b""
    assert "SYSTEM" in (folder / "external_entity.xml").read_text()
    assert (folder / "billion_laughs.xml").read_text().count("<!ENTITY") == 10
    with pytest.raises(UnicodeDecodeError):
        (folder / "picture.srt").read_text("utf-8")


def test_truth_covers_every_reason_and_outcome(truth: dict[str, Any]) -> None:
    """Every reason code and outcome is planned at least once."""
    assert {reject["reason"] for reject in truth["rejects"]} == REASONS
    assert {document["outcome"] for document in truth["documents"]} == OUTCOMES
    assert len(truth["films"]) >= 8
    assert [len(item["documents"]) for item in truth["duplicates"]] == [2]
    names = {document["document"] for document in truth["documents"]}
    assert {reject["document"] for reject in truth["rejects"]} <= names
    assert set(truth["defects"].values()) <= names


def test_truth_of_the_bad_turns_of_one_film(truth: dict[str, Any]) -> None:
    """What leaves film 3, in order: a bad start and a stutter, each with a dialogue on both sides."""
    name = "opus/xml/en/2012/9000103/3000030.xml"
    found = [item for item in truth["rejects"] if item["document"] == name and item["reason"] not in ("sound", "music")]
    assert [(item["reason"], item["text"][:24]) for item in found] == [
        ("bad_start", "$#@! 555-0199 ... *&%!"),
        ("repetitive", "No no no no no no no!"),
    ]


def test_planned_turns_break_their_rule(truth: dict[str, Any]) -> None:
    """Counted here by blanks: too long, too short, repetitive and poor in letters by a clear margin."""
    texts = {item["reason"]: item["text"] for item in truth["rejects"]}
    assert len(texts["too_long"].split()) > 100 and not re.search(r"[.?!] ", texts["too_long"])
    assert texts["too_short"] == "Yes"
    stutter = re.findall(r"\w+", texts["repetitive"].lower())
    assert len(set(stutter)) / len(stutter) < 0.5
    assert sum(map(str.isalpha, texts["few_letters"])) / len(texts["few_letters"]) < 0.3
    assert not re.match(r"[\w'\"]", texts["bad_start"])


def test_document_ids(truth: dict[str, Any]) -> None:
    """OPUS files are named by year, film and file, others by their path."""
    ids = {document["document"]: document["document_id"] for document in truth["documents"]}
    assert ids["opus/xml/en/2019/9000104/3000040.xml.gz"] == "2019/9000104/3000040"
    assert ids["OpenSubtitles.zip/OpenSubtitles/xml/en/2011/9000110/3000100.xml"] == "2011/9000110/3000100"
    assert ids["srt/the-pigeon-job.srt"] == "films/srt/the-pigeon-job.srt"
    assert ids["broken/truncated.xml"] == "films/broken/truncated.xml"


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("I'm sure you don't.", ["I", "'m", "sure", "you", "don", "'t", "."]),
        ("Mr. Pike... no!", ["Mr.", "Pike", "...", "no", "!"]),
        ('"Tray four," he said at 9:30.', ['"', "Tray", "four", ",", '"', "he", "said", "at", "9:30", "."]),
        ("Forty-six, Erzsébet -- [RAIN]", ["Forty-six", ",", "Erzsébet", "--", "[", "RAIN", "]"]),
    ],
)
def test_tokens_are_those_of_opus(text: str, tokens: list[str]) -> None:
    """Contractions are cut at the apostrophe, punctuation stands apart."""
    assert tokenize(text) == tokens


def test_wrap_is_even_and_refuses_what_is_too_long() -> None:
    """Two lines as even as can be, each within the width."""
    assert wrap("short line") == ["short line"]
    assert wrap("a line of words that is longer than one line") == ["a line of words that is", "longer than one line"]
    assert wrap("word " * 20) is None


def test_a_bad_line_of_a_screenplay_is_named(tmp_path: Path) -> None:
    """The error says which file and line."""
    path = tmp_path / "99-bad.txt"
    path.write_text("title: Bad\n\nSCENE\nnobody says this\n", "utf-8")
    with pytest.raises(ValueError, match=r"99-bad.txt:4: 'nobody says this' is neither"):
        parse_screenplay(path)
