"""What learners of turns share: labels and their weights, the documents of a pass, and evidence that is hidden."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from edos_dataset.arrays import Bools, Floats, Ints
from edos_dataset.segmentation.turns.evidence import UNKNOWN
from edos_dataset.segmentation.turns.net import BINS, EVIDENCE, PLACES
from training.turns.seams import Seams

VARIANTS = ("_dashes", "_plain")
"""Ends of the names of corpora that hold the documents of another one in another form."""


def weigh(table: pa.Table, chosen: Bools | None = None) -> tuple[npt.NDArray[np.int8], Floats]:
    """Return the labels of seams and how much each counts, [sentences].

    Args:
        table: SENTENCES with `same_turn` (1, 0, or -1 for not known) and `label_confidence` (0 to 1, the weight).
        chosen: [sentences], the seams to learn from, by default all; those without a label weigh nothing whatever it
            says.

    Raises:
        ValueError: the seams that count are not of both classes.
    """
    seams = Seams.of(table)
    counts = seams.known() if chosen is None else seams.known() & chosen
    weight = np.where(counts, seams.confidence, 0).astype(np.float32)
    if len(np.unique(seams.same[weight > 0])) < 2:
        raise ValueError(
            "the chosen seams must hold some where the turn goes on and some where a new one begins; there is one kind "
            "at most"
        )
    return seams.same, weight


def forms_of(table: pa.Table) -> dict[str, list[list[int]]]:
    """Return by corpus the documents, each as the rows of its forms."""
    forms: dict[str, dict[str, list[int]]] = {}
    for row, (corpus, document) in enumerate(
        zip(table["corpus"].to_pylist(), table["document_id"].to_pylist(), strict=True)
    ):
        base = next((corpus.removesuffix(end) for end in VARIANTS if corpus.endswith(end)), corpus)
        forms.setdefault(base, {}).setdefault(document, []).append(row)
    return {corpus: list(documents.values()) for corpus, documents in forms.items()}


def draw_pass(forms: Mapping[str, list[list[int]]], share: Mapping[str, float], rng: np.random.Generator) -> list[int]:
    """Draw the documents of one pass, in the order in which they come.

    Args:
        forms: what `forms_of` gives; of each document that is taken, one form is drawn.
        share: corpus → share of its documents, where not all.
        rng: draws.
    """
    chosen: list[int] = []
    for corpus, documents in forms.items():
        taken = rng.permutation(len(documents))[: round(share.get(corpus, 1.0) * len(documents))]
        chosen += [documents[place][rng.integers(len(documents[place]))] for place in taken]
    return [chosen[place] for place in rng.permutation(len(chosen))]


def hide(evidence: Ints, share: float, rng: np.random.Generator) -> Ints:
    """Make one kind of evidence unknown in some documents: blocks, or all that times tell.

    Args:
        evidence: [sentences, len(EVIDENCE)] of one document; itself returned where nothing is hidden.
        share: of the documents in which something is.
        rng: draws.
    """
    if rng.random() >= share:
        return evidence
    kinds = ("block",) if rng.random() < 0.5 else ("timing", "density")
    hidden = evidence.copy()
    for column, name in enumerate(EVIDENCE):
        if name.split(".")[0] in kinds:
            hidden[:, column] = PLACES[UNKNOWN] + BINS * column
    return hidden
