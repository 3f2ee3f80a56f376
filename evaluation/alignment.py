"""The coverage, quality and speed of labelling real subtitles by aligning them with scripts.

    python evaluation/alignment.py DATA_DIR --sample boundaries.txt --count 100 --seed 7 --least 0.5 --most 0.9

reads `frasier/subtitles` with the transcripts in `frasier/scripts`, and `noisy_srt/friends` with the speakers in
`sitcom_speakers/Friends.*.merged`. It writes evaluation/alignment.json and, to the sample file, random labelled
boundaries of Frasier with both sides, to be checked by hand. The findings are entered in the JSON under
"checked_by_hand", which this script preserves.

The dashes of the subtitles, which the alignment does not see, are a second source: a dash inside a block is a new turn;
if other blocks have dashes, a block without any is one turn. Dashes have errors too, so the fractions of agreement are
lower bounds.
"""

import argparse
import json
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from difflib import SequenceMatcher
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from edos_dataset.arrays import Bools, Floats, flags, unnest
from edos_dataset.runs.shards import write_text
from edos_dataset.sources.encodings import decode
from training.transcripts.alignment import Alignment, align, boundary_labels, find_scripts
from training.transcripts.scripts import Speech, read_script
from training.transcripts.speakers import read_cues, unify_names
from training.turns.data import LEAST_SHARED, read_subtitles
from training.turns.labels import split_lines


