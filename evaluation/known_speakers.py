"""Films of which it is known who speaks: subtitles with a script, timed cues with names, subtitles that name their
speakers, and screenplays laid out as subtitles.

Whatever the form, the names are hidden from the pipeline and laid on its sentences word by word; what is not found has
no known speaker.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import Ints, flags, nest, unnest
from edos_dataset.cleaning.lines import CleanLines
from edos_dataset.runs.pipeline import split_rejects
from edos_dataset.schema import LINE
from edos_dataset.text import normalise
from training.transcripts.alignment import align
from training.transcripts.scripts import Speech, read_lines, read_script
from training.transcripts.speakers import read_cues, unify_names
from training.turns.data import match_films, read_subtitles, read_text, speeches_of
from training.turns.labels import Script, doubt_halves, join_even_splits, script_lines
from training.turns.screenplays import lay_out

SURE = 0.5
"""Least confidence that a sentence begins, or ends, in the speech to which its words were matched."""


@dataclass(frozen=True, eq=False)
class Spoken:
    """Films as they are read, and what is said in them by whom.

    Attributes:
        lines: LINES, a film a row, without speakers.
        speeches: the speeches of each film, in order; an unknown speaker has an empty name.
        scenes: whether the numbers of their scenes are known.
    """

    lines: pa.Table
    speeches: Sequence[Sequence[Speech]]
    scenes: bool = False


@dataclass(frozen=True, eq=False)
class Voices:
    """Who speaks in the sentences of one film, as numbers.

    Attributes:
        begins: int64 [sentences], the speaker of the first words, -1 if unknown.
        ends: int64 [sentences], that of the last words.
        scene: int64 [sentences], the number of the scene, -1 if unknown.
    """

    begins: Ints
    ends: Ints
    scene: Ints


def voices(texts: Sequence[str], speeches: Sequence[Speech], scenes: bool) -> Voices:
    """Lay the speakers of speeches on the sentences of a film, word by word."""
    alignment = align(texts, [speech.text for speech in speeches])
    codes = {"": -1}
    people = np.array([codes.setdefault(speech.speaker, len(codes)) for speech in speeches], np.int64)
    begun = (alignment.speech >= 0) & (alignment.opening >= SURE)
    ended = (alignment.last_speech >= 0) & (alignment.closing >= SURE)
    numbers = np.array([speech.scene for speech in speeches], np.int64)
    return Voices(
        np.where(begun, people[alignment.speech], -1),
        np.where(ended, people[alignment.last_speech], -1),
        np.where(begun & scenes, numbers[alignment.speech], -1),
    )


def read_known(sources: Sequence[Path], gold: Path | None = None) -> Spoken:
    """Read films with known speakers, whose form the suffixes of the files state.

    Args:
        sources: files or folders of one form: timed cues with names (`.merged`), screenplays (`.tsv` with scene,
            speaker, manner and text; `.txt`), or subtitles.
        gold: who speaks in the subtitles: a folder of transcripts (`.txt`), of screenplays (`.tsv`), or a table
            (`.csv`) with season, episode, speaker and words. None if the files themselves name the speakers.

    Raises:
        ValueError: there is no film with known speakers.
    """
    files = [path for source in sources for path in (sorted(source.rglob("*")) if source.is_dir() else [source])]
    spoken = _own_speakers(sources, [path for path in files if path.is_file()], gold is None)
    if gold:
        spoken = _matched(spoken.lines, _scripts(gold))
    if not spoken.lines.num_rows:
        raise ValueError(
            f"{sources[0]}: no film of which it is known who speaks; give subtitles with --gold, timed cues (.merged), "
            "screenplays (.tsv, .txt), or subtitles that name their speakers"
        )
    return spoken


def _own_speakers(sources: Sequence[Path], files: Sequence[Path], named: bool) -> Spoken:
    """Return films with the speakers that their files name; for subtitles, without speakers if `named` is false."""
    kinds = {path.suffix.lower() for path in files}
    if ".merged" in kinds:
        return _timed_cues([path for path in files if path.suffix == ".merged"])
    if named and kinds <= {".tsv", ".txt"}:
        return _laid_out(_scripts_of(files))
    lines = read_subtitles(sources)
    return _named(lines) if named else Spoken(lines, [])


def _timed_cues(paths: Sequence[Path]) -> Spoken:
    """Read timed cues with names; adjacent ones that were one block of two speakers are one again, with dashes."""
    films = {path.stem: read_cues(read_text(path)).cues for path in paths}
    people = unify_names(Counter(cue.speaker for cues in films.values() for cue in cues if cue.speaker))
    known = {
        film: doubt_halves([replace(cue, speaker=people.get(cue.speaker or "")) for cue in cues])
        for film, cues in films.items()
    }
    scripts = [Script(film, film, join_even_splits(cues), dashes=True) for film, cues in known.items()]
    return Spoken(script_lines(scripts), [list(speeches_of(cues)) for cues in known.values()])


def _scripts(gold: Path) -> dict[str, list[Speech]]:
    if gold.suffix == ".csv":
        return read_lines(gold)
    return _scripts_of(sorted(path for path in gold.rglob("*") if path.suffix in (".tsv", ".txt")))


def _scripts_of(paths: Iterable[Path]) -> dict[str, list[Speech]]:
    scripts = {}
    for path in paths:
        if path.suffix == ".tsv":
            rows = [line.split("\t") for line in read_text(path).splitlines()]
            found = [Speech(row[1], row[3], int(row[0]), 0) for row in rows if len(row) == 4]
        else:
            try:
                found = read_script(read_text(path))
            except ValueError:  # no script, such as a list of episodes beside them
                continue
        scripts[path.stem] = found
    return scripts


def _matched(lines: pa.Table, scripts: Mapping[str, Sequence[Speech]]) -> Spoken:
    """Return the films of which there is a script, each with its own, found by its words."""
    flat, offsets = unnest(lines, "lines")
    texts = flat.field("text").to_pylist()
    films = [texts[start:stop] for start, stop in pairwise(offsets)]
    found = match_films(films, {name: [speech.text for speech in known] for name, known in scripts.items()})
    rows = [row for row, name in enumerate(found) if name is not None]
    speeches = [scripts[name] for name in found if name is not None]
    return Spoken(lines.take(pa.array(rows, pa.int64())), speeches, any(part[-1].scene for part in speeches))


def _laid_out(scripts: Mapping[str, Sequence[Speech]]) -> Spoken:
    laid = [lay_out(name, speeches) for name, speeches in scripts.items()]
    return Spoken(script_lines(laid), list(scripts.values()), scenes=True)


def _named(lines: pa.Table) -> Spoken:
    """Return the films whose lines name their speakers, without the names; unnamed lines have no known speaker, except
    those that go on with a named one in its block.
    """
    cleaned, _ = split_rejects(CleanLines()(lines))
    flat, offsets = unnest(cleaned, "lines")
    names = flat.field("speaker").to_pylist()
    blocks, dash = flat.field("first_block").to_pylist(), flags(flat.field("dash"))
    for place in range(1, len(names)):
        if names[place] is None and not dash[place] and place not in offsets and blocks[place] == blocks[place - 1]:
            names[place] = names[place - 1]
    texts = flat.field("text").to_pylist()
    rows, speeches = [], []
    for row, (start, stop) in enumerate(pairwise(offsets)):
        if len({name for name in names[start:stop] if name}) > 1:
            rows.append(row)
            said = groupby(range(start, stop), key=lambda place: normalise(names[place] or ""))
            speeches.append([Speech(name, " ".join(texts[place] for place in own), 0, 0) for name, own in said])
    columns = {item.name: flat.field(item.name) for item in LINE} | {"speaker": pa.nulls(len(flat), pa.string())}
    said = flat.field("text")
    dashed = pc.if_else(flat.field("dash"), pc.binary_join_element_wise("- ", said, ""), said)
    hidden = nest(offsets, LINE, columns | {"text": dashed})
    films = cleaned.set_column(cleaned.schema.get_field_index("lines"), cleaned.schema.field("lines"), hidden)
    return Spoken(films.take(pa.array(rows, pa.int64())), speeches)
