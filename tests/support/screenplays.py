"""Texts of an invented language, and what becomes of copies: what tests of the same film or book compare."""

import random

SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]


def screenplay(seed, sentences=150, words=600):
    """Sentences of an invented language: common words come often, as in a true one."""
    dice = random.Random(seed)
    known = ["".join(random.Random(number).choices(SYLLABLES, k=2 + number % 2)) for number in range(words)]
    weights = [1 / (rank + 3) for rank in range(words)]
    return [" ".join(dice.choices(known, weights, k=dice.randint(3, 10))).capitalize() + "." for _ in range(sentences)]


def damaged(sentences, share, seed=0):
    """Sentences of which a share of the letters is read wrongly."""
    dice = random.Random(seed)
    return [
        "".join(dice.choice("abcdefghij") if sign.isalpha() and dice.random() < share else sign for sign in text)
        for text in sentences
    ]


def rejoined(sentences):
    """The same words with other sentence boundaries."""
    words = " ".join(sentences).split()
    return [" ".join(words[start : start + 13]) for start in range(0, len(words), 13)]
