"""The training data of the fast labeler: distinct turns of many sources, with human labels of some and a teacher's
probabilities for all.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from scipy.optimize import minimize
from scipy.sparse import csr_array

from edos_dataset.arrays import Floats, unnest
from edos_dataset.cleaning.rules import tidy_turns
from edos_dataset.crowd.splits import plain_text
from edos_dataset.labeling.models.base import Labeler
from edos_dataset.labeling.models.static import Codes, Places, StaticLabeler, count_ngrams, damping, ngrams
from edos_dataset.labels import LABELS
from edos_dataset.metrics.classification import softmax
from edos_dataset.releases.raw import Reject, read_conversations, read_extension
from edos_dataset.segmentation.turns.stage import SegmentTurns
from training.caches import kept, key_of
from training.classifier.data import CONVERSATIONS
from training.examples import report
from training.labels.sources import ACTED, COMMON, NAMES, Corpus, load_corpus
from training.labels.targets import Kind, Target
from training.near_copies import near_copies
from training.transcripts.speakers import read_cues
from training.turns.data import read_subtitles, read_text
from training.turns.labels import Script, script_lines, split_lines

SUBTITLES = {
    "edos_amt/similar_dialogs.csv": "spread",
    "edos_amt/self_labeled_dialogs.csv": "self-label",
    "edos_amt/similar_self_labeled_dialogs.csv": "spread",
}
"""The EDOS authors' extended labels: file → how the labels were made."""


class Unlabelled(NamedTuple):
    """A source of turns.

    Attributes:
        files: glob patterns of its files below the data folder.
        read: yields the turns of these files.
    """

    files: tuple[str, ...]
    read: Callable[[Path, Sequence[Path]], Iterator[str]]


def _conversations(folder: Path, files: Sequence[Path]) -> Iterator[str]:
    for path in files:
        for row in read_conversations(path, annotated=False):
            if not isinstance(row, Reject):
                yield from [row["situation"]] if row["situation"] else []
                yield from (turn["text"] for turn in row["turns"])


def _extended(folder: Path, files: Sequence[Path]) -> Iterator[str]:
    for path in files:
        for row in read_extension(path, SUBTITLES[path.relative_to(folder).as_posix()]):
            if not isinstance(row, Reject):
                yield from (turn["text"] for turn in row["turns"])


def _subtitles(folder: Path, files: Sequence[Path]) -> Iterator[str]:
    for parent in sorted({path.parent for path in files}):  # folders may contain files of the same names
        yield from _turns(read_subtitles([path for path in files if path.parent == parent]))


def _cues(folder: Path, files: Sequence[Path]) -> Iterator[str]:
    """Yield the turns of timed cues, segmented like subtitles since their speaker names are often wrong."""
    cues = {path.name: read_cues(read_text(path)).cues for path in files}
    yield from _turns(script_lines([Script(name, name, [[cue] for cue in own]) for name, own in cues.items() if own]))


def _turns(lines: pa.Table) -> Iterator[str]:
    turns, _ = unnest(SegmentTurns()(split_lines(lines)[1]), "turns")
    yield from tidy_turns(turns.field("text")).to_pylist()


UNLABELLED = {
    "conversations": Unlabelled(CONVERSATIONS, _conversations),
    "extended": Unlabelled(tuple(SUBTITLES), _extended),
    "frasier": Unlabelled(("frasier/subtitles/0[1-5]/*.srt",), _subtitles),
    "friends": Unlabelled(("noisy_srt/friends/**/[Ff]riends.[Ss]0[12][Ee]*.srt",), _subtitles),
    "sitcoms": Unlabelled(("sitcom_speakers/*.merged",), _cues),
}
"""Name → source. Of series whose later seasons evaluate labelers (`evaluation/judged_turns.py`), only the first
seasons.
"""


