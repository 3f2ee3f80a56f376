"""The training of the scorer that reads around, from labelled documents to report and weights, on invented ones."""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
import yaml

from edos_dataset.runs.recipes import build
from edos_dataset.segmentation.turns.context import ContextScorer
from labelled_films import labelled
from small_models import save_backbone
from training import train_context_scorer as script
from training.turns import labels
from training.turns.context_fit import ContextSettings

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]

EPISODES = {"friends": 3, "frasier": 3, "friends_dashes": 3}
FILMS = {
    **{
        corpus: [f"{corpus.removesuffix('_dashes')}/s01e{number:02d}" for number in range(1, count + 1)]
        for corpus, count in EPISODES.items()
    },
    "dailydialog": [f"talk {number}" for number in range(5)],
}
TURNS = {
    "seed": 0,
    "corpora": [*FILMS],
    "test_shows": ["friends", "frasier"],
    "test_corpora": [*EPISODES],
    "least_confidence": 0.5,
    "learners": {
        "svm": {"features": {"bits": 10}, "epochs": 2, "held_out": 3},
        "net": {"embedding": 4, "filters": 4, "evidence": 4, "hidden": 8, "epochs": 2, "sentences": 60, "least": 2},
    },
}
WORDS = ["and", "but", "the", "boats", "rivers", "stones", ".", "?"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return a folder with recipes, a backbone and labelled documents."""
    folder = tmp_path_factory.mktemp("context")
    settings = {"backbone": save_backbone(folder / "backbone", WORDS), "updates": 4, "warmup": 2, "tokens": 512}
    (folder / "turns.yaml").write_text(yaml.safe_dump(TURNS, sort_keys=False))
    (folder / "context.yaml").write_text(yaml.safe_dump({"turns": "turns.yaml", "context": settings}))
    (folder / "cache" / "documents").mkdir(parents=True)
    for corpus, films in FILMS.items():
        seed = len(corpus.removesuffix("_dashes"))
        documents = labelled([(corpus, film, film) for film in films], sentences=12, seed=seed).cast(labels.LABELLED)
        pq.write_table(documents, folder / "cache" / "documents" / f"{corpus}.parquet")
    return folder


def run(folder, state, *more):
    """Run the script; return the folder of the training."""
    from accelerate.state import AcceleratorState, GradientState

    given = {"data-dir": "none", "recipe": "context.yaml", "cache": "cache", "state": state}
    arguments = [part for name, value in given.items() for part in (f"--{name}", str(folder / value))]
    with pytest.MonkeyPatch.context() as patch, torch.random.fork_rng():
        patch.setattr(sys, "argv", ["train_context_scorer.py", *arguments, "--threads", "1", *map(str, more)])
        try:
            script.main()
        finally:
            AcceleratorState._reset_state(reset_partial_state=True)
            GradientState._reset_state()
    return folder / state


@pytest.fixture(scope="module")
def without(place):
    """Return the folders of two trainings without a show."""
    return {show: run(place, show, "--without", show) for show in ("friends", "frasier")}


@pytest.fixture(scope="module")
def shipped(place, without):
    """Return the weights of a training on all documents."""
    measured = [f"{show}={folder}" for show, folder in without.items()]
    more = ["--start", without["friends"], "--updates", 3, "--out", place / "weights", "--report", place / "report"]
    run(place, "all", "--measured", *measured, *more)
    return place / "weights"


def fitted_to(monkeypatch):
    """Return a list that gets the table of every fit."""
    tables, usual = [], script.fit_context

    def fit(table, *arguments):
        tables.append(table)
        return usual(table, *arguments)

    monkeypatch.setattr(script, "fit_context", fit)
    return tables


def test_nothing_is_learned_of_the_show_that_is_measured_on(place, monkeypatch):
    tables = fitted_to(monkeypatch)
    run(place, "again", "--without", "friends", "--updates", 1)
    (table,) = tables
    assert set(table["corpus"].to_pylist()) == {"frasier", "dailydialog"}


def test_a_show_is_measured_on_in_all_its_forms_beside_the_blend(without):
    report = json.loads((without["friends"] / "report" / "report.json").read_text())
    assert list(report["scorers"]) == ["context", "encoder", "blend", "rules"]
    assert report["scorers"]["encoder"]["seams"] == 6 * 11
    assert set(report["sources"]["encoder"]) == {"friends", "friends_dashes"}
    assert len(report["scorers"]["context"]["accuracy_interval"]) == 2
    assert report["facts"]["sentences a second and core, the encoder"] > 0
    scores = np.load(without["friends"] / "scores.npy")
    assert (len(scores), np.isnan(scores).sum()) == (6 * 12, 6)
    assert not list(without["friends"].glob("checkpoint-*"))


def test_the_weights_are_of_all_documents_with_the_figures_of_unseen_shows(place, shipped, without):
    scorer = ContextScorer.load(shipped)
    record, report = scorer.record, json.loads((place / "report" / "report.json").read_text())
    assert set(report["sources"]["context"]) == set(EPISODES)
    assert record["name"] == "turns-context" and record["measured_on"] == "friends, frasier"
    for name, key in (("context", "metrics"), ("encoder", "metrics_alone")):
        found = record[key]["unseen_shows"]
        assert found["all"]["accuracy"] == report["scorers"][name]["accuracy"]
        assert found["frasier"]["seams"] == 3 * 11
    assert {name: counts["labelled"] for name, counts in record["data"].items()} == {
        name: len(films) * 11 for name, films in FILMS.items()
    }
    assert record["settings"]["updates"] == 3 and record["encoder"] == str(place / "backbone")
    assert "--updates 3" in record["command"] and "--start" in record["command"]
    log = [json.loads(line)["update"] for line in (place / "all" / "log.jsonl").read_text().splitlines()]
    assert log == [1, 2, 3]


def test_scores_of_other_documents_are_refused(place, without, tmp_path, capsys):
    folder = shutil.copytree(without["friends"], tmp_path / "short")
    np.save(folder / "scores.npy", np.zeros(5, np.float32))
    with pytest.raises(SystemExit, match="holds 5 scores, but the test documents of friends have 72 sentences"):
        run(place, "refused", "--measured", f"friends={folder}")
    assert not (place / "refused").exists(), "before anything is learned"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--without", "firefly"], "'firefly' is no show that is measured on: name friends, frasier"),
        (["--measured", "friends"], "takes SHOW=FOLDER, got 'friends'"),
        (["--without", "friends", "--measured", "frasier=x"], "leave it out, or --without"),
        (["--updates", "-1"], "updates must be at least 0, got -1"),
        (["--checkpoint-every", "0"], "--checkpoint-every must be at least 1, got 0"),
        (["--start", "nowhere"], "nowhere/model.pt is no state to begin with"),
    ],
)
def test_impossible_requests_are_told(place, more, message, capsys):
    with pytest.raises(SystemExit) as stopped:
        run(place, Path("impossible"), *more)
    assert message in f"{stopped.value}{capsys.readouterr().err}"


def test_a_recipe_chooses_its_documents(place):
    """Those that it names, not those of the other learners."""
    given = yaml.safe_load((place / "context.yaml").read_text())
    (place / "few.yaml").write_text(yaml.safe_dump({**given, "corpora": ["dailydialog"]}))
    folder = run(place, Path("few"), "--recipe", place / "few.yaml", "--out", place / "few_weights")
    record = json.loads((place / "few_weights" / "record.json").read_text())
    assert folder.is_dir() and list(record["data"]) == ["dailydialog"]


@pytest.mark.parametrize("name", ["context", "context_screenplays", "context_mpnet"])
def test_the_recipes_can_be_read(name):
    folder = Path(script.__file__).parent / "recipes" / "turns"
    recipe = yaml.safe_load((folder / f"{name}.yaml").read_text(encoding="utf-8"))
    assert (folder / recipe["turns"]).is_file() and recipe.keys() <= {"turns", "corpora", "context"}
    settings = build(ContextSettings, recipe["context"], name)
    assert settings.backbone in script._BACKBONES and settings.precision == "bf16"
