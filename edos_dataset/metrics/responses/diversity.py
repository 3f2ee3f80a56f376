"""Diversity of responses: entropy, divergence and distinct n-grams as in dialog-eval, and generic responses.

Generic and frequent responses are found by their words without case and punctuation; a text of punctuation alone is
compared as it is.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from edos_dataset.arrays import Bools, Doubles, Ints
from edos_dataset.metrics.responses.words import Frequencies
from edos_dataset.text import normalise


def entropy(codes: Ints, rows: Ints, number: int, train: Frequencies) -> tuple[Doubles, Doubles]:
    """Return the entropy of responses under the distribution of the training text (Serban et al., 2017), in bits.

    A bigram has the probability of both words together, not of the second given the first.

    Args:
        codes: [n-grams of all responses].
        rows: [n-grams], the response of each, 0 to `number` - 1.
        number: number of responses.
        train: distribution in the training text; n-grams without a probability are skipped.

    Returns:
        -log2 p per word, and summed over each response, both [responses]; NaN where no n-gram is in the training text.
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
    """Return the Kullback-Leibler divergence of references from responses (Csáky et al., 2019), in bits.

    It is the mean of log2 p/q over the n-grams of each reference, and may be negative.

    Args:
        responses: n-grams of all responses, which give q.
        references: n-grams of all references, which give p; both are restricted to n-grams that occur in either.
        codes: [n-grams of all references].
        rows: [n-grams of all references], the reference of each.
        number: number of references.
        countable: [n-grams of all references], whether each counts.

    Returns:
        [references]; NaN where no n-gram counts and occurs in responses.
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
    """Return the fraction of distinct n-grams among all of the responses, 0 to 1 (Li et al., 2016); NaN if none."""
    return len(responses.codes) / int(responses.counts.sum()) if len(responses.codes) else float("nan")


def perplexity(log_likelihood: float, number: int) -> float:
    """Return exp(-log_likelihood / number), at least 1: perplexity per token or per word.

    Args:
        log_likelihood: natural logarithm, summed over all predicted tokens, ends of texts included.
        number: number of predicted tokens, or of the words that they spell, which makes models with different
            tokenizers comparable.

    Raises:
        ValueError: there are no tokens, or the likelihood is above 1.
    """
    if number < 1:
        raise ValueError(f"perplexity over {number} tokens: give the tokens that the likelihood was summed over")
    if not log_likelihood <= 0:
        raise ValueError(f"a log-likelihood of {log_likelihood} is not possible: give the sum of log-probabilities")
    with np.errstate(over="ignore"):
        return float(np.exp(-log_likelihood / number))


SHARE, LEAST = 0.001, 3
FREQUENT = 100


def generic(
    responses: Sequence[str], contexts: Sequence[str] | None = None, share: float = SHARE, least: int = LEAST
) -> Doubles:
    """Flag generic responses: those given to at least `least` distinct contexts and a fraction `share` of all contexts.

    Args:
        responses: one per context.
        contexts: as many; by default each response has a different one.
        share: 0 to 1; makes the criterion independent of the size of the set.
        least: keeps the fraction meaningful in small sets.

    Returns:
        1 or 0, [responses].

    Raises:
        ValueError: contexts are not as many as responses.
    """
    asked: Sequence[object] = range(len(responses)) if contexts is None else [_key(context) for context in contexts]
    answers = [_key(response) for response in responses]
    given = Counter(answer for answer, _ in set(zip(answers, asked, strict=True)))
    most = max(least, share * len(set(asked)))
    return np.array([float(given[answer] >= most) for answer in answers])


def frequent(responses: Sequence[str], train: Sequence[str], most: int = FREQUENT) -> Doubles:
    """Flag responses that are among the most frequent ones of the training set.

    Args:
        responses: any number.
        train: the responses of the training set.
        most: number of texts that count as frequent; ties are broken alphabetically, and a text that occurs once is
            never frequent.

    Returns:
        1 or 0, [responses].
    """
    counts = Counter(map(_key, train))
    ranked = sorted((-count, text) for text, count in counts.items() if count > 1)
    frequent_ones = {text for _, text in ranked[:most]}
    return np.array([float(_key(response) in frequent_ones) for response in responses])


def _key(text: str) -> str:
    return normalise(text) or " ".join(text.split())
