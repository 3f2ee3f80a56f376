"""Entropy, divergence and diversity of responses, as dialog-eval measures them."""

import numpy as np

from edos_dataset.arrays import Bools, Doubles, Ints
from edos_dataset.metrics.responses.words import Frequencies


def entropy(codes: Ints, rows: Ints, number: int, train: Frequencies) -> tuple[Doubles, Doubles]:
    """Return how surprising responses are to whoever knows the training text (Serban et al., 2017), in bits.

    Bigrams have the probability of both words together, not of the second after the first.

    Args:
        codes: [n-grams of all responses].
        rows: [n-grams], the response of each, 0 to `number` - 1.
        number: of responses.
        train: of the training text; what it doesn't hold is passed over.

    Returns:
        -log2 p a word and summed over each response, [responses]; NaN where no n-gram is in the training text.
    """
    probability = train.probabilities(codes)
    seen = probability > 0
    used = np.bincount(rows[seen], minlength=number)
    summed = -np.bincount(rows[seen], weights=np.log2(probability[seen]), minlength=number)
    bits = np.where(used > 0, summed, np.nan)
    return bits / np.maximum(used, 1), bits


def divergence(
    responses: Frequencies, references: Frequencies, codes: Ints, rows: Ints, number: int, countable: Bools
) -> Doubles:
    """Return the Kullback-Leibler divergence of the words that are answered from those that should be (Csáky et al.,
    2019), as a mean of log2 p/q over the n-grams of each reference, in bits; it may be below 0.

    Args:
        responses: of the n-grams of all responses, which give q.
        references: of those of all references, which give p; both over the n-grams alone that are on either side.
        codes: [n-grams of all references].
        rows: [n-grams of all references], the reference of each.
        number: of references.
        countable: [n-grams of all references], which of them count.

    Returns:
        [references]; NaN where none of the n-grams counts or is answered.
    """
    both, here, there = np.intersect1d(responses.codes, references.codes, assume_unique=True, return_indices=True)
    answered, asked = responses.counts[here], references.counts[there]
    ratios = np.log2(asked / max(1, int(asked.sum()))) - np.log2(answered / max(1, int(answered.sum())))
    places, shared = Frequencies(both, asked).places(codes)
    used = countable & shared
    found = np.bincount(rows[used], minlength=number)
    bits = np.bincount(rows[used], weights=ratios[places[used]], minlength=number)
    return np.where(found > 0, bits / np.maximum(found, 1), np.nan)


def distinct(responses: Frequencies) -> float:
    """Return the share of different ones among the n-grams of a set of responses, 0 to 1 (Li et al., 2016); NaN where
    there are none.

    Args:
        responses: of the n-grams of all responses.
    """
    return len(responses.codes) / int(responses.counts.sum()) if len(responses.codes) else float("nan")


def perplexity(log_likelihood: float, number: int) -> float:
    """Return exp(-log-likelihood / number), 1 and up: per token, or per word.

    Args:
        log_likelihood: natural logarithm, summed over everything that was predicted, ends of texts included.
        number: of tokens that were predicted; or of the words that they spell, which makes models with other
            tokenizers comparable.

    Raises:
        ValueError: there is nothing, or the likelihood is above 1.
    """
    if number < 1:
        raise ValueError(f"perplexity over {number} tokens: give the tokens that the likelihood was summed over")
    if not log_likelihood <= 0:
        raise ValueError(
            f"a log-likelihood of {log_likelihood} is none: give the sum of log-probabilities, which are at most 0"
        )
    with np.errstate(over="ignore"):
        return float(np.exp(-log_likelihood / number))
