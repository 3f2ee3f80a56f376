"""What the path of a file says: its kind, film, year, IMDb id and language."""

import re
from dataclasses import dataclass

from edos_dataset.languages.codes import primary_language
from edos_dataset.sources.formats import formats_by_suffix

# Not all codes: "may", "per" and "to" are words of titles.
_TAGS = frozenset({
    "ar", "bg", "bn", "cs", "da", "de", "el", "en", "es", "et", "eu", "fa", "fi", "fr", "ga", "gl", "he", "hi", "hr",
    "hu", "id", "is", "it", "ja", "ko", "lt", "lv", "mk", "ms", "nb", "nl", "no", "pl", "pt", "ro", "ru", "sk", "sl",
    "sq", "sr", "sv", "ta", "te", "th", "tr", "uk", "ur", "vi", "zh", "ara", "bul", "ces", "chi", "cze", "dan", "deu",
    "dut", "ell", "eng", "fin", "fra", "fre", "ger", "gre", "heb", "hin", "hrv", "hun", "ind", "ita", "jpn", "kor",
    "nld", "nor", "pol", "por", "ron", "rum", "rus", "slk", "slo", "slv", "spa", "srp", "swe", "tha", "tur", "ukr",
    "vie", "zho",
})  # fmt: skip
# Such a code is also a word of titles ("dr.no.srt"): it is believed only behind a release name, which has a number in
# it.
_WORDS = frozenset({"he", "hi", "id", "is", "it", "no", "vi"})
_VARIANTS = frozenset({"cc", "default", "forced", "foreign", "full", "sdh"})

_OPUS = re.compile(
    r"(?:^|/)(?:(?P<language>[a-z]{2,3}(?:_[a-z]{2})?)/)?(?P<year>\d{1,4})/(?P<imdb>\d{1,10})/(?P<file>[^/]+)$"
)
_EPISODE = re.compile(r"(?:^|(?<=[^a-z0-9]))s(\d{1,2})[ ._-]?e(\d{1,3})((?:-?e\d{1,3})*)(?![a-z0-9])")
_SEASON_FOLDER = re.compile(r"(?:season|series|s)?[ ._-]*\d+|subs?|subtitles?")
_SEPARATORS = re.compile(r"[\s._-]+")


@dataclass(frozen=True, slots=True)
class Named:
    """What a path says of a file; `year` is null outside 1870 to 2100, and an IMDb id of zero, by which OPUS says
    unknown, is null.
    """

    document_id: str
    film: str
    kind: str
    year: int | None
    imdb_id: str | None
    language: str | None


def split_suffix(path: str) -> tuple[str, str]:
    """Part a path into stem and suffix in lower case, `.gz` being part of the suffix: ("a/b", ".srt.gz")."""
    folder, slash, name = path.rpartition("/")
    stem, dot, suffix = name.rpartition(".")
    if not dot:
        return path, ""
    suffix = suffix.lower()
    if suffix == "gz" and "." in stem:
        stem, _, inner = stem.rpartition(".")
        suffix = f"{inner.lower()}.gz"
    return f"{folder}{slash}{stem}", f".{suffix}"


def name_file(path: str, full_path: str) -> Named:
    """Name a file.

    Files of one OPUS folder, of one episode ("show.s01e02"), or that differ only by suffix, language tag and variant
    tag are of one film.

    Args:
        path: path from the source's name on; it is the document id of all that is not in the OPUS tree
            `LANGUAGE/YEAR/IMDB/FILE.xml`. Nothing above it says anything of a file, or the same source would give other
            films elsewhere.
        full_path: the whole path, by which alone an OPUS file is named if the source begins within the tree: `edos
            curate en/2004/12` gives the ids of `edos curate en`.
    """
    stem, suffix = split_suffix(path)
    kind = formats_by_suffix()[suffix].kind
    opus = _OPUS.search(split_suffix(full_path)[0]) if kind == "opus" else None
    if opus:
        inside = _OPUS.search(stem)
        return _name_opus(opus, inside["language"] if inside else None)
    bare, language = _strip_tags(stem)
    episode = _EPISODE.search(bare.rpartition("/")[2].lower())
    film = _show_key(episode, bare) if episode else bare
    return Named(path, film, kind, None, None, language)


def _name_opus(match: re.Match[str], language: str | None) -> Named:
    year, imdb = int(match["year"]), match["imdb"].lstrip("0")
    document_id = f"{match['year']}/{match['imdb']}/{match['file']}"
    film = f"imdb/{imdb}" if imdb else document_id
    if language and len(language) == 3:  # or a folder like "xml", "raw" or "sub"
        language = primary_language(language)
        language = language if len(language) == 2 else None
    return Named(document_id, film, "opus", year if 1870 <= year <= 2100 else None, imdb or None, language)


def _strip_tags(stem: str) -> tuple[str, str | None]:
    """Take language and variant tags off the end of a name: "Film.en.forced" is "Film" in "en"."""
    language = None
    while True:
        rest, dot, tag = stem.rpartition(".")
        if not dot or not rest.rpartition("/")[2]:
            return stem, language
        base = tag.partition("-")[0]
        code = primary_language(base)
        if (
            base in _TAGS
            and language is None
            and (code not in _WORDS or any(map(str.isdigit, rest.rpartition("/")[2])))
        ):
            language = code
        elif tag.lower() not in _VARIANTS:
            return stem, language
        stem = rest


def _show_key(episode: re.Match[str], path: str) -> str:
    """Return "show title/s01e02"; a name that begins with the number has the title of the folder above, past folders
    like "Season 1", or where all are such, which say nothing, their path in its place.
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
