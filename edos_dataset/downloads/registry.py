"""The public sources that `edos download` knows: addresses, licences, and checksums where someone states them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from edos_dataset.labels import EMOTIONS


@dataclass(frozen=True)
class RemoteFile:
    """A file of a source.

    Attributes:
        url: where it is.
        path: where it goes, relative to the target folder, "/" between parts; for an archive to unpack, the folder of
            its content.
        sha256: hex, or "" if not published: then the size and the server's digest are checked, and the SHA-256 is
            recorded for the next time.
        unpack: whether it is an archive to unpack; a single top folder is removed.
    """

    url: str
    path: str
    sha256: str = ""
    unpack: bool = False


@dataclass(frozen=True)
class Source:
    """A public source.

    Attributes:
        name: its name for `edos download`.
        title: what it is.
        licence: as its owners state it.
        consequences: what that means for its users.
        files: its files.
    """

    name: str
    title: str
    licence: str
    consequences: str
    files: tuple[RemoteFile, ...]


_OPUS = "https://object.pouta.csc.fi/OPUS-OpenSubtitles"
_PARLAI = "https://dl.fbaipublicfiles.com/parlai"
_GITHUB = "https://raw.githubusercontent.com"
_EDOS = (
    f"{_GITHUB}/anuradha1992/EDOS/7f1c42a89e1c77f80dd7da6db79d76e3613c62f2"
    "/Data/Training%20data%20for%20the%20dialogue%20emotion%20classifier"
)
_INTENTS = f"{_GITHUB}/anuradha1992/EmpatheticIntents/de8dc61e4b260f81b718e0a73e05b3928f620f2d/datasets"
_MELD = f"{_GITHUB}/declare-lab/MELD/ca3e1266db4cc4a4e802156e2f721c4cd114a696/data/MELD"
_XED = f"{_GITHUB}/Helsinki-NLP/XED/76666d251f147cf518071bef4f8415dab6b96115/AnnotatedData"

_SUBTITLES = (
    "The text is under its studios' copyright. Use it for research where your law allows that; don't pass the "
    "text on: publish labels without it."
)
_NOT_COMMERCIAL = "Name the authors; nothing commercial, and that goes for weights trained on it too."

_CODES = """
af ar bg bn br bs ca cs da de el en eo es et eu fa fi fr gl he hi hr hu hy
id is it ja ka kk ko lt lv mk ml ms nl no pl pt pt_br ro ru si sk sl
sq sr sv ta te th tl tr uk ur vi zh_cn zh_tw
"""
LANGUAGES = tuple(_CODES.split())
"""The languages of OPUS OpenSubtitles v2018, by its own codes."""

_FORMS = {"2018": "xml", "2016": "xml", "2024": "raw"}
"""The form of each release that is downloaded: XML of words, or of the text as it is, which is half as long."""

RELEASES = tuple(_FORMS)
"""The releases of OPUS OpenSubtitles; that of the papers, 2018, is the first."""

_OF_2024 = re.compile(r"opensubtitles2024-([a-z]{2,3}(?:_[a-z]{2})?)", re.ASCII | re.IGNORECASE)

_OPUS_SHA256 = {
    "en": "917af90fcaa8b0ebb3d59d9f8d205f304f31bf92cbf15aa6e9ee030f6691755e"
}  # ParlAI, tasks/opensubtitles/build_2018.py
_CROWD_FILES = {
    "mturk_groundtruth_labels.csv": "1.%20MTurk_groundtruth_labels_9K.csv",
    "similar_dialogs.csv": "2.%20Similar_dialogs_3K.csv",
    "self_labeled_dialogs.csv": "3.%20Self-labeled_dialogs_4K.csv",
    "similar_self_labeled_dialogs.csv": "4.%20Similar_self-labeled_dialogs_2K.csv",
}

_GOEMOTIONS = (
    ("train.tsv", "train.tsv", "2adf640a14f11025ae5a9d0ec493b78530d276d3"),
    ("dev.tsv", "dev.tsv", "2adf640a14f11025ae5a9d0ec493b78530d276d3"),
    ("test.tsv", "test.tsv", "b91598b43297db06cca27a29fe2d0442dffea029"),
    ("labels.txt", "emotions.txt", "018cbe7892d848bc871d482fd2868089037e375f"),
)
"""Our name for a file, their name, and the commit that last changed it."""


def opensubtitles(language: str, release: str = "2018") -> Source:
    """Return the source of a language of OPUS OpenSubtitles (Lison and Tiedemann, 2016), for `edos curate`.

    Args:
        language: code of OPUS. The release of 2024 has more languages than `LANGUAGES`, and capitals for countries.
        release: one of `RELEASES`.
    """
    form, first = _FORMS[release], release == RELEASES[0]
    code, _, country = language.lower().partition("_")
    language = "_".join(filter(None, (code, country.upper() if release == "2024" else country)))
    name = "opensubtitles" if first else f"opensubtitles{release}"
    url, sha256 = f"{_OPUS}/v{release}/{form}/{language}.zip", _OPUS_SHA256.get(language, "") if first else ""
    file = RemoteFile(url, f"{name}/{language}.zip", sha256)
    words = "parsed XML" if form == "xml" else "XML of whole sentences"
    return Source(
        f"{name}-{language}",
        f"OPUS OpenSubtitles v{release}, {language}: {words}, for `edos curate`",
        "none stated by OPUS; it asks to link to opensubtitles.org",
        _SUBTITLES,
        (file,),
    )


OTHERS = (
    Source(
        "edos_amt",
        "The EDOS authors' crowd labels and extended labels (Welivita et al., 2021)",
        "CC BY 4.0 for the labels",
        "Name the authors of the labels. " + _SUBTITLES,
        tuple(RemoteFile(f"{_EDOS}/{theirs}", f"edos_amt/{ours}") for ours, theirs in _CROWD_FILES.items()),
    ),
    Source(
        "empathetic_dialogues",
        "EmpatheticDialogues in its own splits (Rashkin et al., 2019)",
        "CC BY-NC 4.0",
        _NOT_COMMERCIAL,
        (
            RemoteFile(
                f"{_PARLAI}/empatheticdialogues/empatheticdialogues.tar.gz",
                "empathetic_dialogues/original",
                # ParlAI, tasks/empathetic_dialogues/build.py; 240c492c... before
                "56f234d77b7dd1f005fd365bb17769cfe346c3c84295b69bc069c8ccb83be03d",
                unpack=True,
            ),
        ),
    ),
    Source(
        "empathetic_intents",
        "EmpatheticDialogues by emotion, plain and labelled, and the training set of the weak labels (Welivita and Pu, "
        "2020)",
        "none stated; EmpatheticDialogues itself is CC BY-NC 4.0",
        _NOT_COMMERCIAL,
        (
            *(
                RemoteFile(
                    f"{_INTENTS}/empatheticdialogues_{kind}/{emotion}.csv", f"empathetic_dialogues/{kind}/{emotion}.csv"
                )
                for kind in ("unannotated", "annotated")
                for emotion in EMOTIONS
            ),
            *(
                RemoteFile(f"{_INTENTS}/train_data/{part}.txt", f"empathetic_dialogues/weak_labeler/{part}.txt")
                for part in ("labels", "train", "valid", "test")
            ),
        ),
    ),
    Source(
        "dailydialog",
        "DailyDialog in its own splits, a dialogue a line (Li et al., 2017)",
        "CC BY-NC-SA 4.0",
        _NOT_COMMERCIAL + " What you make of it goes under the same licence.",
        (
            RemoteFile(
                f"{_PARLAI}/dailydialog/dailydialog.tar.gz",
                "dailydialog",
                # ParlAI, tasks/dailydialog/build.py
                "c3adb09bd715b9fa5cd1ac41613b7de61eb5afbe477826a6146abefef573e6bb",
                unpack=True,
            ),
        ),
    ),
    Source(
        "meld",
        "MELD, utterances of Friends with speakers and emotions (Poria et al., 2019)",
        "GPL v3",
        "The GPL's terms go with it. " + _SUBTITLES,
        tuple(RemoteFile(f"{_MELD}/{part}_sent_emo.csv", f"meld/{part}_sent_emo.csv") for part in ("train", "dev")),
    ),
    Source(
        "xed",
        "XED, sentences of OpenSubtitles with Plutchik's emotions and neutral ones, English (Öhman et al., 2020)",
        "CC BY 4.0",
        "Name the authors of the labels. " + _SUBTITLES,
        tuple(RemoteFile(f"{_XED}/{name}", f"xed/{name}") for name in ("en-annotated.tsv", "neu_en.txt")),
    ),
    Source(
        "goemotions",
        "GoEmotions, comments of Reddit with 27 emotions and neutral (Demszky et al., 2020)",
        "CC BY 4.0",
        "Name the authors.",
        tuple(
            RemoteFile(
                f"{_GITHUB}/google-research/google-research/{commit}/goemotions/data/{theirs}", f"goemotions/{ours}"
            )
            for ours, theirs, commit in _GOEMOTIONS
        ),
    ),
)
"""The sources that are not the subtitles of a language."""


def sources() -> Iterator[Source]:
    """Yield all sources."""
    for release in RELEASES:
        yield from (opensubtitles(language, release) for language in LANGUAGES)
    yield from OTHERS


def find_source(name: str) -> Source:
    """Return the source with a name.

    Raises:
        ValueError: there is none; the message gives the nearest names.
    """
    known = {source.name: source for source in sources()}
    if match := _OF_2024.fullmatch(name):  # it has languages that are not listed here
        return opensubtitles(match[1], "2024")
    if name not in known:
        others = [source.name for source in OTHERS]
        close = get_close_matches(name, ["opensubtitles-en", *others], n=2, cutoff=0.5) or ["opensubtitles-en", *others]
        raise ValueError(
            f"there is no source {name!r}; did you mean {', '.join(close)}? `edos download` lists them all"
        )
    return known[name]
