"""Which languages the models that label know, and how much of what they labelled is in another one."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from edos_dataset.arrays import unnest
from edos_dataset.labeling.models.shipped import SHIPPED, SHIPPED_LANGUAGES
from edos_dataset.labeling.stages import LabelTurns, dialogues_of
from edos_dataset.languages.detection import contradict_language
from edos_dataset.runs.shards import read_shard

MOST_DIALOGUES, MOST_SHARDS = 1_000, 20
"""Dialogues that `count_foreign` looks at, a third of a second, and shards that it takes them from."""

_LEAST_WORDS = (
    5  # a dialogue is short; of 1,200 English ones, of two turns and more, none was taken for another language
)


def languages_of(stage: LabelTurns) -> tuple[str, ...] | None:
    """Return the codes of the languages that the model of a stage knows, or null where it doesn't say.

    The models of this package know English. A labeler of another package may say so by an attribute `languages`.
    """
    if stage.model in SHIPPED:
        return SHIPPED_LANGUAGES
    return getattr(stage.labeler, "languages", None)


def count_foreign(shards: Sequence[Path], languages: Sequence[str]) -> tuple[int, int]:
    """Return how many dialogues are in none of some languages, by their letters and words, and how many were looked at:
    all, or `MOST_DIALOGUES` spread evenly. A dialogue of few words is believed to be in one of them.

    Args:
        shards: Parquet files with `turns`.
        languages: codes, one or more.
    """
    chosen = [shards[place] for place in _spread(len(shards), MOST_SHARDS)]
    foreign = looked_at = 0
    for shard in chosen:
        table = read_shard(shard, ["turns"])
        turns, offsets = unnest(table.take(_spread(table.num_rows, MOST_DIALOGUES // len(chosen))), "turns")
        dialogues = dialogues_of(turns.field("text"), offsets)
        looked_at += len(dialogues)
        foreign += sum(
            all(contradict_language(dialogue, language, _LEAST_WORDS) for language in languages)
            for dialogue in dialogues
        )
    return foreign, looked_at


def _spread(count: int, most: int) -> list[int]:
    """Return up to `most` of the numbers below `count`, spread evenly."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(int)).tolist() if count else []
