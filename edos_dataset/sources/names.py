"""Facts from the path of a file (kind, film or book, year, ids, language), and paths as text.

Names on disk are bytes in no reliable encoding, and the members of an archive may have any name, so paths are spelt
out: the same on every machine, and safe in tables, JSON and terminals.
"""

import os
import re
from dataclasses import dataclass
from typing import NamedTuple

from edos_dataset.languages import primary_language
from edos_dataset.sources.formats import BOOK_FORMATS, formats, formats_by_suffix, split_suffix

# Control characters, marks that change the writing direction, line breaks, and bytes that are not UTF-8, which Python
# represents by surrogates.
_UNFIT = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_LIKE_AN_ESCAPE = re.compile(r"%(?=(?:25)*(?:[01][0-9A-F]|7F|[89A-F][0-9A-F]))")

# Not all codes, as "may", "per" and "to" are also words in titles.
_TAGS = frozenset({
    "ar", "bg", "bn", "cs", "da", "de", "el", "en", "es", "et", "eu", "fa", "fi", "fr", "ga", "gl", "he", "hi", "hr",
    "hu", "id", "is", "it", "ja", "ko", "lt", "lv", "mk", "ms", "nb", "nl", "no", "pl", "pt", "ro", "ru", "sk", "sl",
    "sq", "sr", "sv", "ta", "te", "th", "tr", "uk", "ur", "vi", "zh", "ara", "bul", "ces", "chi", "cze", "dan", "deu",
    "dut", "ell", "eng", "fin", "fra", "fre", "ger", "gre", "heb", "hin", "hrv", "hun", "ind", "ita", "jpn", "kor",
    "nld", "nor", "pol", "por", "ron", "rum", "rus", "slk", "slo", "slv", "spa", "srp", "swe", "tha", "tur", "ukr",
    "vie", "zho",
})  # fmt: skip
# These codes are also words in titles ("dr.no.srt"): they count only after a release name, which contains a number.
_WORDS = frozenset({"he", "hi", "id", "is", "it", "no", "vi"})
_VARIANTS = frozenset({"cc", "default", "forced", "foreign", "full", "sdh", "srv1", "srv2", "srv3"})

_OPUS = re.compile(
    r"(?:^|/)(?:(?P<language>[a-z]{2,3}(?:_[A-Za-z]{2})?)/)?(?P<year>\d{1,4})/"
    r"(?P<imdb>\d{1,10})(?P<series>(?:_\d{1,10})*)/(?P<file>[^/]+)$"
)
_NO_IMDB = str(2**32 - 1)  # in the release of 2024; in those before it is 0
_EPISODE = re.compile(r"(?:^|(?<=[^a-z0-9]))s(\d{1,2})[ ._-]?e(\d{1,3})((?:-?e\d{1,3})*)(?![a-z0-9])")
_SEASON_FOLDER = re.compile(r"(?:season|series|s)?[ ._-]*\d+|subs?|subtitles?")
_SEPARATORS = re.compile(r"[\s._-]+")

_NUMBERED = re.compile(
    r"(?:(?P<pg>pg)?(?P<number>\d{1,7})(?P<form>-(?:[058]|h|images(?:-3)?|h-images|noimages))?"
    r"(?:\.(?:txt|html|epub3?)(?:\.(?:utf-8|images|noimages))?)?)$"
)
_SUPERSEDED = re.compile(r"(?:^|/)\d{1,7}/old/")
_LANGUAGE_FOLDERS = frozenset({
    "af", "ca", "cs", "da", "de", "el", "en", "eo", "es", "et", "eu", "fi", "fr", "ga", "gl", "hr", "hu", "it", "la",
    "lt", "lv", "nl", "no", "pl", "pt", "ro", "ru", "sk", "sl", "sr", "sv", "tr",
})  # fmt: skip


def spell_out(name: str) -> str:
    """Return a name with an escape such as `%E9` for each byte that is not UTF-8 or belongs to a control character.

    Different names stay different: a "%" that could be taken for such an escape is written "%25". Ordinary names, even
    with "%20" in them, are unchanged.

    Args:
        name: text, with lone surrogates for bytes that are not UTF-8 (PEP 383).
    """
    if name.isascii() and name.isprintable() and "%" not in name:
        return name
    name = _LIKE_AN_ESCAPE.sub("%25", name)
    return _UNFIT.sub(
        lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogateescape")), name
    )


def spell_out_path(path: str) -> str:
    """Return a path on this machine spelt out, whatever encoding its file system claims to have."""
    return spell_out(os.fsencode(path).decode("utf-8", "surrogateescape"))


@dataclass(frozen=True, slots=True)
class Named:
    """Facts from the path of a film's or book's file.

    Attributes:
        document_id: stable id of the file.
        film: key of the film or book.
        kind: kind of its format.
        year: year of the film; null outside 1870 to 2100.
        imdb_id: without leading zeros; null for zero, which means unknown in OPUS.
        language: language code, or null.
    """

    document_id: str
    film: str
    kind: str
    year: int | None = None
    imdb_id: str | None = None
    language: str | None = None


