"""The corpora that the turn segmenter learns from: one function each, from a folder of data to a table of labelled documents."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from turn_data import Script, doubt_halves, join_even_splits, label_scripts

from edos_dataset.sources.encodings import decode
from edos_dataset.sources.speakers import Cue, Cues, read_cues, unify_names

_EPISODE = re.compile(r"(?P<show>.+?)\.S(?P<season>\d+)E(?P<episode>\d+(?:-?E?\d+)?)\b.*\.merged", re.IGNORECASE)

_HEBREW = re.compile("[\u05b0-\u05ea][^\x00-\x7f]+")


def read_sitcom(data_dir: Path, show: str, dashes: bool) -> pa.Table:
    """Read the timed cues of a show, in which a computer named the speakers from transcripts.

    The dashes are gone there, and a block of two speakers became two cues that touch and last equally long.

    Args:
        data_dir: holds `sitcom_speakers/*.merged`.
        show: "friends" or "the_big_bang_theory".
        dashes: join such cues to one block again, each opened by a dash.
    """
    files: dict[str, Cues] = {}
    for path in sorted((data_dir / "sitcom_speakers").glob("*.merged")):
        match = _EPISODE.fullmatch(path.name)
        if match and match["show"].lower().replace(".", "_") == show:
            files[f"{show}/s{int(match['season']):02d}e{match['episode'].lower()}"] = read_cues(read_text(path))
    people = unify_names(Counter(name for file in files.values() for cue in file.cues for name in (*cue.missed, cue.speaker) if name))
    scripts = []
    for film, file in files.items():
        cues = doubt_halves([_rename(cue, people) for cue in file.cues])
        scripts.append(Script(film, film, join_even_splits(cues) if dashes else [[cue] for cue in cues], dashes))
    return label_scripts(scripts, show + "_dashes" * dashes)


def _rename(cue: Cue, people: Mapping[str, str | None]) -> Cue:
    """Return a cue with the names of persons; who is nobody in particular is missed by the name that the source gives."""
    return replace(cue, speaker=people[cue.speaker] if cue.speaker else None, missed=tuple(people[name] or name for name in cue.missed))


def read_text(path: Path) -> str:
    """Read a text file; letters of UTF-8 that were once read as Hebrew (Windows-1255) are put right."""
    return _HEBREW.sub(_mend, decode(path.read_bytes(), None, "en")[0].replace("\r\n", "\n"))


def _mend(match: re.Match[str]) -> str:
    data = b"".join(char.encode("cp1255", "ignore") or char.encode("cp1252", "ignore") for char in match[0])
    return data.decode("utf-8", "ignore") or match[0]