def read_unlabelled(name: str, folder: Path) -> tuple[list[str], list[Path]]:
    """Return the turns of a source in `UNLABELLED`, in the order of its files, and the files.

    Raises:
        ValueError: none of its files exists.
    """
    source = UNLABELLED[name]
    files = [path for pattern in source.files for path in sorted(folder.glob(pattern)) if path.is_file()]
    if not files:
        raise ValueError(f"{folder} has nothing of the source {name!r}: expected {', '.join(source.files)}")
    return [*source.read(folder, files)], files


_BLOCK = 10_000  # texts that the teacher labels between two writes to the cache


@dataclass
class Texts:
    """Distinct turns, one per row.

    Attributes:
        texts: the turns as first read.
        weights: weights in the loss.
        parts: weight of human labels in the targets, 0 to 1; the rest is the teacher's.
        people: row → float32 [41], the sum of the human labels of the turn.
        counts: how often a turn was read.
        sources: source → the number of its turns (`turns`), and how many of them occurred first in it (`texts`), have
            usable human labels (`labelled`), or were left out since a held-out text has the same words (`held_out`).
    """

    texts: list[str] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    parts: list[float] = field(default_factory=list)
    people: dict[int, Floats] = field(default_factory=dict)
    counts: list[int] = field(default_factory=list)
    sources: dict[str, dict[str, int]] = field(default_factory=dict)


def read_sources(
    sources: Mapping[str, float], folder: Path, cache: Path | None, short: int
) -> tuple[Corpus, dict[str, list[tuple[str, Target | None]]]]:
    """Read sources of labelled turns (`labels.sources.NAMES`) and of unlabelled turns (`UNLABELLED`).

    Args:
        sources: names of the sources.
        folder: the data folder.
        cache: folder in which embeddings are cached.
        short: maximum number of words of held-out texts that may occur in training.

    Returns:
        The corpus of the labelled sources, with the files of all sources; and source → turns with their human labels.

    Raises:
        ValueError: a source is unknown, or its files are missing.
        ValueError: a source is unknown, or its files are missing.
    """
    if strange := sorted(set(sources) - {*NAMES, *UNLABELLED}):
        raise ValueError(f"sources: {strange[0]!r} is unknown; there are {', '.join([*NAMES, *UNLABELLED])}")
    corpus = load_corpus({name: 1.0 for name in sources if name in NAMES}, folder, cache, short)
    turns: dict[str, list[tuple[str, Target | None]]] = {}
    for name in sources:
        if name in UNLABELLED:
            texts, files = read_unlabelled(name, folder)
            turns[name] = [(text, None) for text in _unseen(texts, corpus, short)]
            corpus.files.update({path.relative_to(folder).as_posix(): path for path in files})
        else:
            turns[name] = [pair for each in corpus.train[name] for pair in zip(each.turns, each.targets, strict=True)]
        report(f"{name}: {len(turns[name])} turns")
    return corpus, turns


def _unseen(texts: Sequence[str], corpus: Corpus, short: int) -> list[str]:
    """Return the texts that are not near-duplicates of held-out ones, which may be the same films segmented
    differently.
    """
    held = [text for texts in corpus.apart.values() for text in texts]
    cut = [text for name in ACTED for text in corpus.apart.get(name, ())]
    distinct = list(dict.fromkeys(texts))
    copies = set(itertools.compress(distinct, near_copies(distinct, held, short, cut=cut)))
    return [text for text in texts if text not in copies]


