"""How well a silence tells that a scene ends: subtitles beside the scenes of their scripts."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from edos_dataset.arrays import unnest
from edos_dataset.segmentation.alignment import find_scripts
from edos_dataset.sources.encodings import decode
from edos_dataset.sources.scripts import Speech, read_script
from training.scenes.breaks import LEAST_SHARED, breaks_of_script

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Silences:
    """The silences of one film, in seconds, each against the scenes of the script.

    Attributes:
        at_breaks: [breaks] the longest one between the last sentence known to be in a scene and the first in a later
            one.
        within: [seams] those between adjacent sentences of one scene.
        unplaced: breaks that are left out: no time is known there, or the sentences around them are not aligned.
    """

    at_breaks: Numbers
    within: Numbers
    unplaced: int


def silences_of_films(table: pa.Table, scripts: Path) -> list[Silences]:
    """Find the script of each film and hold the film's silences against its scenes.

    Args:
        table: SENTENCES.
        scripts: folder of texts as `read_script` reads them; files without any speech are passed over.

    Returns:
        One entry for each film that has a script there.

    Raises:
        ValueError: no film has.
    """
    speeches = _read_scripts(scripts)
    sentences, offsets = unnest(table, "sentences")
    films = [sentences.slice(start, stop - start) for start, stop in zip(offsets[:-1], offsets[1:], strict=True)]
    chosen, shared = find_scripts(
        [film.field("text").to_pylist() for film in films], [[speech.text for speech in script] for script in speeches]
    )
    silences = [
        measure_film(film, speeches[script])
        for film, script, share in zip(films, chosen, shared, strict=True)
        if share >= LEAST_SHARED
    ]
    if not silences:
        raise ValueError(
            f"none of the {len(films)} films shares its words with any of the {len(speeches)} scripts in {scripts}"
        )
    return silences


def _read_scripts(folder: Path) -> list[list[Speech]]:
    scripts = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        try:
            scripts.append(read_script(decode(path.read_bytes(), None, "en")[0]))
        except ValueError:
            continue
    return scripts


def measure_film(sentences: pa.StructArray, speeches: Sequence[Speech]) -> Silences:
    """Hold the silences of a film against the scenes of its script.

    Args:
        sentences: structs of schema.LINE.
        speeches: of the script.
    """
    breaks = breaks_of_script(sentences.field("text").to_pylist(), speeches)
    start, end = (sentences.field(name).to_numpy(zero_copy_only=False) for name in ("start", "end"))
    silence = np.r_[np.nan, start[1:] - end[:-1]]
    longest = np.array(
        [np.fmax.reduce(silence[first : last + 1]) for first, last in zip(breaks.first, breaks.last, strict=True)],
        np.float64,
    )
    known = ~np.isnan(longest)
    within = silence[breaks.within]
    return Silences(longest[known], within[~np.isnan(within)], breaks.unplaced + int((~known).sum()))


def judge_thresholds(
    films: Sequence[Silences], thresholds: Sequence[float], seed: int = 0, samples: int = 1000
) -> dict[str, Any]:
    """Judge "a silence longer than this ends a scene" at each threshold.

    Args:
        films: their silences.
        thresholds: seconds.
        seed: of the bootstrap over films, which says how sure the best threshold is.
        samples: of the bootstrap.

    Returns:
        `films`, `scene_breaks`, `unplaced_breaks` and `seams_within_scenes`: how many; `thresholds`: rows of `seconds`,
        `precision` (1 less the share of cuts inside a scene), `recall` (share of scene breaks cut), `f1`, and
        `cuts_a_film`; `best`: the row of the best F1, and `best_interval`, in which the best threshold of 95 % of the
        samples lies.
    """
    limits = np.asarray(thresholds)[:, None]
    right = np.array([(film.at_breaks > limits).sum(1) for film in films], float)  # [films, thresholds]
    wrong = np.array([(film.within > limits).sum(1) for film in films], float)
    breaks = np.array([len(film.at_breaks) for film in films], float)
    precision, recall, f1 = _scores(right.sum(0), wrong.sum(0), breaks.sum())
    picks = np.random.default_rng(seed).integers(len(films), size=(samples, len(films)))
    best = [
        float(thresholds[int(_scores(right[pick].sum(0), wrong[pick].sum(0), breaks[pick].sum())[2].argmax())])
        for pick in picks
    ]
    columns = zip(thresholds, precision, recall, f1, (right + wrong).mean(0), strict=True)
    names = ("seconds", "precision", "recall", "f1", "cuts_a_film")
    rows = [dict(zip(names, (round(float(value), 4) for value in row), strict=True)) for row in columns]
    return {
        "films": len(films),
        "scene_breaks": int(breaks.sum()),
        "unplaced_breaks": sum(film.unplaced for film in films),
        "seams_within_scenes": sum(len(film.within) for film in films),
        "thresholds": rows,
        "best": rows[int(f1.argmax())],
        "best_interval": np.quantile(best, [0.025, 0.975]).tolist(),
    }


def _scores(right: Numbers, wrong: Numbers, breaks: float) -> tuple[Numbers, Numbers, Numbers]:
    """Return precision, recall and F1; where nothing is cut the precision is 1."""
    precision = np.where(right + wrong > 0, right / np.maximum(right + wrong, 1), 1.0)
    return precision, right / max(breaks, 1), 2 * right / np.maximum(right + wrong + breaks, 1)
