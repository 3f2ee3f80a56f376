"""Splits turns into dialogues and judges their certainty.

A dialogue ends with its scene (`scenes`) or, as in the papers, at a long silence (EDOS, Section 3).
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import Bools, Doubles, nest, unnest
from edos_dataset.runs.pipeline import Stage, Unit, check_ranges
from edos_dataset.schema.tables import DIALOGUES, REASON, TURN
from edos_dataset.segmentation.cuts import best_cuts, boundary_certainty, cut_costs, exchange_probabilities
from edos_dataset.segmentation.scenes import scene_scorer
from edos_dataset.segmentation.turns.stage import check_certainty
from edos_dataset.sources.formats import with_speakers

_EDGES = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 5, 7.5, 10, 15, 20, 30, 60])  # seconds
_BINS = ("<0", *(f"{low:g}-{high:g}" for low, high in zip(_EDGES[:-1], _EDGES[1:], strict=True)), ">=60", "unknown")


@dataclass(frozen=True)
class SegmentDialogues(Stage):
    """Cut a document where a new scene probably begins, after a long silence, and within a scene so that as many
    exchanges as possible stay whole and as few as possible are wrong (`cuts`).

    Where a file tells its scenes, as screenplays do, these are the dialogues. A missing time does not count as silence;
    the scene is then scored by the words alone, and the score is rarely high enough for a cut. Turns without a known
    certainty stay together. Doubtful boundaries stay inside a dialogue where a cut would tear more than it mends; the
    stage "certainty" states how sure each one is.

    Args:
        gap: seconds without speech, from the end of a turn to the start of the next, beyond which there is always a
            cut, 0 or more; the papers' 5.0 goes with `scenes` None.
        scenes: least probability of a new scene for a cut, 0 to 1 (`scenes.scene_scores`); a lower one makes more and
            shorter dialogues. None cuts at silences only, as the papers do.
        least_certainty: two turns stay together only if the certainty that their speakers differ is at least this, 0 to
            1, whatever a cut costs; the stage "turns" has the same value.
        price_of_error: how many right exchanges a wrong one inside a dialogue outweighs, 0 or more: a higher one makes
            shorter and more certain dialogues. None cuts only at scenes, silences and `least_certainty`.
        chat_gap: the same as `gap` for chats, in which people may answer after hours; scenes do not count there.
    """

    gap: float = 10.0
    scenes: float | None = 0.25
    least_certainty: float = 0.0
    price_of_error: float | None = None
    chat_gap: float = 10_800.0

    name: ClassVar[str] = "dialogues"
    unit: ClassVar[Unit] = "turns"
    needs, gives = ("turns",), ("dialogue_id",)

    def __post_init__(self) -> None:
        """Check the parameters."""
        if not self.gap >= 0:
            raise ValueError(f"gap is {self.gap}, but silence is measured in seconds from 0 up; the papers use 5.0")
        if not self.chat_gap >= 0:
            raise ValueError(f"chat_gap is {self.chat_gap}, but silence is measured in seconds from 0 up")
        check_certainty(self.least_certainty)
        check_ranges(self, price_of_error=(0, 1000))
        if self.scenes is not None and not 0 <= self.scenes <= 1:
            raise ValueError(
                f"scenes is {self.scenes}, but a probability lies between 0 and 1; null looks at silences only"
            )

    def check(self) -> None:
        """Read the weights of the scorer."""
        if self.scenes is not None:
            scene_scorer()

    def inputs(self) -> dict[str, str]:
        """Return the hash of the scorer's weights, by name."""
        return {} if self.scenes is None else {"scenes": scene_scorer().identity}

    def records(self) -> dict[str, dict[str, Any]]:
        """Return the record of how the scorer was made, by its name."""
        return {} if self.scenes is None else {scene_scorer().record["name"]: scene_scorer().record}

    def score(self, table: pa.Table) -> np.ndarray:
        """Return the probability that a new scene begins with each turn of TURNS, float32 [turns]; NaN for the first of
        a document.
        """
        turns, offsets = unnest(table, "turns")
        scores = np.full(len(turns), np.nan, np.float32)
        languages = table["language"].combine_chunks().dictionary_encode()
        spoken = languages.indices.fill_null(len(languages.dictionary)).to_numpy()
        for number, language in enumerate([*languages.dictionary.to_pylist(), None]):
            documents = table.filter(pa.array(spoken == number))
            if documents.num_rows:
                part = scene_scorer().scores(*unnest(documents, "turns"), language)
                scores[np.repeat(spoken == number, np.diff(offsets))] = part
        return scores

    def __call__(self, table: pa.Table) -> pa.Table:
        """Turn TURNS, a document a row, into DIALOGUES."""
        turns, offsets = unnest(table, "turns")
        lengths = np.diff(offsets)
        first = np.zeros(len(turns), bool)
        first[offsets[:-1][lengths > 0]] = True
        chats = np.repeat(with_speakers(table["source"]), lengths)
        cuts = _silences(turns) > np.where(chats, self.chat_gap, self.gap)
        cuts |= _new_scenes(turns)
        cuts |= turns.field("new_speaker").to_numpy(zero_copy_only=False) < np.float32(self.least_certainty)
        if self.scenes is not None:
            scores = self.score(table)
            scores[chats] = np.nan
            cuts |= scores >= self.scenes
            known = {field.name: turns.field(field.name) for field in TURN}
            same_scene = pa.array(1 - scores, pa.float32(), from_pandas=True)
            turns = nest([0, len(turns)], TURN, {**known, "same_scene": same_scene}).flatten()
        starts = np.flatnonzero(self._cuts(turns, first | cuts, chats))
        rows = pa.array(np.repeat(np.arange(table.num_rows), lengths)[starts])
        ids = turns.field("sentence_ids")
        first_ids = pc.take(ids.flatten(), pa.array((ids.offsets.to_numpy() - ids.offsets[0].as_py())[starts]))
        documents = table["document_id"].take(rows)
        columns = {
            field.name: table[field.name].take(rows)
            if field.name in table.column_names
            else pa.nulls(len(rows), field.type)
            for field in DIALOGUES
            if field.name != "turns"  # they cover the whole document; a dialogue gets its own below
        }
        columns["dialogue_id"] = pc.binary_join_element_wise(documents, first_ids.cast(pa.string()), "#")
        columns["turns"] = pa.ListArray.from_arrays(pa.array(np.r_[starts, len(turns)], pa.int32()), turns)
        return pa.table({name: columns[name] for name in DIALOGUES.names}, schema=DIALOGUES)

    def _cuts(self, turns: pa.StructArray, starts: Bools, chats: Bools) -> Bools:
        """Return where dialogues begin, given where they begin anyway and which turns are of chats: [turns]."""
        if self.price_of_error is None or not len(turns):
            return starts
        new, scene = (turns.field(name).to_numpy(zero_copy_only=False) for name in ("new_speaker", "same_scene"))
        right = exchange_probabilities(new.astype(np.float64), scene.astype(np.float64))
        worths = np.where(chats, 1.0, right - self.price_of_error * (1 - right))
        return best_cuts(worths, cut_costs(turns, scene.astype(np.float64)), starts)

    def tally(self, table: pa.Table) -> dict[str, int]:
        """Count all pairs of adjacent turns of a document, cut or not, by the silence between them."""
        turns, offsets = unnest(table, "turns")
        if not len(turns):
            return {}
        documents = np.repeat(
            table["document_id"].combine_chunks().dictionary_encode().indices.to_numpy(), np.diff(offsets)
        )
        silences = _silences(turns)[1:][documents[1:] == documents[:-1]]
        bins = np.where(np.isnan(silences), len(_BINS) - 1, np.searchsorted(_EDGES, silences, side="right"))
        return {f"gap_s:{_BINS[index]}": count for index, count in sorted(Counter(bins.tolist()).items())}


