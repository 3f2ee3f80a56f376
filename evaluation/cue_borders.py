"""Boundaries between cues without dashes of an unseen show, by the source's unedited speaker names, as a user of timed
cues would count them.

    python evaluation/cue_borders.py DATA_DIR --recipe training/recipes/turns/turns.yaml --cache build/turns

Every pair of consecutive cues counts, even if a sentence continues over the boundary or the source named no new speaker
(which then means "the same speaker", rightly or wrongly). The scorers see sentences as a run makes them; a boundary
inside a sentence is not a new turn. The simple baseline sees the two cues only: hashed unigrams and bigrams of both in
a LinearSVC, fitted to the cues of the other show. Scores come from the cache of training/train_turn_segmenter.py, or
are computed. Writes evaluation/cue_borders.json.
"""

import argparse
import re
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.svm import LinearSVC

from benchmarks.machine import write_result
from edos_dataset.arrays import Bools, Floats, unnest
from edos_dataset.runs.untrusted import read_yaml
from edos_dataset.segmentation.turns.rules import RuleScorer
from edos_dataset.segmentation.turns.scorers import blend
from training.train_turn_segmenter import log_odds
from training.transcripts.speakers import Cue, read_cues
from training.turns.bench import Bench, Corpus

SHOWS = {"friends": "Friends", "the_big_bang_theory": "The.Big.Bang.Theory"}
_EPISODE = re.compile(r"S(\d+)E(\d+)")
_WORD = re.compile(r"[\w']+|[^\w\s]+")


def read_show(data_dir: Path, show: str) -> dict[str, list[Cue]]:
    """Return the cues of every episode, keyed by the column `film` of the labelled documents."""
    episodes = {}
    for path in sorted((data_dir / "sitcom_speakers").glob(f"{SHOWS[show]}*.merged")):
        if match := _EPISODE.search(path.name):
            episodes[f"{show}/s{int(match[1]):02d}e{int(match[2]):02d}"] = read_cues(
                path.read_text(encoding="utf-8", errors="replace")
            ).cues
    return episodes


def labels_of(cues: Sequence[Cue]) -> Bools:
    """Return for every cue but the first whether another speaker begins, by the unedited names."""
    return np.array([cue.speaker != before.speaker for before, cue in zip(cues[:-1], cues[1:], strict=True)], bool)


def plain_features(cues: Sequence[Cue]) -> Iterator[list[str]]:
    """Yield the features of each pair of cues: unigrams and bigrams of both, marked by side."""
    words = [_WORD.findall(" ".join(cue.lines).lower()) for cue in cues]
    grams = [own + [" ".join(pair) for pair in zip(own[:-1], own[1:], strict=True)] for own in words]
    for before, here in zip(grams[:-1], grams[1:], strict=True):
        yield [f"before {gram}" for gram in before] + [f"here {gram}" for gram in here]


def plain_accuracy(learned: dict[str, list[Cue]], tested: dict[str, list[Cue]]) -> float:
    """Return the accuracy of the simple baseline."""
    vectorizer = HashingVectorizer(analyzer=lambda names: names, n_features=1 << 18, alternate_sign=False, norm=None)
    sides = [
        vectorizer.transform([names for cues in show.values() for names in plain_features(cues)])
        for show in (learned, tested)
    ]
    labels = [np.concatenate([labels_of(cues) for cues in show.values()]) for show in (learned, tested)]
    return float(LinearSVC(C=0.01, random_state=0).fit(sides[0], labels[0]).score(sides[1], labels[1]))


def new_at_borders(table: pa.Table, scores: Floats, films: dict[str, list[Cue]]) -> tuple[Bools, Bools]:
    """Return for the boundaries between cues that both have text: the label, and whether a turn begins there by the
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
    write_result(Path(__file__).with_suffix(".json"), report)


if __name__ == "__main__":
    main()
