"""The training of the scorer that reads around, from labelled documents to report and weights, on invented ones."""

import json
import sys
from pathlib import Path

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

EPISODES = {"friends": 3, "frasier": 3, "frasier_plain": 3}
FILMS = {
    **{
        corpus: [f"{corpus.removesuffix('_plain')}/s01e{number:02d}" for number in range(1, count + 1)]
        for corpus, count in EPISODES.items()
    },
    "dailydialog": [f"talk {number}" for number in range(5)],
}
TURNS = {
    "seed": 0,
    "corpora": [*FILMS],
    "test_corpora": [*EPISODES],
    "kept_out": ["frasier"],
    "least_confidence": 0.5,
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
        seed = len(corpus.removesuffix("_plain"))
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
def shipped(place):
    """Return the weights of a training."""
    run(place, "all", "--updates", 3, "--out", place / "weights", "--report", place / "report")
    return place / "weights"


def fitted_to(monkeypatch):
    """Return a list that gets the table of every fit."""
    tables, usual = [], script.fit_context

    def fit(table, *arguments):
        tables.append(table)
        return usual(table, *arguments)

    monkeypatch.setattr(script, "fit_context", fit)
    return tables


def test_nothing_is_learned_of_the_show_that_is_kept_out(place, monkeypatch):
    tables = fitted_to(monkeypatch)
    run(place, "again", "--updates", 1)
    (table,) = tables
    assert set(table["corpus"].to_pylist()) == {"friends", "dailydialog"}


def test_the_show_is_measured_in_all_its_forms_beside_the_fast_scorer(place, shipped):
    report = json.loads((place / "report" / "report.json").read_text())
    assert list(report["scorers"]) == ["context", "encoder", "scripts", "rules"]
    assert report["scorers"]["encoder"]["seams"] == 6 * 11
    assert set(report["sources"]["encoder"]) == {"frasier", "frasier_plain"}
    assert len(report["scorers"]["context"]["accuracy_interval"]) == 2
    assert report["facts"]["sentences a second and core, the encoder"] > 0
    assert not list((place / "all").glob("checkpoint-*"))


def test_the_record_tells_data_settings_and_figures(place, shipped):
    record = ContextScorer.load(shipped).record
    report = json.loads((place / "report" / "report.json").read_text())
    assert record["name"] == "turns-context" and record["measured_on"] == "frasier"
    for name, key in (("context", "metrics"), ("encoder", "metrics_alone")):
        found = record[key]["unseen_shows"]
        assert found["all"]["accuracy"] == report["scorers"][name]["accuracy"]
        assert found["frasier"]["seams"] == 3 * 11
    assert {name: counts["labelled"] for name, counts in record["data"].items()} == {
        name: len(FILMS[name]) * 11 for name in ("friends", "dailydialog")
    }
    assert record["settings"]["updates"] == 3 and record["encoder"] == str(place / "backbone")
    assert "--updates 3" in record["command"] and "--start" not in record["command"]
    log = [json.loads(line)["update"] for line in (place / "all" / "log.jsonl").read_text().splitlines()]
    assert log == [1, 2, 3]


def test_a_training_goes_on_from_another(place, shipped):
    """Without updates it only measures."""
    folder = run(place, "more", "--start", place / "all", "--updates", 0, "--out", place / "same")
    assert json.loads((place / "same" / "record.json").read_text())["command"].endswith(f"--start {place / 'all'}")
    before, after = (torch.load(each / "model.pt", weights_only=True) for each in (place / "all", folder))
    assert before.keys() == after.keys() and all(torch.equal(before[name], after[name]) for name in before)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--updates", "-1"], "updates must be at least 0, got -1"),
        (["--checkpoint-every", "0"], "--checkpoint-every must be at least 1, got 0"),
        (["--start", "nowhere"], "nowhere/model.pt is no state to begin with"),
    ],
)
def test_impossible_requests_are_told(place, more, message, capsys):
    with pytest.raises(SystemExit) as stopped:
        run(place, Path("impossible"), *more)
    assert message in f"{stopped.value}{capsys.readouterr().err}"


def test_a_recipe_without_a_show_to_measure_on_is_refused(place):
    (place / "all.yaml").write_text(yaml.safe_dump({name: TURNS[name] for name in TURNS if name != "kept_out"}))
    given = yaml.safe_load((place / "context.yaml").read_text())
    (place / "nothing.yaml").write_text(yaml.safe_dump({**given, "turns": "all.yaml"}))
    with pytest.raises(SystemExit, match="all.yaml keeps no show out, to measure on"):
        run(place, Path("nothing"), "--recipe", place / "nothing.yaml")


@pytest.mark.parametrize("name", ["context", "context_large"])
def test_the_recipes_can_be_read(name):
    folder = Path(script.__file__).parent / "recipes" / "turns"
    recipe = yaml.safe_load((folder / f"{name}.yaml").read_text(encoding="utf-8"))
    assert (folder / recipe["turns"]).is_file() and recipe.keys() == {"turns", "context", "test_corpora"}
    settings = build(ContextSettings, recipe["context"], name)
    assert settings.backbone in script._BACKBONES and settings.precision == "bf16"
