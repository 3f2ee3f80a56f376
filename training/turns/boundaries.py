"""Labelled documents, and the boundaries between their sentences."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from edos_dataset.arrays import Bools, Floats, Ints, unnest
from edos_dataset.segmentation.turns.net import EVIDENCE, OF_TIME, UNKNOWN_ROWS
from edos_dataset.segmentation.turns.scorers import load_scorer
from training.turns.labels import LABELLED

UNKNOWN = -1

OF_BLOCKS = np.array([name.startswith("block.") for name in EVIDENCE])
"""Which pieces of evidence come from blocks, bool [len(EVIDENCE)]."""

LAID_OUT = ("film_scripts",)
"""Corpora whose times and blocks were laid out by rule, and say nothing."""


def read_labelled(paths: Sequence[Path]) -> pa.Table:
    """Read documents that `data.py` wrote, in the order of the paths.

    Returns:
        SENTENCES with the columns `same_turn` (list of int8), `label_confidence` (list of float32) and `corpus`, one
        document per row.

    Raises:
        ValueError: a file lacks one of these columns.
    """
    tables = []
    for path in paths:
        table = pq.read_table(path)
        missing = [name for name in LABELLED.names if name not in table.column_names]
        if missing:
            raise ValueError(
                f"{path} has no column {missing[0]!r}: give documents with labelled boundaries, as "
                "training/turns/data.py writes them"
            )
        tables.append(table.select(LABELLED.names))
    return pa.concat_tables(tables, promote_options="default")


def score_with(names: Iterable[str], table: pa.Table) -> dict[str, Floats]:
    """Return the scores of the package's named scorers: float32 [sentences], NaN for the first sentence of each
    document.
    """
    return {name: np.asarray(load_scorer(name).same_turn(table), np.float32) for name in names}


@dataclass(frozen=True)
class Boundaries:
    """Labelled boundaries, document after document. The first sentence of a document also has a boundary, with an
    unknown label.

    Attributes:
        same: int8 [n], 1 same turn, 0 new turn, -1 unknown.
        group: int64 [n], number of the document; confidence intervals resample documents.
        confidence: float32 [n], 0 to 1, the confidence of the label.
    """

    same: npt.NDArray[np.int8]
    group: Ints
    confidence: Floats

    @classmethod
    def of(cls, table: pa.Table) -> "Boundaries":
        """Read the boundaries of documents with the columns `same_turn` and `label_confidence`, lists of one value per
        sentence.
        """
        same, offsets = unnest(table, "same_turn")
        confidence, _ = unnest(table, "label_confidence")
        return cls(
            same.to_numpy(),
            np.repeat(np.arange(table.num_rows), np.diff(offsets)),
            confidence.to_numpy(zero_copy_only=False),
        )

    def __getitem__(self, rows: Bools | Ints) -> "Boundaries":
        """Return the selected boundaries."""
        return Boundaries(self.same[rows], self.group[rows], self.confidence[rows])

    def __len__(self) -> int:
        """Return the number of boundaries, labelled or not."""
        return len(self.same)

    def known(self) -> Bools:
        """Return which boundaries have a label."""
        known: Bools = self.same != UNKNOWN
        return known

    def at_least(self, confidence: float) -> "Boundaries":
        """Return the same boundaries, with labels below a confidence set to unknown."""
        return Boundaries(
            np.where(self.confidence >= np.float32(confidence), self.same, UNKNOWN).astype(np.int8),
            self.group,
            self.confidence,
        )


VARIANTS = ("_dashes", "_plain")
"""Suffixes of corpora that contain the documents of another corpus in another form."""


def weigh(table: pa.Table, chosen: Bools | None = None) -> tuple[npt.NDArray[np.int8], Floats]:
    """Return the labels of boundaries and their weights, [sentences].

    Args:
        table: SENTENCES with `same_turn` (1, 0, or -1 if unknown) and `label_confidence` (0 to 1, the weight).
        chosen: [sentences], the boundaries to train on, by default all; unlabelled ones always have weight 0.

    Raises:
        ValueError: the weighted boundaries are all of one class.
    """
    boundaries = Boundaries.of(table)
    counts = boundaries.known() if chosen is None else boundaries.known() & chosen
    weight = np.where(counts, boundaries.confidence, 0).astype(np.float32)
    if len(np.unique(boundaries.same[weight > 0])) < 2:
        raise ValueError(
            "the chosen boundaries must hold some where the turn continues and some where a new one begins; there is "
            "one kind at most"
        )
    return boundaries.same, weight


def forms_of(table: pa.Table) -> dict[str, list[list[int]]]:
    """Return the documents by corpus, each as the rows of its forms."""
    forms: dict[str, dict[str, list[int]]] = {}
    for row, (corpus, document) in enumerate(
        zip(table["corpus"].to_pylist(), table["document_id"].to_pylist(), strict=True)
    ):
        base = next((corpus.removesuffix(end) for end in VARIANTS if corpus.endswith(end)), corpus)
        forms.setdefault(base, {}).setdefault(document, []).append(row)
    return {corpus: list(documents.values()) for corpus, documents in forms.items()}


def draw_pass(forms: Mapping[str, list[list[int]]], share: Mapping[str, float], rng: np.random.Generator) -> list[int]:
    """Draw the documents of one pass, in order.

    Args:
        forms: from `forms_of`; of each selected document, one form is drawn.
        share: corpus → fraction of its documents, if not all.
        rng: random generator.
    """
    chosen: list[int] = []
    for corpus, documents in forms.items():
        taken = rng.permutation(len(documents))[: round(share.get(corpus, 1.0) * len(documents))]
        chosen += [documents[place][rng.integers(len(documents[place]))] for place in taken]
    return [chosen[place] for place in rng.permutation(len(chosen))]


def hide(evidence: Ints, share: float, rng: np.random.Generator) -> Ints:
    """Hide one kind of evidence in some documents: the blocks, or all evidence from times.

    Args:
        evidence: [sentences, len(EVIDENCE)] of one document; returned unchanged if nothing is hidden.
        share: fraction of the documents in which evidence is hidden.
        rng: random generator.
    """
    if rng.random() >= share:
        return evidence
    return np.where(OF_BLOCKS if rng.random() < 0.5 else OF_TIME, UNKNOWN_ROWS, evidence)


def hide_layout(evidence: Ints, rng: np.random.Generator) -> Ints:
    """Hide all evidence from times, and in half of the documents that from blocks, of a document that was laid out by
    rule; arguments and result as for `hide`.
    """
    return np.where(OF_TIME | OF_BLOCKS if rng.random() < 0.5 else OF_TIME, UNKNOWN_ROWS, evidence)