@dataclass(frozen=True)
class Film:
    """A subtitle file aligned with its script.

    Attributes:
        file: id of the document.
        script: name of the script.
        sentences: structs of LINE.
        speeches: the speeches of the script.
        alignment: aligns the sentences with the speeches.
        same: labels of the boundaries, from `boundary_labels`.
        confidence: confidence of the labels.
        seconds: processor time of the alignment.
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
    """Join consecutive cues of one speaker into speeches; an unknown speaker is named "?"."""
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
    """Align every file below a folder with its script; return the films, and facts about the pairing.

    Of several files with one script, only the one that shares most with it is used.
    """
    ids, documents = read_sentences(folder)
    texts = [document.field("text").to_pylist() for document in documents]
    chosen, shared = find_scripts(texts, [[speech.text for speech in script] for script in scripts.values()])
    names = [list(scripts)[index] for index in chosen]
    best = {names[index]: int(index) for index in np.argsort(shared, kind="stable") if shared[index] >= LEAST_SHARED}
    films = [align_film(ids[index], documents[index], name, scripts[name]) for name, index in sorted(best.items())]
    misnumbered = [index for name, index in best.items() if _episode(ids[index]) != _episode(name)]
    copies, without = [], []
    for index, (file, name, share) in enumerate(zip(ids, names, shared, strict=True)):
        if share < LEAST_SHARED:
            without.append(f"{file} ({share:.2f} of {name})")
        elif best[name] != index:
            copies.append(f"{file} = {name}")
    pairing = {
        "files": len(ids),
        "scripts": len(scripts),
        "pairs": len(films),
        "without_script": without,
        "copies": sorted(copies),
        "misnumbered": sorted(f"{ids[index]} = {names[index]}" for index in misnumbered),
        "least_shared": round(float(min(shared[list(best.values())], default=0)), 3),
    }
    return films, pairing


def align_film(file: str, sentences: pa.StructArray, name: str, speeches: Sequence[Speech]) -> Film:
    """Align a document with a script; the labels of a speaker called "?" are unknown."""
    began = time.process_time()
    alignment = align(sentences.field("text").to_pylist(), [speech.text for speech in speeches])
    seconds = time.process_time() - began
    same, confidence = boundary_labels(
        alignment, [speech.speaker for speech in speeches], [speech.scene for speech in speeches]
    )
    unknown = np.array([speech.speaker == "?" for speech in speeches])
    same[unknown[alignment.speech] | np.r_[False, unknown[alignment.last_speech[:-1]]]] = -1
    return Film(file, name, sentences, speeches, alignment, same, np.where(same < 0, 0, confidence), seconds)


def _episode(name: str) -> tuple[int, ...]:
    """Return season and episode from the last two numbers of 01/Episode_3, 0103, or S01E03."""
    named = re.search(r"s(\d+)e(\d+)", name.lower())
    digits = named.groups() if named else re.findall(r"\d+", name if "/" in name else f"{name[:2]} {name[2:]}")[-2:]
    return tuple(map(int, digits))


THRESHOLDS = (0.01, 0.2, 0.4, 0.5, 0.6, 0.8, 0.9, 0.98)
RECOMMENDED = 0.5
# minimum fraction of a file's boundaries with dashes inside blocks; below it, a missing dash means nothing
_MOST_INSIDE = 0.02


def measure(films: Sequence[Film]) -> dict[str, Any]:
    """Return coverage, agreement with the dashes, and speed."""
    same, confidence = (np.concatenate([getattr(film, name)[1:] for film in films]) for name in ("same", "confidence"))
    split, joined = (
        np.concatenate([flags_of[1:] for flags_of in column]) for column in zip(*map(_by_dashes, films), strict=True)
    )
    aligned = np.concatenate([film.alignment.speech >= 0 for film in films])
    seconds = np.array([film.seconds for film in films])
    rows = []
    for least in THRESHOLDS:
        sure = confidence >= least
        row = {"confidence": least, "labelled": sure.mean(), "new_turn": (same[sure] == 0).mean()}
        row |= {"dash_agrees": (same[sure & split] == 0).mean(), "no_dash_agrees": (same[sure & joined] == 1).mean()}
        rows.append({name: round(float(value), 4) for name, value in row.items()})
    return {
        "sentences": len(aligned),
        "aligned": round(float(aligned.mean()), 4),
        "seams": len(same),
        "seams_with_dash": int(split.sum()),
        "seams_without": int(joined.sum()),
        "at": rows,
        "least_aligned": sorted(f"{(film.alignment.speech >= 0).mean():.2f} {film.file}" for film in films)[:5],
        "processor_seconds_a_film": {"mean": round(float(seconds.mean()), 3), "most": round(float(seconds.max()), 3)},
        "sentences_a_second": round(len(aligned) / float(seconds.sum())),
    }


def _by_dashes(film: Film) -> tuple[Bools, Bools]:
    """Return two bool arrays [sentences]: whether a dash separates a sentence from the one before it, and whether both
    share a block without such a dash.
    """
    first, last = (film.sentences.field(name).to_numpy() for name in ("first_block", "last_block"))
    inside = np.r_[False, first[1:] == last[:-1]]
    split = inside & flags(film.sentences.field("dash"))
    dashed = np.isin(first, first[split])
    return split, inside & ~split & ~dashed & (split.mean() > _MOST_INSIDE)


def time_long_film(films: Sequence[Film], sentences: int = 10_000) -> dict[str, float]:
    """Measure the time to align a film as long as several episodes."""
    texts: list[str] = []
    speeches: list[str] = []
    for film in films:
        if len(texts) < sentences:
            texts += film.sentences.field("text").to_pylist()
            speeches += [speech.text for speech in film.speeches]
    began = time.process_time()
    alignment = align(texts, speeches)
    return {
        "sentences": len(texts),
        "processor_seconds": round(time.process_time() - began, 2),
        "aligned": round(float((alignment.speech >= 0).mean()), 4),
    }


def measure_strangers(films: Sequence[Film]) -> dict[str, float]:
    """Align every tenth film with the script of another, which should give no confident labels."""
    aligned, labelled, sure = [], [], []
    for film, other in zip(films[::10], films[1::10], strict=False):
        alignment = align(film.sentences.field("text").to_pylist(), [speech.text for speech in other.speeches])
        same, confidence = boundary_labels(
            alignment, [speech.speaker for speech in other.speeches], [speech.scene for speech in other.speeches]
        )
        aligned.append((alignment.speech >= 0).mean())
        labelled.append((same >= 0).mean())
        sure.append((confidence >= RECOMMENDED).mean())
    return {
        name: round(float(np.mean(shares)), 4)
        for name, shares in (("aligned", aligned), ("labelled", labelled), ("labelled_surely", sure))
    }


def sample_boundaries(films: Sequence[Film], count: int, seed: int, least: float, most: float) -> str:
    """Return random labelled boundaries with a confidence from `least` to below `most`, with their neighbours and the
    corresponding excerpt of the script.
    """
    boundaries = [
        (film, int(at))
        for film in films
        for at in np.flatnonzero((film.same >= 0) & (film.confidence >= least) & (film.confidence < most))
    ]
    chosen = np.random.default_rng(seed).choice(len(boundaries), min(count, len(boundaries)), replace=False)
    return "\n".join(_show_boundary(number, *boundaries[index]) for number, index in enumerate(chosen, 1))


def _show_boundary(number: int, film: Film, at: int) -> str:
    texts = film.sentences.field("text").to_pylist()
    before, after = int(film.alignment.last_speech[at - 1]), int(film.alignment.speech[at])
    lines = [f"#{number} {film.script} {'SAME' if film.same[at] else 'NEW'} {film.confidence[at]:.2f}"]
    lines += [f"   {text}" for text in texts[max(at - 2, 0) : at]]
    lines += [" > " + texts[at], *(f"   {text}" for text in texts[at + 1 : at + 2])]
    near = f"{texts[at - 1][-60:]} {texts[at][:60]}"
    lines += [
        f"        {speech.scene} {speech.speaker}: {_excerpt(speech.text, near)}"
        for speech in film.speeches[before : after + 1][:4]
    ]
    return "\n".join(lines)


def _excerpt(text: str, near: str, width: int = 110) -> str:
    if len(text) <= 2 * width:
        return text
    middle = SequenceMatcher(None, text.lower(), near.lower(), autojunk=False).find_longest_match()
    begin = max(middle.a + middle.size // 2 - width, 0)
    return "…" * (begin > 0) + text[begin : begin + 2 * width] + "…" * (begin + 2 * width < len(text))


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("--sample", type=Path, help="file for the boundaries to check by hand")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--least", type=float, default=RECOMMENDED, help="confidence from which boundaries are sampled")
    parser.add_argument("--most", type=float, default=2.0, help="confidence below which they are sampled")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args()
    result: dict[str, Any] = {"date": date.today().isoformat(), "recommended_confidence": RECOMMENDED}
    with suppress(OSError, ValueError, KeyError):
        result["checked_by_hand"] = json.loads(arguments.out.read_text(encoding="utf-8"))["checked_by_hand"]
    frasier, pairing = align_show(
        arguments.data_dir / "frasier" / "subtitles", read_transcripts(arguments.data_dir / "frasier" / "scripts")
    )
    result["frasier"] = {"pairing": pairing, **measure(frasier)}
    cues = sorted((arguments.data_dir / "sitcom_speakers").glob("Friends.*.merged"))
    friends, pairing = align_show(arguments.data_dir / "noisy_srt" / "friends", read_cue_speeches(cues))
    result["friends"] = {"pairing": pairing, **measure(friends)}
    result["script_of_another_film"] = measure_strangers(frasier)
    result["long_film"] = time_long_film(frasier)
    write_text(arguments.out, json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    if arguments.sample:
        boundaries = sample_boundaries(frasier, arguments.count, arguments.seed, arguments.least, arguments.most)
        write_text(arguments.sample, boundaries + "\n")
    print(json.dumps(result, indent=1, ensure_ascii=False))  # noqa: T201


if __name__ == "__main__":
    main()
