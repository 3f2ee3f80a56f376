"""Whether dialogues that say nearly the same are all found, and how many come into two splits without that.

    edos curate films --out RUN --no-labels
    python evaluation/same_dialogues.py RUN

Over the dialogues that a run gave to the step "duplicates", each compared with each by all runs of four words that it
says, not by sketches: the pairs that `DropDuplicates` means. Of these are counted those of which both dialogues stay,
and those of them that the films' names part into two splits, once for pairs a little closer, too, for the step as it is
and for the papers' rule (turns that are all the same). Writes evaluation/same_dialogues.json: counts, no text.
"""

import argparse
import json
from collections import Counter, defaultdict
from datetime import date
from itertools import combinations
from pathlib import Path
from typing import Any

from edos_dataset.cleaning.duplicates import DropDuplicates
from edos_dataset.cleaning.shingles import WIDTH, words_of
from edos_dataset.publishing.layout import split_of
from edos_dataset.runs.shards import read_shard, write_text

LEAST = 8
CLOSER = 0.1
"""Above the step's share: pairs that no rounding, and no run that many others say, too, should save."""
Place = tuple[int, int]


def shards_of(run: Path) -> list[Path]:
    """Return the shards that the step "duplicates" reads.

    Raises:
        ValueError: the run has none.
    """
    shards = [path for path in run.glob(".run/[0-9]*-cap/*.parquet") if path.stem.isdigit()]
    if not shards:
        raise ValueError(f"{run} has no .run/NN-cap/*.parquet: give a folder that edos curate wrote")
    return sorted(shards)


def alike(said: dict[Place, set[tuple[bytes, ...]]], share: float) -> set[tuple[Place, Place]]:
    """Return the pairs of dialogues that say nearly the same."""
    holders = defaultdict(list)
    for place, runs in said.items():
        for run in runs:
            holders[run].append(place)
    counts = Counter(pair for places in holders.values() for pair in combinations(places, 2))
    return {
        (a, b)
        for (a, b), count in counts.items()
        if count >= max(LEAST, share * min(len(said[a]), len(said[b])) - 1e-6) or count == len(said[a]) == len(said[b])
    }


def judge(run: Path) -> dict[str, Any]:
    """Hold what leaves against all pairs."""
    shards = shards_of(run)
    step = DropDuplicates()
    assert step.share is not None, "the default compares what is said"
    said, films = {}, {}
    for number, shard in enumerate(shards):
        table = read_shard(shard, ["film", "turns.list.element.text"])
        for row, (film, turns) in enumerate(zip(table["film"].to_pylist(), table["turns"].to_pylist(), strict=True)):
            words = words_of(" ".join(turn["text"] for turn in turns))
            said[number, row] = {tuple(words[at : at + WIDTH]) for at in range(max(1, len(words) - WIDTH + 1))}
            films[number, row] = film
    pairs, closer = alike(said, step.share), alike(said, step.share + CLOSER)
    result: dict[str, Any] = {"dialogues": len(said), "share": step.share, "closer": step.share + CLOSER}
    result |= {"pairs": _counted(pairs, films), "closer_pairs": _counted(closer, films)}
    for name, rule in (("default", step), ("papers", DropDuplicates(share=None))):
        gone = {(number, row) for number, table in enumerate(rule.decide(shards)) for row in table["row"].to_pylist()}
        both, both_closer = ({pair for pair in each if gone.isdisjoint(pair)} for each in (pairs, closer))
        result[name] = {
            "left": len(gone),
            "left_without_partner": len(gone - {place for pair in pairs for place in pair}),
            "pairs_that_stay": _counted(both, films),
            "closer_pairs_that_stay": _counted(both_closer, films),
        }
    return result


def _counted(pairs: set[tuple[Place, Place]], films: dict[Place, str]) -> dict[str, int]:
    return {"all": len(pairs), "across_splits": sum(split_of(films[a]) != split_of(films[b]) for a, b in pairs)}


def main() -> None:
    """Judge and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args()
    result = {"date": date.today().isoformat(), **judge(arguments.run)}
    write_text(arguments.out, json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))  # noqa: T201


if __name__ == "__main__":
    main()
