"""How easy dialogues are to read (EDOS, Appendix A)."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pyarrow as pa

from edos_dataset.arrays import unnest
from edos_dataset.runs.folder import FolderError
from edos_dataset.runs.manifest import read_manifest
from edos_dataset.runs.shards import read_pieces
from edos_dataset.runs.tables import config_files
from edos_dataset.text import normalise, tokenize


@dataclass(frozen=True)
class Readability:
    """A dialogue's readability, `f + weight * d` (Appendix A).

    f = (sum of the frequencies of all tokens) / (alpha + number of tokens): dialogues of rare words, and short ones,
    have less of it. d = share of distinct words. The paper does not say what a frequency is; here it is a token's share
    of all tokens of the corpus, so that f is of the size of 0.04 d, and d is a share, from 0 to 1. Tokens are those of
    `text.tokenize`, in lower case; words are without punctuation, which repeats in every good text.

    Attributes:
        frequencies: token → share of the corpus, 0 to 1.
        alpha: holds f down for short dialogues.
        weight: of d.
    """

    frequencies: Mapping[str, float]
    alpha: float = 87.0
    weight: float = 0.04

    def __post_init__(self) -> None:
        """Check the parameters."""
        if self.alpha < 0:
            raise ValueError(f"alpha must be at least 0, got {self.alpha}")

    def score(self, turns: Sequence[str]) -> tuple[float, float, float]:
        """Return f, d and the score of a dialogue; all are 0 without words."""
        tokens = [token for turn in turns for token in tokenize(turn.lower())]
        words = [word for turn in turns for word in normalise(turn).split()]
        if not words:
            return 0.0, 0.0, 0.0
        f = sum(self.frequencies.get(token, 0.0) for token in tokens) / (self.alpha + len(tokens))
        d = len(set(words)) / len(words)
        return f, d, f + self.weight * d


def token_frequencies(run: Path, config: str = "os") -> dict[str, float]:
    """Return every token of a run's dialogues with its share of all tokens, 0 to 1. Memory: the distinct tokens.

    Args:
        run: a folder that `edos curate` wrote.
        config: the config to count in; "os" is all cleaned dialogues.

    Raises:
        FolderError: the folder holds no such run, or no dialogues in it.
    """
    counts: Counter[str] = Counter()
    for table in read_dialogues(run, config):
        turns, _ = unnest(table, "turns")
        counts.update(tokenize("\n".join(turns.field("text").to_pylist()).lower()))
    total = counts.total()
    if not total:
        raise FolderError(f"the config {config!r} of {run} has no dialogues to count words in")
    return {token: count / total for token, count in counts.items()}


def read_dialogues(run: Path, config: str) -> Iterator[pa.Table]:
    """Yield the dialogues of a run's config, the columns that are needed here."""
    manifest = read_manifest(run)
    if config not in manifest["configs"]:
        raise FolderError(f"{run} has no config {config!r}; it has {', '.join(manifest['configs']) or 'none'}")
    for path in chain.from_iterable(config_files(run, config).values()):
        yield from read_pieces(path, ["dialogue_id", "turns"])