def _new_scenes(turns: pa.StructArray) -> Bools:
    """Return where the number of the scene is another than before, [turns]; nowhere without numbers."""
    scenes = pc.fill_null(turns.field("scene"), 0).to_numpy(zero_copy_only=False)
    return np.r_[False, scenes[1:] != scenes[:-1]] if len(scenes) else np.zeros(0, bool)


def _silences(turns: pa.StructArray) -> np.ndarray:
    """Return the seconds between each turn and the previous one; NaN for the first and where a time is missing."""
    start: np.ndarray = turns.field("start").to_numpy(zero_copy_only=False)
    end = turns.field("end").to_numpy(zero_copy_only=False)
    return np.r_[np.nan, start[1:] - end[:-1]] if len(start) else start


UNSURE = "unsure"
"""Reason of a dialogue that is not certain enough."""

OF_BOUNDARIES, OF_TURNS = 1.0, 0.0
"""The calibration: the logarithm of the certainty is OF_BOUNDARIES times the summed log-probabilities of the
boundaries, plus OF_TURNS for each turn, for errors that no boundary shows, such as damaged text.
"""

OF_FAULTS = 0.2
"""Factor of the certainty for each fault of the file (`sources.subtitles.faults`). Where the order of the cues or the
sentences were lost, 0 to 21 % of the dialogues are as in the unspoiled file (evaluation/spoiled_subtitles.json).
"""


