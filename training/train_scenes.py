"""Train the shipped scorer of scene boundaries (`edos_dataset/segmentation/scenes.py`), and measure it on unseen
episodes and unseen shows.

    python training/train_scenes.py --data-dir "$EDOS_DATA_DIR" --recipe training/recipes/scenes/scenes.yaml \
        --cache build/scenes --report evaluation/scenes.json --out edos_dataset/segmentation/weights/scenes

Scenes are known for Frasier, from its scripts, and for Friends, from the scenes in MELD and EmoryNLP
(`training/scenes/corpus.py`). The shipped weights are fitted to all of them. Turns are segmented by the shipped scorer,
which was trained on other labels of the same episodes.
"""

import argparse
import json
import os
import platform
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from edos_dataset.arrays import Doubles
from edos_dataset.runs.shards import write_text
from edos_dataset.runs.untrusted import read_yaml
from edos_dataset.segmentation.scene_features import GROUPS
from edos_dataset.segmentation.scenes import Network, SceneScorer
from edos_dataset.segmentation.turns.evidence import probabilities
from training.scenes.corpus import Episode, load_episodes
from training.scenes.fit import FitSettings, Fitted, fit
from training.scenes.measure import describe, judge

LICENCES = {
    "frasier": "none stated; the text is under its studio's copyright",
    "friends": "MIT (seinfeld_laugh_corpus); the text is under its studio's copyright",
    "meld": "GPL v3",
    "emorynlp": "Apache-2.0; the text is under its studio's copyright",
}
"""Licences of the data; the weights contain only numbers and hashes of words."""

_BRIEF = ("threshold", "precision", "recall", "f1", "f1_interval")


def settings_of(recipe: Mapping[str, Any], view: Mapping[str, Any], names: Sequence[str]) -> FitSettings:
    """Return the settings of one network of the recipe."""
    columns = tuple(place for place, name in enumerate(names) if name.partition(".")[0] in view["groups"])
    return FitSettings(columns=columns, words=view["words"], **recipe["settings"])


def unseen_episodes(episodes: Sequence[Episode], settings: FitSettings, folds: int) -> list[Doubles]:
    """Return the scores of each episode, by sentences, from a scorer that was fitted to the other folds."""
    fold = [zlib.crc32(one.film.encode()) % folds for one in episodes]
    scores: list[Doubles] = [np.zeros(0)] * len(episodes)
    for number in range(folds):
        fitted = fit([one for one, own in zip(episodes, fold, strict=True) if own != number], settings)
        for place, one in enumerate(episodes):
            if fold[place] == number:
                scores[place] = _scores(fitted, one)
    return scores


def unseen_shows(episodes: Sequence[Episode], settings: FitSettings) -> list[Doubles]:
    """Return the scores of each episode, by sentences, from a scorer that was fitted to the other shows."""
    fitted = {
        show: fit([one for one in episodes if one.show != show], settings)
        for show in sorted({one.show for one in episodes})
    }
    return [_scores(fitted[one.show], one) for one in episodes]


def _scores(fitted: Fitted, episode: Episode) -> Doubles:
    return episode.by_sentence(probabilities(fitted.log_odds(episode)).astype(np.float64))


def by_show(episodes: Sequence[Episode], scores: Sequence[Doubles], threshold: float) -> dict[str, Any]:
    """Measure the episodes of each show."""
    found = {}
    for show in sorted({one.show for one in episodes}):
        own = [place for place, one in enumerate(episodes) if one.show == show]
        found[show] = describe([episodes[place] for place in own], [scores[place] for place in own], threshold)
    return found


