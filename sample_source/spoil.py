"""Ways to make the text of a file worse, word by word."""

import re

_CONTRACTIONS = {"n't": " not", "'m": " am", "'s": " is", "'re": " are", "'ll": " will", "'ve": " have"}


def misread(word: str, dice: float) -> str:
    """Confuse I and l as optical character recognition does: "I'm" to "l'm", "It's" to "lt's", rarely "will" to "wiII".

    `dice` in [0, 1) decides whether this word is hit.
    """
    if dice < 0.5 and re.match(r"I(?!\w)|I[tfns](?!\w{2})", word):
        return "l" + word[1:]
    if dice > 0.9:
        return re.sub(r"(?<=[a-z])ll\b", "II", word)
    return word


def mistranslate(word: str, dice: float) -> str:
    """Write as a bad machine translation does: no articles, contractions, capitals or punctuation, some non-words."""
    bare = word.strip('.,!?"').lower()
    if bare in {"the", "a", "an"}:
        return ""
    for short, full in _CONTRACTIONS.items():
        bare = bare.replace(short, full)
    return bare + "xq" if dice < 0.15 else bare
