"""Ways to make the text of a file worse, word by word."""

import re


def misread(word: str, dice: float) -> str:
    """Confuse I and l as optical character recognition does: "I'm" to "l'm", "It's" to "lt's", at times "will" to "wiII"."""
    if dice < 0.5 and re.match(r"I(?!\w)|I[tfns](?!\w{2})", word):
        return "l" + word[1:]
    if dice > 0.9:
        return re.sub(r"(?<=[a-z])ll\b", "II", word)
    return word


def mistranslate(word: str, dice: float) -> str:
    """Write as a bad machine translation does: no articles, no contractions, no capitals, hardly any punctuation."""
    bare = word.strip(".,!?\"").lower()
    if bare in {"the", "a", "an"}:
        return ""
    for short, full in (("n't", " not"), ("'m", " am"), ("'s", " is"), ("'re", " are"), ("'ll", " will"), ("'ve", " have")):
        bare = bare.replace(short, full)
    return bare + "xq" if dice < 0.15 else bare
