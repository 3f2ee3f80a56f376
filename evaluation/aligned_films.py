"""Subtitles beside the scripts of the same episodes, aligned."""

import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from edos_dataset.arrays import Floats, unnest
from edos_dataset.segmentation.alignment import Alignment, align, find_scripts, seam_labels
from edos_dataset.sources.encodings import decode
from edos_dataset.sources.scripts import Speech, read_script
from edos_dataset.sources.speakers import read_cues, unify_names
from training.turns.scripts import split_lines
from training.turns.sources import LEAST_SHARED, read_subtitles


@dataclass(frozen=True)
class Film:
    """A subtitle file and its script, aligned.

    Attributes:
        file: id of the document.
        script: name of the script.
        sentences: structs of LINE.
        speeches: of the script.
        alignment: of the sentences with the speeches.
        same: labels of the seams as `seam_labels` gives them.
        confidence: of the labels.
        seconds: of a processor that the alignment took.
    """

    file: str
    script: str
    sentences: pa.StructArray
    speeches: Sequence[Speech]
    alignment: Alignment
    same: npt.NDArray[np.int8]
    confidence: Floats
    seconds: float


def read_sentences(folder: Path) -> tuple[list[str], list[pa.StructArray]]:
    """Read the subtitles below a folder as a run does; return the ids and the sentences (structs of LINE) of the
    documents.
    """
    _, table = split_lines(read_subtitles([folder]))
    flat, offsets = unnest(table, "sentences")
    return table["document_id"].to_pylist(), [
        flat.slice(start, stop - start) for start, stop in zip(offsets[:-1], offsets[1:], strict=True)
    ]


def read_transcripts(folder: Path) -> dict[str, list[Speech]]:
    """Read all scripts of a folder."""
    return {path.stem: read_script(_read_text(path)) for path in sorted(folder.glob("*.txt"))}


def read_cue_speeches(paths: Sequence[Path]) -> dict[str, list[Speech]]:
    """Join the cues of one speaker in a row to speeches; a speaker that nobody knows is named "?"."""
    films = {path.stem: read_cues(_read_text(path)).cues for path in paths}
    people = unify_names(Counter(cue.speaker for cues in films.values() for cue in cues if cue.speaker))
    return {
        name: [
            Speech(people.get(speaker or "") or "?", " ".join(line for cue in said for line in cue.lines), 0, 0)
            for speaker, said in groupby(cues, key=lambda cue: cue.speaker)
        ]
        for name, cues in films.items()
    }


def _read_text(path: Path) -> str:
    return decode(path.read_bytes(), None, "en")[0]


def align_show(folder: Path, scripts: Mapping[str, Sequence[Speech]]) -> tuple[list[Film], dict[str, Any]]:
    """Align every file below a folder with its script; return the films, and what is to be said of the pairing.

    Of several files with one script only the one that shares most with it counts.
    """
    ids, documents = read_sentences(folder)
    texts = [document.field("text").to_pylist() for document in documents]
    chosen, shared = find_scripts(texts, [[speech.text for speech in script] for script in scripts.values()])
    names = [list(scripts)[index] for index in chosen]
    best = {names[index]: int(index) for index in np.argsort(shared, kind="stable") if shared[index] >= LEAST_SHARED}
    films = [align_film(ids[index], documents[index], name, scripts[name]) for name, index in sorted(best.items())]
    copies = [index for index, name in enumerate(names) if shared[index] >= LEAST_SHARED and best[name] != index]
    misnumbered = [index for name, index in best.items() if _episode(ids[index]) != _episode(name)]
    without = [
        f"{file} ({share:.2f} of {name})"
        for file, name, share in zip(ids, names, shared, strict=True)
        if share < LEAST_SHARED
    ]
    pairing = {
        "files": len(ids),
        "scripts": len(scripts),
        "pairs": len(films),
        "without_script": without,
        "copies": sorted(f"{ids[index]} = {names[index]}" for index in copies),
        "misnumbered": sorted(f"{ids[index]} = {names[index]}" for index in misnumbered),
        "least_shared": round(float(min(shared[list(best.values())], default=0)), 3),
    }
    return films, pairing


def align_film(file: str, sentences: pa.StructArray, name: str, speeches: Sequence[Speech]) -> Film:
    """Align a document with a script; what a speaker called "?" says is unknown."""
    began = time.process_time()
    alignment = align(sentences.field("text").to_pylist(), [speech.text for speech in speeches])
    seconds = time.process_time() - began
    same, confidence = seam_labels(
        alignment, [speech.speaker for speech in speeches], [speech.scene for speech in speeches]
    )
    unknown = np.array([speech.speaker == "?" for speech in speeches])
    same[unknown[alignment.speech] | np.r_[False, unknown[alignment.last_speech[:-1]]]] = -1
    return Film(file, name, sentences, speeches, alignment, same, np.where(same < 0, 0, confidence), seconds)


def _episode(name: str) -> tuple[int, ...]:
    """Return season and episode by the last two numbers of 01/Episode_3, 0103, or S01E03."""
    named = re.search(r"s(\d+)e(\d+)", name.lower())
    digits = named.groups() if named else re.findall(r"\d+", name if "/" in name else f"{name[:2]} {name[2:]}")[-2:]
    return tuple(map(int, digits))
