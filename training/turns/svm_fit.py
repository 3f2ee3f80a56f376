"""Training of the linear SVM of turn boundaries: hinge loss over hashed features, averaged stochastic gradient descent,
then calibration and rounding to 8 bits.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression, SGDClassifier

from edos_dataset.arrays import Bools, Floats, Ints, unnest
from edos_dataset.segmentation.turns.evidence import read
from edos_dataset.segmentation.turns.svm import Boundaries, FeatureSettings, SvmScorer, products, read_boundaries

CHUNK = 4096
"""Number of boundaries whose features are in memory at a time: about 30 MB with all products."""


@dataclass(frozen=True)
class FitSettings:
    """The settings of the training.

    Args:
        features: the features; their genres are taken from the data.
        alpha: weight of the L2 penalty.
        rate: constant step of the gradient descent.
        epochs: passes over the data.
        held_out: every n-th film is held out for the calibration.
        seed: seed of the order of the boundaries.
    """

    features: FeatureSettings = field(default_factory=FeatureSettings)
    alpha: float = 1e-6
    rate: float = 2e-4
    epochs: int = 4
    held_out: int = 10
    seed: int = 0


def fit_svm(table: pa.Table, chosen: Bools, settings: FitSettings) -> SvmScorer:
    """Train a scorer on labelled documents.

    Args:
        table: SENTENCES with `same_turn` (1, 0, or -1 if unknown) and `label_confidence` (0 to 1, the weight of a
            boundary).
        chosen: [sentences], the boundaries to train on; unlabelled ones are ignored.
        settings: the settings.

    Raises:
        ValueError: the chosen boundaries are too few to train and to calibrate.
    """
    features = replace(settings.features, genres=_genres(table))
    boundaries = read_boundaries(read(table, features.language, rounded=False), features)
    label = table["same_turn"].combine_chunks().flatten().to_numpy()
    weight = table["label_confidence"].combine_chunks().flatten().to_numpy()
    usable = chosen & (label >= 0) & ~boundaries.first & (weight > 0)
    kept = _held_out(table, settings.held_out)
    learned, held = np.flatnonzero(usable & ~kept), np.flatnonzero(usable & kept)
    if min(len(np.unique(label[part])) for part in (learned, held)) < 2:
        raise ValueError(
            "learning and calibration both need boundaries where the turn continues and some where a new one begins; "
            f"of the chosen boundaries {len(learned)} and {len(held)} are theirs, of one kind at most in one of "
            "the two; choose more films"
        )
    scorer = _rounded(_descend(boundaries, label, weight, learned, settings), features)
    slope, bias = _platt(scorer.margins(boundaries)[held], label[held], weight[held])
    return replace(scorer, slope=slope, bias=bias)


def _held_out(table: pa.Table, every: int) -> Bools:
    """Return which sentences belong to every n-th film, in all its versions, [sentences]."""
    film = table["film"].combine_chunks().dictionary_encode().indices.to_numpy()
    return np.repeat(film % every == 0, np.diff(unnest(table, "sentences")[1]))


def _genres(table: pa.Table) -> tuple[str, ...]:
    return tuple(sorted({genre for source in table["source"].to_pylist() for genre in source["genres"] or ()}))


def _descend(
    boundaries: Boundaries,
    label: npt.NDArray[np.int8],
    weight: Floats,
    chosen: Ints,
    settings: FitSettings,
) -> SGDClassifier:
    learner = SGDClassifier(
        loss="hinge",
        alpha=settings.alpha,
        learning_rate="constant",
        eta0=settings.rate,
        average=True,
        random_state=settings.seed,
        shuffle=True,
    )
    generator = np.random.default_rng(settings.seed)
    for _ in range(settings.epochs):
        for rows in _shuffled_chunks(chosen, generator):
            learner.partial_fit(
                feature_rows(boundaries, settings.features, rows),
                label[rows],
                classes=[0, 1],
                sample_weight=weight[rows],
            )
    return learner


def _shuffled_chunks(chosen: Ints, generator: np.random.Generator) -> Iterator[Ints]:
    pieces = np.array_split(
        chosen, max(len(chosen) // 256, 1)
    )  # runs of neighbours are cheap to slice; many of them, mixed, make a representative chunk
    order = generator.permutation(len(pieces))
    for start in range(0, len(order), CHUNK // 256):
        yield np.sort(np.concatenate([pieces[piece] for piece in order[start : start + CHUNK // 256]]))


def feature_rows(boundaries: Boundaries, settings: FeatureSettings, rows: Ints) -> csr_matrix:
    """Return the features of chosen boundaries (ascending), float32 [rows, 2 ** bits]; repeated features have repeated
    entries.
    """
    blocks = list(products(boundaries, settings, rows))
    counts = np.zeros(len(rows), np.int64)
    for codes, offsets in blocks:
        counts += len(codes) if offsets is None else np.diff(offsets)
    starts = np.r_[0, np.cumsum(counts)]
    indices = np.empty(starts[-1], np.int32)
    place = starts[:-1].copy()
    for codes, offsets in blocks:
        if offsets is None:
            indices[place + np.arange(len(codes))[:, None]] = codes
            place += len(codes)
        else:
            indices[np.arange(len(codes)) + np.repeat(place - offsets[:-1], np.diff(offsets))] = codes
            place += np.diff(offsets)
    return csr_matrix((np.ones(len(indices), np.float32), indices, starts), shape=(len(rows), 1 << settings.bits))


def _rounded(learner: SGDClassifier, features: FeatureSettings) -> SvmScorer:
    """Return the trained weights as integers, -127 to 127."""
    raw = learner.coef_.ravel()
    step = np.abs(raw).max() / 127
    return SvmScorer(np.rint(raw / step).astype(np.int8), float(step), float(learner.intercept_[0]), features)


def _platt(sums: Ints, label: npt.NDArray[np.int8], weight: Floats) -> tuple[float, float]:
    """Return slope and bias of the logistic curve through the held-out margins (Platt, 1999)."""
    scale = float(np.abs(sums).mean()) or 1.0
    curve = LogisticRegression(C=1e6).fit(sums[:, None] / scale, label, sample_weight=weight)
    return float(curve.coef_[0, 0] / scale), float(curve.intercept_[0])
