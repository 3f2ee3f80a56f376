"""Borders between dash-free cues of a show that was not learned from, by the raw speaker names of the source: what a
user of timed cues would count.

    python evaluation/cue_borders.py DATA_DIR --recipe training/recipes/turns/turns.yaml --cache build/turns

Every pair of consecutive cues counts, also where a sentence goes on over the border or the source named nobody anew
(then it says "the same speaker", rightly or not). The scorers see sentences as a run makes them; a border inside a
sentence is no new turn. The plain baseline sees the two cues as they are: hashed uni- and bigrams of both with a
LinearSVC, fitted to the cues of the other show. Scores come from the cache of training/train_turn_segmenter.py, or are
made. Writes evaluation/cue_borders.json.
"""

import argparse
import json
import re
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.svm import LinearSVC

from edos_dataset.arrays import Bools, Floats, unnest
from edos_dataset.runs.foreign import read_yaml
from edos_dataset.runs.shards import write_text
from edos_dataset.segmentation.turns.blend import blend
from edos_dataset.segmentation.turns.rules import RuleScorer
from edos_dataset.sources.speakers import Cue, read_cues
from training.train_turn_segmenter import log_odds
from training.turns.bench import Bench, Corpus

SHOWS = {"friends": "Friends", "the_big_bang_theory": "The.Big.Bang.Theory"}
_EPISODE = re.compile(r"S(\d+)E(\d+)")
_WORD = re.compile(r"[\w']+|[^\w\s]+")


def read_show(data_dir: Path, show: str) -> dict[str, list[Cue]]:
    """Return the cues of every episode by the key that the labelled documents have as their film."""
    episodes = {}
    for path in sorted((data_dir / "sitcom_speakers").glob(f"{SHOWS[show]}*.merged")):
        if match := _EPISODE.search(path.name):
            episodes[f"{show}/s{int(match[1]):02d}e{int(match[2]):02d}"] = read_cues(
                path.read_text(encoding="utf-8", errors="replace")
            ).cues
    return episodes


def labels_of(cues: Sequence[Cue]) -> Bools:
    """Say for every cue but the first whether another speaker begins, by the names as they stand."""
    return np.array([cue.speaker != before.speaker for before, cue in zip(cues[:-1], cues[1:], strict=True)], bool)


def plain_features(cues: Sequence[Cue]) -> Iterator[list[str]]:
    """Yield the hashed names of a pair's features: uni- and bigrams of both cues, told apart by their side."""
    words = [_WORD.findall(" ".join(cue.lines).lower()) for cue in cues]
    grams = [own + [" ".join(pair) for pair in zip(own[:-1], own[1:], strict=True)] for own in words]
    for before, here in zip(grams[:-1], grams[1:], strict=True):
        yield [f"before {gram}" for gram in before] + [f"here {gram}" for gram in here]


def plain_accuracy(learned: dict[str, list[Cue]], tested: dict[str, list[Cue]]) -> float:
    """Return the accuracy of the plain baseline."""
    vectorizer = HashingVectorizer(analyzer=lambda names: names, n_features=1 << 18, alternate_sign=False, norm=None)
    sides = [
        vectorizer.transform([names for cues in show.values() for names in plain_features(cues)])
        for show in (learned, tested)
    ]
    labels = [np.concatenate([labels_of(cues) for cues in show.values()]) for show in (learned, tested)]
    return float(LinearSVC(C=0.01, random_state=0).fit(sides[0], labels[0]).score(sides[1], labels[1]))


def new_at_borders(table: pa.Table, scores: Floats, films: dict[str, list[Cue]]) -> tuple[Bools, Bools]:
    """Return for the borders between cues of which both have text: the label, and whether a turn begins there by the
    scores (threshold 0.5).
    """
    sentences, offsets = unnest(table, "sentences")
    first, last = (sentences.field(name).to_numpy() for name in ("first_block", "last_block"))
    truth, said = [], []
    for film, begin, end in zip(table["film"].to_pylist(), offsets[:-1], offsets[1:], strict=True):
        labels, spoken, new = labels_of(films[film]), np.zeros(len(films[film]), bool), np.zeros(len(films[film]), bool)
        for row in range(begin, end):
            spoken[first[row] : last[row] + 1] = True
            if row > begin and first[row] != last[row - 1]:
                new[first[row]] = scores[row] < 0.5
        both = spoken[1:] & spoken[:-1]
        truth.append(labels[both])
        said.append(new[1:][both])
    return np.concatenate(truth), np.concatenate(said)


def measure_show(
    bench: Bench, films: dict[str, dict[str, list[Cue]]], show: str, tested: Sequence[str]
) -> dict[str, Any]:
    """Measure the scorers that were not fitted to a show on its cues."""
    corpus, name = bench.corpus, show.replace("_", " ")
    of_show = corpus.shows == name
    test = of_show & np.isin(corpus.table["corpus"].to_pylist(), tested)
    table = corpus.documents(test)
    lengths = np.array([len(row) for row in table["sentences"]])
    plain = np.repeat(np.array(table["corpus"].to_pylist()) == show, lengths)
    scores = {learner: bench.scores(f"without {name}", learner, ~of_show, test)[plain] for learner in bench.learners}
    documents = table.filter(pa.array(np.array(table["corpus"].to_pylist()) == show))
    scores = {"blend": blend(*map(log_odds, scores.values())), **scores, "rules": RuleScorer().same_turn(documents)}
    row: dict[str, Any] = {}
    for scorer, values in scores.items():
        truth, said = new_at_borders(documents, values, films[show])
        row |= {
            "borders": len(truth),
            "always_new": round(float(truth.mean()), 4),
            scorer: round(float((truth == said).mean()), 4),
        }
    (other,) = set(SHOWS) - {show}
    return row | {"plain": round(plain_accuracy(films[other], films[show]), 4), "plain_fitted_to": other}


def main() -> None:
    """Measure both shows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("--recipe", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    args = parser.parse_args()
    recipe = read_yaml(args.recipe)
    bench = Bench(
        Corpus.load(args.data_dir, args.cache, recipe["corpora"]),
        args.cache / "scores",
        recipe["learners"],
        lambda line: None,
    )
    films = {show: read_show(args.data_dir, show) for show in SHOWS}
    report = {
        "date": date.today().isoformat(),
        "shows": {show: measure_show(bench, films, show, recipe["test_corpora"]) for show in SHOWS},
    }
    write_text(Path(__file__).with_suffix(".json"), json.dumps(report, indent=1) + "\n")
    print(json.dumps(report, indent=1))  # noqa: T201


if __name__ == "__main__":
    main()
