"""Corpora of films and episodes: from a folder of data to a table of labelled documents."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import Bools, Ints, flags, unnest
from edos_dataset.runs.pipeline import split_rejects
from edos_dataset.schema import DETAIL
from edos_dataset.segmentation.alignment import align, find_scripts, seam_labels
from edos_dataset.sources.encodings import decode
from edos_dataset.sources.inventory import find_films
from edos_dataset.sources.read import ReadFilms
from edos_dataset.sources.scripts import Speech, read_script
from edos_dataset.sources.speakers import Cue, read_cues, unify_names
from training.turns.blocks import doubt_halves, join_even_splits, undash
from training.turns.labels import LABELLED, Trust, add_labels, label_scripts
from training.turns.scripts import Script, split_lines

LEAST_ALIGNED = 0.5
"""Mean confidence of the alignment below which a document and its script are of different cuts."""

LEAST_SHARED = 0.2
"""Share of a film's phrases that its script must have (`find_scripts`)."""

SITCOM_TRUST = Trust(new=0.94, inside=0.97, first=0.8, later=0.93, again=0.7)
"""Measured on the seams of Friends of which MELD has both sides, with the same times: many speeches, above all short
ones, went to the speaker before.
"""

Split = Callable[[pa.Table], tuple[pa.Table, pa.Table]]

_EPISODE = re.compile(r"(?P<show>.+?)\.S(?P<season>\d+)E(?P<episode>\d+)\b.*\.merged", re.IGNORECASE)
_HEBREW = re.compile("[\u05b0-\u05ea][^\x00-\x7f]+")
_CONTRADICTED = 0.3  # of the confidence, where a dash contradicts the script
_DASHED, _UNDASHED, _NAMED = 0.85, 0.8, 0.7  # confidence in the evidence of subtitles


def read_sitcom(data_dir: Path, show: str, dashes: bool) -> pa.Table:
    """Read the timed cues of a show, in which a computer named the speakers from transcripts.

    The dashes are gone there, and a block of two speakers became two cues that touch and last equally long.

    Args:
        data_dir: holds `sitcom_speakers/*.merged`.
        show: "friends" or "the_big_bang_theory".
        dashes: join such cues to one block again, each opened by a dash.
    """
    scripts = [
        Script(film, film, join_even_splits(cues) if dashes else [[cue] for cue in cues], dashes)
        for film, cues in _read_episodes(data_dir, show).items()
    ]
    return label_scripts(scripts, show + "_dashes" * dashes, SITCOM_TRUST)


def _read_episodes(data_dir: Path, show: str) -> dict[str, list[Cue]]:
    """Return the cues of every episode, the speakers known by one name each."""
    films: dict[str, list[Cue]] = {}
    for path in sorted((data_dir / "sitcom_speakers").glob("*.merged")):
        match = _EPISODE.fullmatch(path.name)
        if match and match["show"].lower().replace(".", "_") == show:
            films[f"{show}/s{int(match['season']):02d}e{int(match['episode']):02d}"] = read_cues(read_text(path)).cues
    people = unify_names(
        Counter(name for cues in films.values() for cue in cues for name in (*cue.missed, cue.speaker) if name)
    )
    return {film: doubt_halves([_rename(cue, people) for cue in cues]) for film, cues in films.items()}


def _rename(cue: Cue, people: Mapping[str, str | None]) -> Cue:
    return replace(
        cue,
        speaker=people[cue.speaker] if cue.speaker else None,
        missed=tuple(people[name] or name for name in cue.missed),
    )


def read_frasier(data_dir: Path, plain: bool, split: Split = split_lines) -> pa.Table:
    """Read subtitles that are labelled by the transcripts of the same episodes.

    Each file goes with the transcript whose words it has, as the numbers of the two differ for two episodes in three.

    Args:
        data_dir: holds `frasier/subtitles/SS/Episode_E.srt` and `frasier/scripts/SSEE.txt`.
        plain: take the dashes away first, and part the blocks that they part, as in the cues of `read_sitcom`.
        split: LINES to those that stay and their SENTENCES.
    """
    paths = sorted((data_dir / "frasier" / "scripts").glob("[0-9][0-9][0-9][0-9].txt"))
    speeches = {f"frasier/s{path.stem[:2]}e{path.stem[2:]}": read_script(read_text(path)) for path in paths}
    lines = read_subtitles([data_dir / "frasier" / "subtitles"])
    flat, offsets = unnest(lines, "lines")
    texts = flat.field("text").to_pylist()
    documents = [texts[start:stop] for start, stop in zip(offsets[:-1], offsets[1:], strict=True)]
    films = match_films(documents, {film: [speech.text for speech in known] for film, known in speeches.items()})
    lines = _rename_films(lines, films)
    return _label_by_speeches(undash(lines) if plain else lines, speeches, "frasier" + "_plain" * plain, split=split)


def match_films(films: Sequence[Sequence[str]], scripts: Mapping[str, Sequence[str]]) -> list[str | None]:
    """Name the script of each film; null if none is, or if another copy of the film shares more with it.

    Args:
        films: the lines of each film.
        scripts: the speeches of each script by its name.
    """
    if not films or not scripts:
        return [None] * len(films)
    names = list(scripts)
    index, share = find_scripts(films, list(scripts.values()))
    best = {int(index[place]): place for place in np.argsort(share, kind="stable")}
    return [
        names[which] if share[place] >= LEAST_SHARED and best[which] == place else None
        for place, which in enumerate(index.tolist())
    ]


