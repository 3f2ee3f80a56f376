"""Where a scene is cut into dialogues, by what a cut costs and what a doubtful boundary costs that stays inside.

A boundary between two turns that stays inside a dialogue is worth its probability of being an exchange of two people in
one scene, less the price of an error times the probability that it is none. A cut costs something everywhere, more
between a question and what follows it and where the talk goes on at once, and is impossible inside a block, whose
speakers answer each other. Of all ways to cut a scene, the one that is worth most is found exactly, by dynamic
programming over its turns; a turn that is alone between two cuts is worth nothing, since nobody answers it.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import Bools, Doubles, flags

CUT, AT_ONCE, QUESTION, IN_BLOCK = 0.3, 1.0, 0.5, 1e6
"""Cost of a cut: of every one; in addition, of one within SOON, of one after a question, and of one inside a block.
The unit is a right exchange. They were chosen with the price of an error on two shows (Friends, The Big Bang Theory),
each by a scorer that was not trained on it; Frasier is the show on which they are measured.
"""

SOON = 2.0
"""Seconds within which an answer is expected."""

SLOPE, BIAS = 0.87, 0.07
"""Calibration of `boundary_certainty`, on the same two shows."""

_ASKS = r"[?？؟][\"'”’»)\]]*$"


def exchange_probabilities(new: Doubles, same_scene: Doubles) -> Doubles:
    """Return the probability that another person of the same scene begins with each turn, 0 to 1.

    Args:
        new: [turns] probability of another speaker; NaN where nothing is known, which counts as 1.
        same_scene: [turns] probability of the same scene; NaN counts as 1, too.
    """
    probability: Doubles = np.where(np.isnan(new), 1, new) * np.where(np.isnan(same_scene), 1, same_scene)
    return probability


def boundary_certainty(new: Doubles, same_scene: Doubles) -> Doubles:
    """Return the calibrated probability that the boundary before each turn is an exchange of two people in one scene;
    NaN where `new` is.
    """
    probability = exchange_probabilities(new, same_scene)
    with np.errstate(divide="ignore"):
        odds = np.log(probability) - np.log1p(-probability)
    return np.where(np.isnan(new), np.nan, 1 / (1 + np.exp(-(SLOPE * odds + BIAS))))


def cut_costs(turns: pa.StructArray, same_scene: Doubles) -> Doubles:
    """Return the cost of a cut before each turn, float64 [turns]; meaningless for the first of a document.

    Args:
        turns: structs of TURN, document after document.
        same_scene: [turns] probability that the scene continues; NaN counts as 1.
    """
    start, end = (turns.field(name).to_numpy(zero_copy_only=False) for name in ("start", "end"))
    pause = start - np.r_[np.nan, end[:-1]][: len(start)]
    asks = flags(pc.match_substring_regex(turns.field("text"), _ASKS))
    costs = np.full(len(start), CUT)
    costs += AT_ONCE * (pause <= SOON) * np.where(np.isnan(same_scene), 1, same_scene)
    costs[1:] += QUESTION * asks[:-1]
    costs[pause < 0] += IN_BLOCK  # the sentences of a block have its times
    return costs


def best_cuts(worths: Doubles, costs: Doubles, starts: Bools) -> Bools:
    """Return before which turns to cut, so that the boundaries that stay are worth most and the cuts cost least.

    Args:
        worths: [turns] of the boundary before each turn, if it stays inside a dialogue.
        costs: [turns] of a cut there.
        starts: [turns] where there is a cut anyway, which costs nothing; true for the first turn.

    Returns:
        bool [turns], true wherever `starts` is.
    """
    cut_before: list[bool] = []  # at each turn: whether the best way to here cuts before the previous turn
    alone, joined = 0.0, -np.inf  # worth of the best way whose last dialogue has one turn so far, or several
    for worth, cost, begins in zip(worths.tolist(), costs.tolist(), starts.tolist(), strict=True):
        best = max(alone, joined)
        cut_before.append(alone >= joined)
        alone, joined = (best, -np.inf) if begins else (best - cost, best + worth)
    cuts = starts.copy()
    cut = alone >= joined
    for place in range(len(cuts) - 1, -1, -1):
        cuts[place] |= cut
        cut = cut_before[place]
    return cuts