def ablations(
    episodes: Sequence[Episode], names: Sequence[str], recipe: Mapping[str, Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Leave out one group of features after another, and yield the best F1 on unseen episodes of each show."""
    everything = [*recipe["views"]["words"]["groups"], "words"]
    sets = {
        **{f"without {group}": [name for name in everything if name != group] for group in GROUPS},
        "silences only (pause, rank, place)": ["pause", "rank", "place"],
        "the pause alone": ["pause"],
    }
    for name, groups in sets.items():
        settings = settings_of(recipe, {"groups": groups, "words": "words" in groups}, names)
        yield name, brief(by_show(episodes, unseen_episodes(episodes, settings, recipe["folds"]), recipe["threshold"]))


def brief(shows: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metrics for the record: each show at the chosen threshold, and its best F1."""
    return {
        show: {name: result["chosen"][name] for name in _BRIEF} | {"best_f1": result["best"]["f1"]}
        for show, result in shows.items()
    }


def long_silences(episodes: Sequence[Episode], scores: Sequence[Doubles], threshold: float) -> list[dict[str, float]]:
    """Evaluate the cuts that long silences add to those of the scores."""
    rows = []
    for seconds in (7.5, 10.0, 12.5, 15.0, 20.0, 30.0):
        low = [
            np.where((one.silences > seconds) & (score < threshold), 1.0, 0.0)
            for one, score in zip(episodes, scores, strict=True)
        ]
        either = [np.maximum(added, score >= threshold) for added, score in zip(low, scores, strict=True)]
        added, together = judge(episodes, low, [1.0])[0], judge(episodes, either, [1.0])[0]
        rows.append(
            {"seconds": seconds, "cuts": added["cuts"], "precision": added["precision"], "f1_together": together["f1"]}
        )
    return rows


def ship(
    episodes: Sequence[Episode], names: Sequence[str], recipe: Mapping[str, Any], metrics: Mapping[str, Any]
) -> SceneScorer:
    """Fit one network of each view to all episodes; return the scorer with its record."""
    networks = {}
    for view, what in recipe["views"].items():
        settings = settings_of(recipe, what, names)
        fitted = fit(episodes, settings)
        networks[view] = Network(
            tuple(names[place] for place in fitted.columns), fitted.first, fitted.second, fitted.words
        )
        report(f"{view}: fitted to {len(episodes)} episodes")
    record = {
        "name": "scenes",
        "metrics": metrics,
        "data": {
            show: {
                "episodes": sum(one.show == show for one in episodes),
                "breaks": sum(float(one.breaks.weight.sum()) for one in episodes if one.show == show),
            }
            for show in sorted({one.show for one in episodes})
        },
        "licences": LICENCES,
        "settings": dict(recipe),
        "command": (
            "python training/train_scenes.py --data-dir $EDOS_DATA_DIR --recipe training/recipes/scenes/scenes.yaml"
        ),
        "date": datetime.now(timezone.utc).date().isoformat(),
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("numpy", "scikit-learn", "scipy")},
        },
    }
    return replace(SceneScorer(networks, "en"), record=record)


def report(line: str) -> None:
    """Print a line of progress."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """Measure, report and train."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("EDOS_DATA_DIR"), help="folder of the datasets")
    parser.add_argument("--recipe", type=Path, required=True, help="YAML with views and settings")
    parser.add_argument("--cache", type=Path, required=True, help="folder in which labelled documents are cached")
    parser.add_argument("--report", type=Path, help="JSON file of all figures")
    parser.add_argument("--out", type=Path, help="folder for the weights")
    args = parser.parse_args()
    if args.data_dir is None:
        parser.error("--data-dir is missing and EDOS_DATA_DIR is not set: name the folder of the data sets")
    recipe = read_yaml(args.recipe)
    episodes, names = load_episodes(Path(args.data_dir), args.cache, recipe["settings"]["bits"])
    results: dict[str, Any] = {"threshold": recipe["threshold"], "unseen_episodes": {}, "unseen_shows": {}}
    for view, what in recipe["views"].items():
        settings = settings_of(recipe, what, names)
        for split, scores in (
            ("unseen_episodes", unseen_episodes(episodes, settings, recipe["folds"])),
            ("unseen_shows", unseen_shows(episodes, settings)),
        ):
            results[split][view] = by_show(episodes, scores, recipe["threshold"])
            report(f"{split}, {view}: {json.dumps(brief(results[split][view]))}")
            if (split, view) == ("unseen_episodes", "words"):
                results["long_silences"] = long_silences(episodes, scores, recipe["threshold"])
    if args.out:
        kept = {
            split: {view: brief(shows) for view, shows in results[split].items()}
            for split in ("unseen_episodes", "unseen_shows")
        }
        ship(episodes, names, recipe, kept).save(args.out)
    if args.report:
        results["ablation"] = dict(ablations(episodes, names, recipe))
        write_text(args.report, json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