def read_friends_srt(data_dir: Path, split: Split = split_lines) -> pa.Table:
    """Read subtitles with their dashes, labelled by the speakers of the timed cues of the same episodes.

    Args:
        data_dir: holds `noisy_srt/friends` and `sitcom_speakers/Friends.*.merged`.
        split: LINES to those that stay and their SENTENCES.
    """
    speeches = {film: list(_speeches(cues)) for film, cues in _read_episodes(data_dir, "friends").items()}
    lines = read_subtitles([data_dir / "noisy_srt" / "friends"])
    films = [film if film in speeches else None for film in lines["film"].to_pylist()]
    return _label_by_speeches(_rename_films(lines, films), speeches, "friends_srt", SITCOM_TRUST, split)


def _speeches(cues: Sequence[Cue]) -> Iterator[Speech]:
    """Join the cues of one speaker in a row; those of nobody known have an empty name."""
    for speaker, said in groupby(cues, key=lambda cue: cue.speaker):
        yield Speech(speaker or "", " ".join(line for cue in said for line in cue.lines), 0, 0)


def read_subtitles(sources: Sequence[Path]) -> pa.Table:
    """Read the subtitles of files and folders, the best file of each film, as LINES."""
    return split_rejects(ReadFilms()(find_films(sources, "en").films))[0].drop_columns([DETAIL])


def _rename_films(lines: pa.Table, films: Sequence[str | None]) -> pa.Table:
    """Give documents the keys of their films, and drop those without."""
    renamed = lines.set_column(lines.column_names.index("film"), "film", pa.array(films, pa.string()))
    return renamed.filter(pc.is_valid(renamed["film"]))


def _label_by_speeches(
    lines: pa.Table,
    speeches: Mapping[str, Sequence[Speech]],
    corpus: str,
    trust: Trust | None = None,
    split: Split = split_lines,
) -> pa.Table:
    """Label the sentences of documents by the speeches of their films; badly aligned documents leave.

    The confidence is that of the alignment times that in the speakers (certain, if `trust` is null).
    """
    _, sentences = split(lines)
    tables = [LABELLED.empty_table()]
    for row, film in enumerate(sentences["film"].to_pylist()):
        document, known = sentences.slice(row, 1), speeches[film]
        flat, offsets = unnest(document, "sentences")
        alignment = align(flat.field("text").to_pylist(), [speech.text for speech in known])
        if alignment.confidence.mean() < LEAST_ALIGNED:
            continue
        same, confidence = seam_labels(
            alignment, [speech.speaker for speech in known], [speech.scene for speech in known]
        )
        nobody = np.array([not speech.speaker for speech in known])
        same[nobody[alignment.speech] | np.r_[False, nobody[alignment.last_speech[:-1]]]] = -1
        if trust:
            confidence *= np.select(
                [same == 0, _goes_on_in_block(flat, offsets)], [trust.new, trust.inside], trust.first
            ).astype(np.float32)
        confidence[(same == 1) & inner_dashes(flat, offsets)] *= _CONTRADICTED
        tables.append(add_labels(document, same, confidence, corpus))
    return pa.concat_tables(tables)


def inner_dashes(flat: pa.StructArray, offsets: Ints) -> Bools:
    """Return which sentences begin with a dash in the block in which the one before ended: two people speak in it."""
    return flags(flat.field("dash")) & _goes_on_in_block(flat, offsets)


def _goes_on_in_block(flat: pa.StructArray, offsets: Ints) -> Bools:
    first, last = (flat.field(name).to_numpy() for name in ("first_block", "last_block"))
    inside: Bools = first == np.r_[-1, last[:-1]]
    inside[offsets[:-1][np.diff(offsets) > 0]] = False
    return inside


def read_weak(data_dir: Path) -> pa.Table:
    """Read subtitles without scripts, labelled by what they say themselves.

    A dash inside a block, and "NAME:", begin a turn; a sentence of a block with dashes that has none goes on with that
    before. All else is unknown, so a model that sees the dashes learns nothing from these labels but that: hide them
    from it, as `blocks.undash` does.

    Args:
        data_dir: holds `noisy_srt` and `opensubtitles_xml`.
    """
    _, sentences = split_lines(read_subtitles([data_dir / "noisy_srt", data_dir / "opensubtitles_xml"]))
    flat, offsets = unnest(sentences, "sentences")
    dash, inside = flags(flat.field("dash")), _goes_on_in_block(flat, offsets)
    group = np.cumsum(~inside)
    dashed = (np.bincount(group, weights=dash) > 0)[group]
    named = flags(flat.field("speaker").is_valid())
    cases = [named, inside & dash, inside & dashed]
    same = np.select(cases, [0, 0, 1], -1)
    return add_labels(sentences, same, np.select(cases, [_NAMED, _DASHED, _UNDASHED], 0.0), "weak")


def read_text(path: Path) -> str:
    """Read a text file whose letters are put right by `mend`."""
    return mend(decode(path.read_bytes(), None, "en")[0].replace("\r\n", "\n"))


def mend(text: str) -> str:
    """Return a text in which letters of UTF-8 that were once read as Hebrew (Windows-1255) are put right."""
    return _HEBREW.sub(_reread, text)


def _reread(match: re.Match[str]) -> str:
    data = b"".join(char.encode("cp1255", "ignore") or char.encode("cp1252", "ignore") for char in match[0])
    return data.decode("utf-8", "ignore") or match[0]