def gather(
    turns: Mapping[str, Sequence[tuple[str, Target | None]]],
    sources: Mapping[str, float],
    labels: Mapping[str, float],
    held: set[str],
) -> Texts:
    """Return the distinct turns of sources, in their order. Case and spaces are ignored, but punctuation is not.

    Args:
        turns: source → turns with their human labels, of which only distributions over our labels are used.
        sources: source → weight of a turn; of several, the highest.
        labels: source → weight of human labels in the targets; of several, the highest.
        held: texts (normalised by `plain_text`) that no turn may have, except the hand-labelled frequent turns.
    """
    found = Texts()
    rows: dict[str, int] = {}
    for name, given in turns.items():
        counts = found.sources[name] = dict.fromkeys(("turns", "texts", "labelled", "held_out"), 0)
        for text, target in given:
            words = plain_text(text)
            counts["turns"] += 1
            if not words or (words in held and name != COMMON):
                counts["held_out"] += bool(words)
                continue
            row = rows.setdefault(" ".join(text.lower().split()), len(rows))
            if row == len(found.texts):
                _append(found, text)
                counts["texts"] += 1
            found.counts[row] += 1
            found.weights[row] = max(found.weights[row], sources[name])
            if target is not None and target.kind == Kind.SHARES and labels.get(name):
                counts["labelled"] += 1
                found.parts[row] = max(found.parts[row], labels[name])
                found.people[row] = found.people.get(row, 0) + target.values
    return found


def _append(found: Texts, text: str) -> None:
    found.texts.append(text)
    found.weights.append(0.0)
    found.parts.append(0.0)
    found.counts.append(0)


def words_held_out(corpus: Corpus, short: int) -> set[str]:
    """Return the normalised held-out texts of more than `short` words."""
    texts = (plain_text(text) for part in corpus.apart.values() for text in part)
    return {words for words in texts if len(words.split()) > short}


def sampled(found: Texts, most: int, seed: int) -> Texts:
    """Return all texts with human labels and at most `most` of the others, drawn with `seed`."""
    bare = np.array([row for row in range(len(found.texts)) if row not in found.people], np.int64)
    drawn = np.random.default_rng(seed).permutation(bare)[:most]
    rows = sorted([*found.people, *drawn.tolist()])
    return Texts(
        [found.texts[row] for row in rows],
        [found.weights[row] for row in rows],
        [found.parts[row] for row in rows],
        {place: found.people[row] for place, row in enumerate(rows) if row in found.people},
        [found.counts[row] for row in rows],
        found.sources,
    )


def targets_of(found: Texts, answers: Floats, frequency: float) -> Floats:
    """Return the targets of the fit: float32 [n, 41], rows that sum to the weights of the texts.

    Args:
        found: the texts.
        answers: float32 [n, 41], the teacher's probabilities.
        frequency: a turn that was read n times weighs 1 + frequency * log(n) times as much as one read once.
    """
    weights = np.array(found.weights) * (1 + frequency * np.log(found.counts))
    targets = answers.astype(np.float32)
    for row, values in found.people.items():
        targets[row] = (1 - found.parts[row]) * targets[row] + found.parts[row] * values / values.sum()
    fitted: Floats = targets * weights[:, None].astype(np.float32)
    return fitted


def ask(teacher: Labeler, texts: Sequence[str], cache: Path | None) -> Floats:
    """Return the teacher's probabilities of texts, without histories, float32 [n, 41]. They are cached in blocks, so
    that an interrupted call can be resumed.
    """
    parts = [np.zeros((0, len(LABELS)), np.float32)]
    for start in range(0, len(texts), _BLOCK):
        block = texts[start : start + _BLOCK]
        path = cache and cache / f"{key_of([teacher.identity, *block])}.npy"
        parts.append(kept(path, len(block), partial(teacher.predict_proba, [[text] for text in block])))
        report(f"{teacher.identity} has labelled {start + len(block)} of {len(texts)} texts")
    return np.concatenate(parts)


_REPORT = 20  # steps between two progress lines
_CURVATURE = 0.1  # approximate curvature of the cross-entropy in one logit: p (1 - p)


def soften(probabilities: Floats, temperature: float) -> Floats:
    """Return probabilities at a temperature."""
    return softmax(np.log(np.maximum(probabilities, 1e-9)), temperature).astype(np.float32)


