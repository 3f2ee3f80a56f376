"""The seed: dialogues whose last turn was labelled by people, and the search for those most similar to a pasted one."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from huggingface_hub.constants import HF_HOME

from edos_dataset import load
from edos_dataset.augmentation.embeddings import VectorStore, means_in_context, unit
from edos_dataset.augmentation.similarity import nearest
from edos_dataset.encoders.encoder import Encoder
from edos_dataset.labels import LABELS, parse_label
from edos_dataset.schema import AMT_SEED

INVENTED = Path(__file__).with_name("seed.jsonl")
"""Dialogues written for this page, two for each label: `dialogue_id`, `turns`, `label` (of the last turn)."""

Rows = list[tuple[str, list[str], int]]


@dataclass(frozen=True)
class Neighbour:
    """A dialogue of the seed that is similar to a pasted one.

    Attributes:
        dialogue_id: its id.
        turns: oldest first.
        label: name of the label of its last turn.
        cosine: cosine similarity of the two dialogues' vectors, -1 to 1.
    """

    dialogue_id: str
    turns: tuple[str, ...]
    label: str
    cosine: float


class Seeds:
    """Labelled dialogues with their vectors: the weighted mean of the turns' embeddings, in which each turn has half
    the weight of the next (EDOS, Section 3.3).

    Args:
        rows: id, turns (oldest first) and label id of each dialogue.
        source: name of their folder or of the dataset on the Hub, or None if they are invented.
        encoder: embeds turns.
        cache: folder in which the vectors are cached; by default one in the cache of Hugging Face (`HF_HOME`).

    Raises:
        ValueError: there are none.
    """

    def __init__(self, rows: Rows, source: str | None, encoder: Encoder, cache: Path | None = None) -> None:
        if not rows:
            raise ValueError(f"{source} has no labelled dialogue, so none can be near: give another seed")
        self.rows, self.source, self.encoder = rows, source, encoder
        self._store = VectorStore(cache or Path(HF_HOME) / "edos" / "seed-vectors", encoder)
        self._vectors = self._store.dialogues([turns for _, turns, _ in rows])

    def near(self, turns: Sequence[str], top_k: int = 3) -> list[tuple[Neighbour, ...]]:
        """Return for every turn, with all turns before it, the most similar dialogues of the seed, in order.

        Args:
            turns: turns of one dialogue, oldest first.
            top_k: maximum number of neighbours of a turn.
        """
        vectors = unit(means_in_context(self.encoder.encode(turns), np.array([0, len(turns)])))
        matches = nearest(self._vectors, vectors, -1, top_k)
        neighbours: list[list[Neighbour]] = [[] for _ in turns]
        for row, seed, cosine in zip(
            matches.rows.tolist(), matches.seeds.tolist(), matches.similarities.tolist(), strict=True
        ):
            dialogue_id, seed_turns, label = self.rows[seed]
            neighbours[row].append(Neighbour(dialogue_id, tuple(seed_turns), LABELS[label], cosine))
        return list(map(tuple, neighbours))


def load_seeds(source: str | None, encoder: Encoder, cache: Path | None = None) -> Seeds:
    """Return the seed.

    Args:
        source: a folder that `edos crowd seed` wrote, the name of a dataset on the Hub with the config `amt_seed`, or
            None for the invented seed.
        encoder: as for `Seeds`.
        cache: as for `Seeds`.

    Raises:
        ValueError: the source is none of these, or the Hub failed.
    """
    if source is None:
        return Seeds(read_invented(), None, encoder, cache)
    name = Path(source).resolve().name if Path(source).is_dir() else source  # the path of a folder is private
    return Seeds(read_amt_seed(source), name, encoder, cache)


def read_invented(path: Path = INVENTED) -> Rows:
    """Return the dialogues of a file of JSON lines with `dialogue_id`, `turns` and `label`."""
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [(row["dialogue_id"], row["turns"], parse_label(row["label"])) for row in rows]


def read_amt_seed(source: str) -> Rows:
    """Return the labelled dialogues of all splits of a config `amt_seed`, without those on which people disagreed.

    Raises:
        ValueError: the source has no such config.
    """
    try:
        splits = load(source, AMT_SEED)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"the seed {source!r} is neither a folder of `edos crowd seed` nor a data set of the Hub with the config "
            f"{AMT_SEED}: {error}"
        ) from error
    return [
        (row["dialogue_id"], [turn["text"] for turn in row["turns"]], row["label"])
        for split in splits.values()
        for row in split.select_columns(["dialogue_id", "turns", "label"])
        if row["label"] is not None
    ]
