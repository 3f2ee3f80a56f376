"""The 17 metrics of dialog-eval, by which the Gutenberg paper evaluates responses
(https://github.com/ricsinaruto/dialog-eval).

The figures equal those of that code, oddities included; each module of this package documents its own. Texts are
converted to numbers first, so every metric is a few array operations over all responses.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from edos_dataset.arrays import Bools, Doubles, Ints
from edos_dataset.metrics.responses.diversity import distinct, divergence, entropy
from edos_dataset.metrics.responses.similarity import Form, averages, cosines, extrema_and_greedy, matches, scores
from edos_dataset.metrics.responses.words import UNKNOWN, Frequencies, Texts, Words, cut, new_lexicon

Z = 1.97
"""Half the width of a 95 % interval in standard errors, as in dialog-eval; for the normal distribution it is 1.96."""


class Figure(TypedDict):
    """A metric of a set of responses.

    Attributes:
        mean: mean over the responses that have a value; None if none has.
        std: population standard deviation; 0 for a single value.
        confidence: mean ± this is the 95 % interval.
        n: number of values; 1 for a metric of the set as a whole.
    """

    mean: float | None
    std: float | None
    confidence: float | None
    n: int


def summarise(values: Doubles | float) -> Figure:
    """Return the figure of values, [responses], ignoring NaN, or of a single value."""
    there = np.atleast_1d(np.asarray(values, dtype=np.float64))
    there = there[~np.isnan(there)]
    if not len(there):
        return {"mean": None, "std": None, "confidence": None, "n": 0}
    std = float(there.std())
    return {"mean": float(there.mean()), "std": std, "confidence": Z * std / len(there) ** 0.5, "n": len(there)}


NEEDS: dict[str, tuple[str, ...]] = {
    "length": (),
    "per-unigram-entropy": ("train",),
    "per-bigram-entropy": ("train",),
    "utterance-unigram": ("train",),
    "utterance-bigram": ("train",),
    "unigram-kl-div": ("references",),
    "bigram-kl-div": ("references",),
    "embedding-average": ("references", "train", "vectors"),
    "embedding-extrema": ("references", "vectors"),
    "embedding-greedy": ("references", "vectors"),
    "coherence": ("contexts", "train", "vectors"),
    "distinct-1": (),
    "distinct-2": (),
    "BLEU-1": ("references",),
    "BLEU-2": ("references",),
    "BLEU-3": ("references",),
    "BLEU-4": ("references",),
}
"""Metric → the inputs that it needs, in the order of dialog-eval."""

BLEU = tuple(f"BLEU-{order}" for order in range(1, 5))
OLD_BLEU = tuple(f"BLEU-{order}-nltk-3.5" for order in range(1, 5))
"""BLEU of NLTK up to 3.5; `BLEU` is that of NLTK 3.6 and later."""


def evaluate(
    responses: Sequence[str],
    references: Sequence[str] | None = None,
    contexts: Sequence[str] | None = None,
    words: Words | None = None,
) -> dict[str, Figure]:
    """Return the figures of all metrics that the given inputs allow; see `measure`."""
    return {name: summarise(values) for name, values in measure(responses, references, contexts, words).items()}


def measure(
    responses: Sequence[str],
    references: Sequence[str] | None = None,
    contexts: Sequence[str] | None = None,
    words: Words | None = None,
) -> dict[str, Doubles]:
    """Measure responses whose words are separated by white space.

    Args:
        responses: one per context.
        references: the true responses, as many.
        contexts: the contexts that they answer, as many.
        words: vocabulary, vectors and probabilities.

    Returns:
        Values of those of `NEEDS` and `OLD_BLEU` that can be measured: [responses], NaN where a response has no value;
        `distinct-n`, of the set as a whole, is [1].

    Raises:
        ValueError: references or contexts are not as many as responses.
    """
    for name, others in (("references", references), ("contexts", contexts)):
        if others is not None and len(others) != len(responses):
            raise ValueError(f"{len(responses)} responses but {len(others)} {name}: give one for each response")
    given = _Given.of(responses, references, contexts, words or Words())
    found = {"length": given.responses.lengths.astype(np.float64), **_of_words(given)}
    if given.references is not None:
        found |= _bleu(given.responses, given.references)
    if given.words.vectors is not None:
        found |= _by_vectors(given)
    return {name: found[name] for name in (*NEEDS, *OLD_BLEU) if name in found}


@dataclass(frozen=True)
class _Given:
    """The inputs as numbers: texts over a lexicon of their own, whose words are in `words` or unknown."""

    words: Words
    shared: Ints  # [lexicon], the number of each word in `words`
    known: Bools  # [lexicon], words of the vocabulary
    countable: Bools  # [lexicon], words that count in a divergence
    responses: Texts
    references: Texts | None
    contexts: Texts | None

    @classmethod
    def of(
        cls, responses: Sequence[str], references: Sequence[str] | None, contexts: Sequence[str] | None, words: Words
    ) -> "_Given":
        lexicon = new_lexicon()
        given = cut(responses, lexicon)
        true = None if references is None else cut(references, lexicon)
        asked = None if contexts is None else cut(contexts, lexicon)
        shared, known = words.find(list(lexicon))
        countable = known.copy()
        if UNKNOWN in lexicon:
            countable[lexicon[UNKNOWN]] = True
        return cls(words, shared, known, countable, given, true, asked)

    def words_of(self, texts: Texts) -> tuple[Ints, Ints]:
        """Return the number and the row of every word of texts."""
        return self.shared[texts.ids], texts.rows

    def bigrams_of(self, texts: Texts) -> tuple[Ints, Ints]:
        """Return the number and the row of every bigram of texts."""
        return self.words.bigram_codes(self.shared[texts.ids], texts.pairs), texts.rows[texts.pairs]


def _of_words(given: _Given) -> dict[str, Doubles]:
    texts, true = given.responses, given.references
    found: dict[str, Doubles] = {}
    kinds = (
        ("unigram", "distinct-1", given.words_of, given.words.unigrams),
        ("bigram", "distinct-2", given.bigrams_of, given.words.bigrams),
    )
    for name, diversity, grams_of, train in kinds:
        codes, rows = grams_of(texts)
        frequencies = Frequencies.of(codes)
        found[diversity] = np.array([distinct(frequencies)])
        if train is not None:
            found[f"per-{name}-entropy"], found[f"utterance-{name}"] = entropy(codes, rows, len(texts), train)
        if true is not None:
            asked, where = grams_of(true)
            # dialog-eval looks up the first word literally, so it skips unknown words unless they are spelt `<unk>`,
            # although `<unk>` has a probability
            countable = given.countable[true.ids if name == "unigram" else true.ids[true.pairs]]
            found[f"{name}-kl-div"] = divergence(frequencies, Frequencies.of(asked), asked, where, len(true), countable)
    return found


def _bleu(responses: Texts, references: Texts) -> dict[str, Doubles]:
    counts = matches(responses, references)
    found: dict[str, Doubles] = {}
    forms: tuple[tuple[Form, tuple[str, ...]], ...] = (("nltk-3.10", BLEU), ("nltk-3.5", OLD_BLEU))
    for form, names in forms:
        columns = scores(*counts, responses.lengths, references.lengths, form).T
        found |= dict(zip(names, columns, strict=True))
    return found


def _by_vectors(given: _Given) -> dict[str, Doubles]:
    shared, known, vectors = given.shared, given.known, given.words.vectors
    assert vectors is not None
    local = np.zeros((len(shared), vectors.shape[1]))
    local[known] = vectors[shared[known]]
    found: dict[str, Doubles] = {}
    if given.references is not None:
        extrema, greedy = extrema_and_greedy(given.responses, given.references, local)
        found = {"embedding-extrema": extrema, "embedding-greedy": greedy}
    if given.words.unigrams is None:
        return found
    probabilities = given.words.unigrams.probabilities(shared)
    mean = averages(given.responses, local, known, probabilities)
    for name, others in (("embedding-average", given.references), ("coherence", given.contexts)):
        if others is not None:
            found[name] = cosines(mean, averages(others, local, known, probabilities))
    return found
