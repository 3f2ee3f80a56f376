"""The languages that a labeler supports, and counts of dialogues in other languages."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import unnest
from edos_dataset.labeling.models.shipped import SHIPPED, suited
from edos_dataset.labeling.priors import FILMS
from edos_dataset.labeling.stages import AnnotateDialogues, LabelTurns, dialogues_of
from edos_dataset.languages.detection import WORDS_OF_DIALOGUE, in_none_of, longer_words
from edos_dataset.runs.shards import read_shard

MOST_DIALOGUES, MOST_SHARDS = 1_000, 20
"""Limits of `count_other_languages`: dialogues (a third of a second's work) and shards."""

_WORDS_TOGETHER = 60  # pool short dialogues until they have this many distinct words


def for_language(stage: AnnotateDialogues, language: str | None, weighed: bool) -> AnnotateDialogues:
    """Return a stage with the shipped model for a language, where an English one is the default.

    Args:
        stage: the stage.
        language: code of the language, or None.
        weighed: weigh the answers of another model than the default by the shares of labels in films: `multilingual`
            learned from sentences that were selected for an emotion, and without priors names one too often
            (`evaluation/judged_languages.py`).
    """
    model = suited(stage.model, language)
    if model == stage.model:
        return stage
    return replace(stage, model=model, priors=FILMS if weighed else stage.priors)


def languages_of(stage: LabelTurns) -> tuple[str, ...] | None:
    """Return the codes of the languages that a stage's model supports, and its model for other languages, if it has
    one; None if unknown.

    Labelers that are not shipped state their languages in the attribute `languages`.
    """
    known = SHIPPED[stage.model].languages if stage.model in SHIPPED else getattr(stage.labeler, "languages", None)
    others = getattr(stage, "others", None)
    return known if known is None or others is None else tuple(dict.fromkeys([*known, *SHIPPED[others].languages]))


def count_other_languages(shards: Sequence[Path], languages: Sequence[str]) -> tuple[int, int]:
    """Return how many dialogues are in none of the given languages, and how many were examined.

    Letters and words decide. All dialogues are examined, or `MOST_DIALOGUES` of them, spread evenly.

    Args:
        shards: Parquet files with `turns`.
        languages: codes, at least one.
    """
    chosen = [shards[place] for place in _spread(len(shards), MOST_SHARDS)]
    tally = LanguageTally(languages, MOST_DIALOGUES // max(len(chosen), 1))
    for shard in chosen:
        tally.add(read_shard(shard, ["turns"]))
    return tally.counts()


class LanguageTally:
    """Counts dialogues that are in none of the given languages. Without languages it examines none.

    Short dialogues are pooled and judged together, since a few words do not identify a language.

    Args:
        languages: codes.
        most: maximum number of dialogues to examine in a table.
    """

    def __init__(self, languages: Sequence[str], most: int = MOST_DIALOGUES) -> None:
        self._languages, self._most = languages, most
        self._others = self._looked_at = 0
        self._short: list[list[str]] = []
        self._words: set[str] = set()

    def add(self, table: pa.Table) -> None:
        """Examine the dialogues of a table, unless `MOST_DIALOGUES` have been examined."""
        if not self._languages or self._looked_at >= MOST_DIALOGUES:
            return
        turns, offsets = unnest(table.take(_spread(table.num_rows, self._most)), "turns")
        for dialogue in dialogues_of(turns.field("text"), offsets):
            self._looked_at += 1
            words = longer_words(dialogue)
            if len(words) > WORDS_OF_DIALOGUE:
                self._others += self._differs(dialogue)
                continue
            self._short.append(dialogue)
            self._words |= words
            if len(self._words) >= _WORDS_TOGETHER:
                self._judge_short()

    def counts(self) -> tuple[int, int]:
        """Return the number of dialogues in another language and the number examined."""
        self._judge_short()
        return self._others, self._looked_at

    def _judge_short(self) -> None:
        if len(self._words) > WORDS_OF_DIALOGUE:
            self._others += len(self._short) * self._differs(
                list(dict.fromkeys(text for each in self._short for text in each))
            )
        else:
            self._others += sum(map(self._differs, self._short))
        self._short, self._words = [], set()

    def _differs(self, texts: list[str]) -> bool:
        return in_none_of(texts, self._languages)


def _spread(count: int, most: int) -> list[int]:
    """Return up to `most` indices below `count`, spread evenly."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(int)).tolist() if count else []