@dataclass(frozen=True)
class JudgeDialogues(Stage):
    """Estimate the probability that a dialogue has no error (`certainty`), the number of its errors
    (`expected_errors`), and for every turn but the first the probability that the boundary before it is right
    (`turns.certainty`): that another person of the same scene begins.

    Errors are turns of two people, and boundaries at which the same person continues or a new scene begins. Both
    estimates come from `new_speaker`, `one_speaker` and `same_scene` of the turns. They are null if one of the first
    two is; unknown scenes are left out. Each fault of the whole file, such as times without relation to the text,
    lowers the certainty by the factor OF_FAULTS.

    Args:
        least: dialogues with a lower certainty are rejected, 0 to 1.
    """

    least: float = 0.0

    name: ClassVar[str] = "certainty"
    unit: ClassVar[Unit] = "dialogues"
    needs, gives = ("turns",), ("certainty", "expected_errors", "turns.certainty")

    def __post_init__(self) -> None:
        """Check the parameter."""
        check_ranges(self, least=(0, 1))

    def __call__(self, table: pa.Table) -> pa.Table:
        """Judge DIALOGUES."""
        turns, offsets = unnest(table, "turns")
        new, one, scene = (
            turns.field(name).to_numpy(zero_copy_only=False).astype(np.float64)
            for name in ("new_speaker", "one_speaker", "same_scene")
        )
        first = offsets[:-1][np.diff(offsets) > 0]
        table = _with_certainty(table, turns, offsets, boundary_certainty(new, scene))
        scene[np.isnan(scene)] = 1
        new[first] = scene[first] = 1  # no boundary is needed where a dialogue begins
        with np.errstate(divide="ignore"):
            logs = _sums(np.log(new) + np.log(one) + np.log(scene), offsets)
        faults = _faults(table)
        certainty = np.exp(OF_BOUNDARIES * logs + OF_TURNS * np.diff(offsets)) * OF_FAULTS**faults
        for name, values in (
            ("certainty", certainty),
            ("expected_errors", _sums((1 - new) + (1 - one) + (1 - scene), offsets) - faults * np.log(OF_FAULTS)),
        ):
            column = pa.array(values.astype(np.float32), pa.float32(), from_pandas=True)
            place = table.schema.get_field_index(name)
            table = table.append_column(name, column) if place < 0 else table.set_column(place, name, column)
        if not self.least:
            return table
        unsure = pc.less(table["certainty"], pa.scalar(self.least, pa.float32()))
        return table.append_column(
            REASON, pc.if_else(pc.fill_null(unsure, False), UNSURE, pa.scalar(None, pa.string()))
        )


def _faults(table: pa.Table) -> np.ndarray:
    """Return the number of faults of each dialogue's file, int [dialogues]."""
    if "reading" not in table.column_names:
        return np.zeros(table.num_rows, int)
    faults: np.ndarray = pc.fill_null(pc.list_value_length(pc.struct_field(table["reading"], "faults")), 0).to_numpy()
    return faults


def _with_certainty(table: pa.Table, turns: pa.StructArray, offsets: np.ndarray, certainty: Doubles) -> pa.Table:
    """Return dialogues with the certainty of the boundaries, [turns], null for the first turn of each."""
    if "certainty" not in turns.type.names:
        return table
    certainty[offsets[:-1][np.diff(offsets) > 0]] = np.nan
    columns = {field.name: turns.field(field.name) for field in turns.type}
    columns["certainty"] = pa.array(certainty.astype(np.float32), pa.float32(), from_pandas=True)
    return table.set_column(table.schema.get_field_index("turns"), "turns", nest(offsets, turns.type, columns))


def _sums(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the sum of each dialogue's values, computed separately so that neighbours do not affect its rounding."""
    sums = np.zeros(len(offsets) - 1)
    there = np.diff(offsets) > 0
    if there.any():
        sums[there] = np.add.reduceat(values, offsets[:-1][there])
    return sums
