"""Turns to dialogues: a dialogue ends with its scene (`scenes`), or by a long silence alone (EDOS, Section 3)."""

from collections import Counter
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import nest, unnest
from edos_dataset.runs.pipeline import Stage, Unit
from edos_dataset.schema.tables import DIALOGUES, TURN
from edos_dataset.segmentation.scenes import scene_scorer
from edos_dataset.segmentation.turns.stage import check_certainty

_EDGES = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 5, 7.5, 10, 15, 20, 30, 60])  # seconds
_BINS = ("<0", *(f"{low:g}-{high:g}" for low, high in zip(_EDGES[:-1], _EDGES[1:], strict=True)), ">=60", "unknown")


@dataclass(frozen=True)
class SegmentDialogues(Stage):
    """Cut a document where a new scene probably begins, where nobody speaks for long, and where it is not sure that
    another person begins.

    A missing time cuts nothing by its silence; the scene is then told from the words alone, and seldom so surely that
    it cuts. Turns of which no certainty is known stay together.

    Args:
        gap: seconds without speech, from the end of a turn to the start of the next, beyond which it is always cut, 0
            or more; the papers' 5.0 goes with `scenes` None.
        scenes: probability of a new scene, 0 to 1, from which on it is cut (`scenes.scene_scores`); a lower one makes
            more and shorter dialogues. None looks at silences only, as the papers do.
        least_certainty: two turns stay together only where it is at least as sure, 0 to 1, that they are two people's;
            the stage "turns" has the same value.
    """

    gap: float = 10.0
    scenes: float | None = 0.25
    least_certainty: float = 0.0

    name: ClassVar[str] = "dialogues"
    unit: ClassVar[Unit] = "turns"
    needs, gives = ("turns",), ("dialogue_id",)

    def __post_init__(self) -> None:
        """Check the parameters."""
        if not self.gap >= 0:
            raise ValueError(f"gap is {self.gap}, but silence is measured in seconds from 0 up; the papers use 5.0")
        check_certainty(self.least_certainty)
        if self.scenes is not None and not 0 <= self.scenes <= 1:
            raise ValueError(
                f"scenes is {self.scenes}, but a probability lies between 0 and 1; null looks at silences only"
            )

    def check(self) -> None:
        """Read the weights of the scorer."""
        if self.scenes is not None:
            scene_scorer()

    def inputs(self) -> dict[str, str]:
        """Return the hash of the scorer's weights."""
        return {} if self.scenes is None else {"scenes": scene_scorer().identity}

    def records(self) -> dict[str, dict[str, Any]]:
        """Return how the scorer was made, by its name."""
        return {} if self.scenes is None else {scene_scorer().record["name"]: scene_scorer().record}

    def score(self, table: pa.Table) -> np.ndarray:
        """Return the probability, float32 [turns], that a new scene begins with each turn of TURNS; NaN for the first
        of a document.
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
        cuts = _silences(turns) > self.gap
        cuts |= turns.field("new_speaker").to_numpy(zero_copy_only=False) < np.float32(self.least_certainty)
        if self.scenes is not None:
            scores = self.score(table)
            cuts |= scores >= self.scenes
            known = {field.name: turns.field(field.name) for field in TURN}
            same_scene = pa.array(1 - scores, pa.float32(), from_pandas=True)
            turns = nest([0, len(turns)], TURN, {**known, "same_scene": same_scene}).flatten()
        starts = np.flatnonzero(first | cuts)
        rows = pa.array(np.repeat(np.arange(table.num_rows), lengths)[starts])
        ids = turns.field("sentence_ids")
        first_ids = pc.take(ids.flatten(), pa.array((ids.offsets.to_numpy() - ids.offsets[0].as_py())[starts]))
        documents = table["document_id"].take(rows)
        columns = {
            field.name: table[field.name].take(rows)
            if field.name in table.column_names
            else pa.nulls(len(rows), field.type)
            for field in DIALOGUES
            if field.name != "turns"  # of the whole document; a dialogue gets its own below
        }
        columns["dialogue_id"] = pc.binary_join_element_wise(documents, first_ids.cast(pa.string()), "#")
        columns["turns"] = pa.ListArray.from_arrays(pa.array(np.r_[starts, len(turns)], pa.int32()), turns)
        return pa.table({name: columns[name] for name in DIALOGUES.names}, schema=DIALOGUES)

    def tally(self, table: pa.Table) -> dict[str, int]:
        """Count all pairs of adjacent turns of a document by the silence between them, also the pairs that the cuts
        part.
        """
        turns, offsets = unnest(table, "turns")
        if not len(turns):
            return {}
        documents = np.repeat(
            table["document_id"].combine_chunks().dictionary_encode().indices.to_numpy(), np.diff(offsets)
        )
        silences = _silences(turns)[1:][documents[1:] == documents[:-1]]
        bins = np.where(np.isnan(silences), len(_BINS) - 1, np.searchsorted(_EDGES, silences, side="right"))
        return {f"gap_s:{_BINS[index]}": count for index, count in sorted(Counter(bins.tolist()).items())}


def _silences(turns: pa.StructArray) -> np.ndarray:
    """Return the seconds between each turn and the one before; NaN where a time is missing, and for the first."""
    start: np.ndarray = turns.field("start").to_numpy(zero_copy_only=False)
    end = turns.field("end").to_numpy(zero_copy_only=False)
    return np.r_[np.nan, start[1:] - end[:-1]] if len(start) else start