def name_file(path: str, full_path: str) -> Named:
    """Name a subtitle file.

    Files in one OPUS folder, of one episode ("show.s01e02"), or that differ only in suffix, language tag or variant tag
    belong to one film.

    Args:
        path: path from the source's name on; it is the document id of everything outside the OPUS tree
            `LANGUAGE/YEAR/IMDB/FILE.xml`. Folders above it do not count, so that the same source gives the same films
            anywhere.
        full_path: the whole path. It names an OPUS file even if the source begins within the tree: `edos curate
            en/2004/12` gives the ids of `edos curate en`.
    """
    stem, suffix = split_suffix(path)
    kind = formats_by_suffix()[suffix].kind
    opus = _OPUS.search(split_suffix(full_path)[0]) if kind == "opus" else None
    if opus:
        inside = _OPUS.search(stem)
        return _name_opus(opus, inside["language"] if inside else None)
    if formats()[kind].messages or formats()[kind].scripted:  # whatever other files are called
        return Named(path, path, kind)
    bare, language = _strip_tags(stem)
    episode = _EPISODE.search(bare.rpartition("/")[2].lower())
    film = _episode_key(episode, bare) if episode else bare
    return Named(path, film, kind, language=language)


def _name_opus(match: re.Match[str], language: str | None) -> Named:
    year, imdb = int(match["year"]), "" if match["imdb"] == _NO_IMDB else match["imdb"].lstrip("0")
    document_id = f"{match['year']}/{match['imdb']}{match['series']}/{match['file']}"
    language = language and language.lower()
    film = f"imdb/{imdb}" if imdb else document_id
    if language and len(language) == 3:  # or a folder like "xml", "raw" or "sub"
        language = primary_language(language)
        language = language if len(language) == 2 else None
    return Named(document_id, film, "opus", year if 1870 <= year <= 2100 else None, imdb or None, language)


def _strip_tags(stem: str) -> tuple[str, str | None]:
    """Remove language and variant tags from the end of a name: "Film.en.forced" is "Film" in "en"."""
    language = None
    while True:
        rest, dot, tag = stem.rpartition(".")
        name = rest.rpartition("/")[2]
        if not dot or not name:
            return stem, language
        base = tag.partition("-")[0]
        code = primary_language(base)
        believed = code not in _WORDS or any(map(str.isdigit, name))
        if base in _TAGS and language is None and believed:
            language = code
        elif tag.lower() not in _VARIANTS:
            return stem, language
        stem = rest


def _episode_key(episode: re.Match[str], path: str) -> str:
    """Return "show title/s01e02". If the name begins with the number, the title is that of the nearest folder above
    that is not like "Season 1", else the path of its folder.
    """
    title = _normal(episode.string[: episode.start()])
    for folder in reversed(path.lower().split("/")[:-1]):
        if title:
            break
        if not _SEASON_FOLDER.fullmatch(folder.removesuffix(".zip")):
            title = _normal(folder)
    more = "".join(f"e{int(number):02d}" for number in re.findall(r"\d+", episode[3]))
    title = title or path.rpartition("/")[0] or path
    return f"{title}/s{int(episode[1]):02d}e{int(episode[2]):02d}{more}"


def _normal(title: str) -> str:
    return _SEPARATORS.sub(" ", title).strip()


class BookName(NamedTuple):
    """Facts from the path of a book's file.

    Attributes:
        book: key of the book.
        kind: kind of its format.
        number: number at Project Gutenberg, or null.
        sure: whether it is certainly such a number.
        language: language code from a folder, as in "hu/40715-0.txt", or null.
    """

    book: str
    kind: str
    number: int | None
    sure: bool
    language: str | None


def name_book(path: str) -> BookName:
    """Name the book of a file.

    Files that differ only in suffix belong to one book, and so do all with the same Project Gutenberg number, wherever
    they are: "pg11.txt", "11-8.txt", "1/1/11/11-h.htm". A bare number ("11.txt") counts if its folder has that name.

    Args:
        path: from the source's name on, "/" between parts.
    """
    stem, suffix = split_suffix(path)
    kind = BOOK_FORMATS[suffix].kind if suffix in BOOK_FORMATS else "text"
    folder, _, name = stem.rpartition("/")
    language = next((part for part in reversed(folder.split("/")) if part in _LANGUAGE_FOLDERS), None)
    found = _NUMBERED.fullmatch(name.lower())
    if not found:
        return BookName(stem, kind, None, False, language)
    number = int(found["number"])
    sure = bool(found["pg"] or found["form"]) or folder.rpartition("/")[2] in (found["number"], f"{number}-h")
    return BookName(gutenberg_key(number) if sure else stem, kind, number, sure, language)


def gutenberg_key(number: int) -> str:
    """Return the key of a Project Gutenberg book."""
    return f"gutenberg/{number}"


def is_superseded(path: str) -> bool:
    """Whether a file of a mirror is in an "old" folder of its book, whose files the catalogue does not list."""
    return bool(_SUPERSEDED.search(path))