def choose_keys(texts: Sequence[str], least: int, most: int, kinds: Sequence[str]) -> Codes:
    """Return the ascending hashes of the most frequent n-grams of some kinds: those in at least `least` texts, at most
    `most` of them; of equally frequent ones, the smaller hashes.
    """
    seen = []
    for codes, offsets in ngrams(texts, kinds=kinds):
        rows = np.repeat(np.arange(len(texts), dtype=np.uint64), np.diff(offsets))
        seen.append(np.unique(codes.astype(np.uint64) << np.uint64(32) | rows) >> np.uint64(32))
    codes, counts = np.unique(np.concatenate(seen), return_counts=True)
    order = np.argsort(-counts, kind="stable")[:most]
    return np.sort(codes[order[counts[order] >= least]]).astype(np.uint32)


def bags_of(texts: Sequence[str], keys: Codes, power: float, kinds: Sequence[str]) -> csr_array:
    """Return the damped n-gram counts of texts, float32 [texts, keys]."""
    bags = count_ngrams(texts, Places(keys), kinds=kinds)
    return csr_array(sum(bags[1:], bags[0]).multiply(damping(bags, power)[:, None]), dtype=np.float32)


def fit(bags: csr_array, targets: Floats, l2: float, iterations: int) -> tuple[Floats, Floats]:
    """Fit a softmax regression by L-BFGS, starting from zero; return table [n-grams, 41] and bias [41].

    The rows of the targets sum to the weights of the examples. The loss is the cross-entropy divided by the sum of the
    weights, plus l2 / 2 times the sum of the squared table; the bias is not penalised. Each row is scaled by an
    estimate of its curvature: otherwise the few frequent n-grams would dominate, and the rare ones, which are the most
    informative, would hardly move in 100 steps.
    """
    size, labels = bags.shape[1], targets.shape[1]
    weights = targets.sum(axis=1, keepdims=True)
    total, transposed = float(weights.sum()), csr_array(bags.T)
    curvature = _CURVATURE * np.asarray(bags.multiply(bags).mean(axis=0)).ravel() + l2
    units = (1 / np.sqrt(np.r_[curvature, 1])).astype(np.float32)[:, None]
    done = itertools.count(1)

    def loss(point: Any) -> tuple[float, Any]:  # noqa: ANN401 - scipy has no types
        table, bias = np.split(point.astype(np.float32).reshape(size + 1, labels) * units, [size])
        logits = bags @ table + bias
        logits -= logits.max(axis=1, keepdims=True)
        probabilities = np.exp(logits)
        sums = probabilities.sum(axis=1, keepdims=True)
        value = float((targets * (np.log(sums) - logits)).sum(dtype=np.float64)) / total + l2 / 2 * float(
            np.square(table, dtype=np.float64).sum()
        )
        slope = (probabilities / sums * weights - targets) / np.float32(total)
        gradient = np.vstack([transposed @ slope + np.float32(l2) * table, slope.sum(axis=0, keepdims=True)])
        if (number := next(done)) % _REPORT == 0:
            report(f"  {number} steps, loss {value:.4f}")
        return value, (gradient * units).ravel().astype(np.float64)

    start = np.zeros((size + 1) * labels)
    minimum = minimize(
        loss,
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": iterations, "maxcor": 8, "ftol": 1e-7, "gtol": 1e-7},
    )
    table, bias = np.split(minimum.x.astype(np.float32).reshape(size + 1, labels) * units, [size])
    return table, bias[0]


def rounded(keys: Codes, table: Floats, bias: Floats, power: float, kinds: Sequence[str]) -> StaticLabeler:
    """Return the labeler with its table rounded to 8 bits, with one scale per row."""
    scale = np.maximum(np.abs(table).max(axis=1), 1e-12) / 127
    narrow = np.rint(table / scale[:, None]).astype(np.int8)
    return StaticLabeler(keys, narrow, scale.astype(np.float32), bias, power, kinds=tuple(kinds))
