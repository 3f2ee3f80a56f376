"""What the fast labeler learns from beside the weak labeler's examples: further turns, and a teacher's answers."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from edos_dataset.arrays import Floats
from edos_dataset.crowd.splits import plain_text
from edos_dataset.labeling.models.labelers import Labeler
from edos_dataset.labels import LABELS
from edos_dataset.releases.conversations import read_conversations
from edos_dataset.releases.raw import Reject, read_extension
from training.caches import kept, key_of
from training.classifier.sources import CONVERSATIONS
from training.examples import report

SUBTITLES = {
    "edos_amt/similar_dialogs.csv": "spread",
    "edos_amt/self_labeled_dialogs.csv": "self-label",
    "edos_amt/similar_self_labeled_dialogs.csv": "spread",
}
"""The EDOS authors' extended labels: file → how its labels were found."""


def read_unlabelled(folder: Path, held: set[str], count: int, seed: int) -> list[str]:
    """Return distinct turns of conversations and subtitles, in an order drawn by `seed`; none has the words of a text
    in `held` (as of `plain_text`).
    """
    texts = {plain_text(turn): turn for turn in _turns(folder)}
    fresh = [text for words, text in texts.items() if words and words not in held]
    order = np.random.default_rng(seed).permutation(len(fresh))[:count]
    return [fresh[row] for row in order]


def _turns(folder: Path) -> Iterator[str]:
    """Yield the situations and turns of all conversations, then the turns of the subtitles."""
    for name in CONVERSATIONS:
        for row in read_conversations(folder / name, annotated=False):
            if not isinstance(row, Reject):
                yield from [row["situation"]] if row["situation"] else []
                yield from (turn["text"] for turn in row["turns"])
    for name, method in SUBTITLES.items():
        for row in read_extension(folder / name, method):
            if not isinstance(row, Reject):
                yield from (turn["text"] for turn in row["turns"])


def ask(teacher: Labeler, texts: Sequence[str], cache: Path | None) -> Floats:
    """Return the teacher's probabilities of texts, float32 [n, 41], from the cache if they are there."""

    def answer() -> Floats:
        parts = [np.zeros((0, len(LABELS)), np.float32)]
        for start in range(0, len(texts), 10_000):
            parts.append(teacher.predict_proba([[text] for text in texts[start : start + 10_000]]))
            report(f"{teacher.identity} has labelled {start + len(parts[-1])} of {len(texts)} texts")
        return np.concatenate(parts)

    return kept(cache and cache / f"{key_of([teacher.identity, *texts])}.npy", len(texts), answer)
