"""Where scenes of a film are known to begin, as far as its script, or scenes cut out of it, tell."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edos_dataset.arrays import Bools, Doubles, Ints
from edos_dataset.segmentation.alignment import align
from edos_dataset.sources.scripts import Speech

LEAST_SHARED = 0.3
"""Share of a film's phrases that its script must have; a film and its own share about half, others less than 0.05."""

TRUSTED = 0.5
"""Least confidence of an aligned sentence whose scene is taken as known."""

FARTHEST = 8
"""Sentences, at most, from one with a known scene to the next, that a scene break is looked for between."""


@dataclass(frozen=True, eq=False)
class Breaks:
    """The scenes of one document, as far as they are known. A seam has the number of the sentence behind it.

    Attributes:
        first: [breaks] a scene begins at one of the seams from this one
        last: [breaks] to that one.
        weight: [breaks] how much each counts: 1 of whole scripts, and 1/2 where single scenes are known, of which each
            has a break at either end that it shares with another one.
        within: [sentences] whether the seam is known to be inside a scene.
        unplaced: breaks of the script that are left out, as the sentences around them are not aligned.
        seam: how much a seam inside a scene counts: more than 1 where short scenes were chosen, which have more breaks.
    """

    first: Ints
    last: Ints
    weight: Doubles
    within: Bools
    unplaced: int = 0
    seam: float = 1.0


def breaks_of_script(texts: Sequence[str], speeches: Sequence[Speech]) -> Breaks:
    """Find the scenes of a film by its whole script.

    Args:
        texts: sentences of the film.
        speeches: of the script.
    """
    alignment = align(texts, [speech.text for speech in speeches])
    scenes = np.array([speech.scene for speech in speeches])
    known = np.flatnonzero((alignment.speech >= 0) & (alignment.confidence >= TRUSTED))
    within = np.zeros(len(texts), bool)
    if len(known) < 2:
        none = np.zeros(0, np.int64)
        return Breaks(none, none, np.zeros(0), within, int(np.ptp(scenes)))
    changed = scenes[alignment.speech[known[1:]]] > scenes[alignment.last_speech[known[:-1]]]
    within[known[0] + 1 : known[-1] + 1] = ~np.repeat(changed, np.diff(known))
    near = changed & (np.diff(known) <= FARTHEST)
    first, last = known[:-1][near] + 1, known[1:][near]
    return Breaks(first, last, np.ones(len(first)), within, int(np.ptp(scenes)) - len(first))


def breaks_of_scenes(texts: Sequence[str], scenes: Sequence[Sequence[str]], seam: float = 1.0) -> Breaks:
    """Find single scenes in a film: what lies between them is unknown.

    A scene that is not found whole, from its first utterance to its last, tells only what lies between what is found.

    Args:
        texts: sentences of the film.
        scenes: the utterances of each scene, in the order of the film.
        seam: as in `Breaks`.
    """
    owner = np.repeat(np.arange(len(scenes)), [len(scene) for scene in scenes])
    edges = np.cumsum([0, *map(len, scenes)])
    alignment = align(texts, [text for scene in scenes for text in scene])
    known = np.flatnonzero((alignment.speech >= 0) & (alignment.confidence >= TRUSTED))
    of = owner[alignment.speech[known]]
    within, seams = np.zeros(len(texts), bool), []
    for number in range(len(scenes)):
        own = known[of == number]
        if len(own) < 2:
            continue
        within[own[0] + 1 : own[-1] + 1] = True
        begins = alignment.speech[own[0]] == edges[number] and own[0] > 0
        ends = alignment.last_speech[own[-1]] == edges[number + 1] - 1 and own[-1] + 1 < len(texts)
        seams += [own[0]] * bool(begins) + [own[-1] + 1] * bool(ends)
    at = np.array(seams, np.int64)
    at = at[~within[at]]
    return Breaks(at, at, np.full(len(at), 0.5), within, seam=seam)


def joined(parts: Sequence[Breaks]) -> Breaks:
    """Return what several releases say of one document; a break of one that is inside a scene of another is none."""
    within = np.any([part.within for part in parts], axis=0)
    first, last, weight = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("first", "last", "weight")
    )
    kept = ~within[first]
    return Breaks(first[kept], last[kept], weight[kept], within, sum(part.unplaced for part in parts), parts[0].seam)
