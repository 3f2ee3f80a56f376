"""The training of the shipped scorers, from labelled documents to reports and weights, on invented ones."""

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from edos_dataset.segmentation.turns.net import NetScorer
from edos_dataset.segmentation.turns.scorers import BlendScorer
from edos_dataset.segmentation.turns.svm import GROUPS, SvmScorer
from labelled_films import flat, labelled
from training import train_turn_segmenter as script
from training.turns import bench as benches
from training.turns import labels
from training.turns.bench import LICENCES, brief
from training.turns.data import CORPORA
from training.turns.report import assess

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]

EPISODES = {"friends": 6, "frasier": 5, "friends_dashes": 6}
FILMS = {
    **{
        corpus: [f"{corpus.removesuffix('_dashes')}/s01e{number:02d}" for number in range(1, count + 1)]
        for corpus, count in EPISODES.items()
    },
    "dailydialog": [f"talk {number}" for number in range(5)],
    "weak": [
        f"{show}/s01e{number:02d}" for show in ("friends", "frasier") for number in range(1, 7)
    ],  # learned from, but not measured on
}
RECIPE = {
    "seed": 0,
    "corpora": [*FILMS],
    "test_shows": ["friends", "frasier"],
    "test_corpora": [*EPISODES],
    "episodes": 3,
    "least_confidence": 0.5,
    "learners": {
        "svm": {"features": {"bits": 10}, "epochs": 2, "held_out": 3},
        "net": {"embedding": 4, "filters": 4, "evidence": 4, "hidden": 8, "epochs": 2, "sentences": 60, "least": 2},
    },
    "ablation": {"learner": "svm", "show": "frasier"},
    "learning_curve": {"show": "frasier", "shares": [0.6, 1.0]},
}


def run(folder, *more, recipe=RECIPE):
    """Run the script with the cache of a folder; return what each model was fitted to and measured on."""
    (folder / "turns.yaml").write_text(yaml.safe_dump(recipe, sort_keys=False), encoding="utf-8")
    splits, measured = [], benches.Bench.scores

    def scores(self, name, learner, train, test, settings=None):
        splits.append((name, self.corpus, train, test))
        return measured(self, name, learner, train, test, settings)

    arguments = [
        "--data-dir",
        str(folder / "none"),
        "--recipe",
        str(folder / "turns.yaml"),
        "--cache",
        str(folder / "cache"),
        *map(str, more),
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(benches.Bench, "scores", scores)
        patch.setattr(sys, "argv", ["train_turn_segmenter.py", *arguments])
        script.main()
    return splits


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Return the folder of a whole training, and its splits."""
    folder = tmp_path_factory.mktemp("turns")
    (folder / "cache" / "documents").mkdir(parents=True)
    for corpus, films in FILMS.items():
        seed = len(corpus.removesuffix("_dashes"))
        documents = labelled([(corpus, film, film) for film in films], sentences=12, seed=seed).cast(labels.LABELLED)
        pq.write_table(documents, folder / "cache" / "documents" / f"{corpus}.parquet")
    return folder, run(folder, "--report", folder / "report", "--out", folder / "weights")


def test_nothing_is_learned_from_what_is_measured_on(trained):
    _, splits = trained
    names = ["without friends", "without frasier", "other episodes", "ablation all", "share 0.6", "share 1"]
    assert set(names) <= {name for name, *_ in splits}
    for name, corpus, train, test in splits:
        assert train.any() and test.any()
        assert not set(corpus.keys[train]) & set(corpus.keys[test]), name
        if name != "other episodes":
            assert not set(corpus.shows[train]) & set(corpus.shows[test]), name
        assert set(np.array(corpus.table["corpus"].to_pylist())[test]) <= set(EPISODES)
    known = {name: (corpus.shows[train], corpus.shows[test]) for name, corpus, train, test in splits}
    assert set(known["without friends"][0]) == {"frasier", "dailydialog"} and set(known["without friends"][1]) == {
        "friends"
    }
    assert set(known["other episodes"][0]) == {"friends", "frasier", "dailydialog"}
    held = [
        key
        for name, corpus, _, test in splits
        if name == "other episodes"
        for key in corpus.keys[test]
        if key.startswith("friends ")
    ]
    assert held and all(held.count(key) == 4 for key in held), "by two learners, in both forms of an episode"


def test_reports_tell_of_both_splits(trained):
    folder, _ = trained
    shows, episodes = (
        json.loads((folder / "report" / name / "report.json").read_text())
        for name in ("unseen_shows", "unseen_episodes")
    )
    assert list(shows["scorers"]) == list(episodes["scorers"]) == ["blend", "svm", "net", "rules"]
    assert shows["scorers"]["net"]["seams"] == 17 * 11
    assert shows["scorers"]["net"]["documents"] == 17 > episodes["scorers"]["net"]["documents"] > 0
    assert set(shows["sources"]["net"]) == set(EPISODES)
    assert [row["features"] for row in shows["ablation"]] == [
        "all",
        *(f"without {group}" for group in GROUPS),
        "the paper's seven",
    ]
    assert shows["ablation"][0]["accuracy_difference"] == 0
    assert [row["scorer"] for row in shows["learning_curve"]] == ["svm", "svm", "net", "net"]
    assert episodes["ablation"] == episodes["learning_curve"] == []
    assert "## Learning curve" in (folder / "report" / "unseen_shows" / "report.md").read_text()


def test_learning_curve_is_over_the_seams_learned_from(trained):
    folder, _ = trained
    found = json.loads((folder / "report" / "unseen_shows" / "report.json").read_text())["learning_curve"]
    sizes = [row["seams"] for row in found]
    assert sizes[:2] == sizes[2:]
    assert 0 < sizes[0] < sizes[1] == (6 + 6 + 5 + 6) * 11


@pytest.mark.parametrize(("learner", "kind"), [("svm", SvmScorer), ("net", NetScorer)])
def test_weights_are_of_all_documents_and_have_a_record(trained, learner, kind):
    folder, _ = trained
    scorer = kind.load(folder / "weights" / learner)
    corpus = benches.Corpus.load(folder / "none", folder / "cache", RECIPE["corpora"])
    assert scorer.identity == benches.LEARNERS[learner][0](corpus.table, RECIPE["learners"][learner]).identity
    scores = scorer.same_turn(corpus.table)
    assert np.isnan(scores).sum() == corpus.table.num_rows == 34
    assert ((scores >= 0) & (scores <= 1)).sum() == 34 * 11
    report = json.loads((folder / "report" / "unseen_shows" / "report.json").read_text())
    assert scorer.record["metrics"]["unseen_shows"]["all"]["accuracy"] == report["scorers"][learner]["accuracy"]
    assert set(scorer.record["metrics"]["unseen_episodes"]) == {"all", *EPISODES}
    assert (scorer.record["name"], scorer.record["settings"]) == (f"turns-{learner}", RECIPE["learners"][learner])
    assert scorer.record["data"]["friends"]["labelled"] == 6 * 11


def test_both_together_have_a_record_too(trained):
    folder, _ = trained
    scorer = BlendScorer.load(folder / "weights")
    report = json.loads((folder / "report" / "unseen_episodes" / "report.json").read_text())
    assert scorer.record["metrics"]["unseen_episodes"]["all"]["accuracy"] == report["scorers"]["blend"]["accuracy"]
    assert scorer.identity == "".join(
        kind.load(folder / "weights" / name).identity for name, kind in (("svm", SvmScorer), ("net", NetScorer))
    )


def test_a_second_training_takes_the_scores_of_the_first(trained, monkeypatch):
    folder, _ = trained

    def refuse(table, settings):
        raise AssertionError("fitted again")

    for name, (_, module) in benches.LEARNERS.items():
        monkeypatch.setitem(benches.LEARNERS, name, (refuse, module))
    run(folder, "--report", folder / "again")
    for part in ("unseen_shows", "unseen_episodes"):
        assert (folder / "again" / part / "report.json").read_bytes() == (
            folder / "report" / part / "report.json"
        ).read_bytes()
    other = {**RECIPE, "learners": {"net": {**RECIPE["learners"]["net"], "seed": 1}}}
    with pytest.raises(AssertionError, match="fitted again"):
        run(folder, recipe=other)


class Halves:
    """Scores everything by a half."""

    def same_turn(self, table):
        return np.full(len(flat(table, "same_turn")), 0.5, np.float32)


def changed(table, name):
    """Return documents that differ in one column, of the same labels unless it is theirs."""
    rows = table.to_pylist()
    if name == "sentences":
        rows[0]["sentences"][1]["text"] = "Or not?"
    else:
        rows[0][name][1] = 0.3 if name == "label_confidence" else 1 - rows[0][name][1]
    return pa.Table.from_pylist(rows, schema=table.schema)


@pytest.mark.parametrize("name", ["nothing", "settings", "rows", "same_turn", "label_confidence", "sentences"])
def test_scores_are_kept_until_something_is_changed(name, tmp_path, monkeypatch):
    fitted = []

    def fit(table, settings):
        fitted.append(table)
        return Halves()

    monkeypatch.setitem(benches.LEARNERS, "net", (fit, "edos_dataset.segmentation.turns.net"))
    table = labelled([("mill", f"d{number}", f"f{number}") for number in range(4)], sentences=5)
    names = np.array([f"f{number}" for number in range(4)])
    train, test = np.array([True, True, False, False]), np.array([False, False, False, True])
    bench = benches.Bench(benches.Corpus(table, names, names), tmp_path, {"net": {}}, lambda line: None)
    assert bench.scores("trial", "net", train, test).tolist() == [0.5] * 5
    if name in table.column_names:
        bench = replace(bench, corpus=benches.Corpus(changed(table, name), names, names))
    bench.scores("trial", "net", train ^ (name == "rows") & ~test, test, {"seed": 1} if name == "settings" else None)
    assert len(fitted) == (1 if name == "nothing" else 2)


def test_the_shipped_weights_alone_are_fitted_with_a_teacher_and_measured(trained, tmp_path):
    folder, _ = trained
    recipe = {**RECIPE, "kept_out": ["frasier"], "teacher": "rules", "untaught": ["weak"]}
    fitted = run(folder, "--ship-only", "--learners", "net", "--out", tmp_path, recipe=recipe)
    assert not fitted, "nothing else was fitted"
    record = NetScorer.load(tmp_path / "net").record
    assert record["metrics"]["unseen_shows"]["all"]["seams"] == 5 * 11
    assert record["data"]["weak"]["labelled"] == 6 * 11, "of the other show"
    assert list((folder / "cache" / "soft_labels").rglob("*.npy"))
    plain = run(folder, "--ship-only", "--learners", "net", "--out", tmp_path / "2", recipe={**recipe, "teacher": None})
    assert not plain and NetScorer.load(tmp_path / "2" / "net").identity != NetScorer.load(tmp_path / "net").identity


def test_a_teacher_is_not_measured_on_what_it_knows(trained, capsys):
    folder, _ = trained
    for recipe, more, message in (
        ({**RECIPE, "teacher": "rules"}, [], "the teacher 'rules' knows the shows that are measured on"),
        (RECIPE, ["--ship-only", "--out", folder / "x"], "--ship-only needs --out, and a recipe with shows that are"),
    ):
        with pytest.raises(SystemExit):
            run(folder, *more, recipe=recipe)
        assert message in capsys.readouterr().err


def test_a_scorer_without_new_turns_has_no_precision():
    table = labelled([("mill", f"d{number}", f"f{number}") for number in range(4)])
    scores = np.ones(len(flat(table, "same_turn")), np.float32)
    found = brief(assess("Trial", table, {"net": scores}, {"net": 0.5}), "net")
    assert found["all"]["precision"] is None
    assert found["all"]["recall"] == 0


def test_learners_are_chosen(trained, tmp_path, capsys):
    folder, _ = trained
    splits = run(folder, "--learners", "net", "--report", tmp_path)
    assert not any(name.startswith("ablation") for name, *_ in splits)
    found = json.loads((tmp_path / "unseen_shows" / "report.json").read_text())
    assert (list(found["scorers"]), found["ablation"], len(found["learning_curve"])) == (["net", "rules"], [], 2)
    assert "without friends, net: 16 documents learned from, 12 scored" in capsys.readouterr().out


def test_missing_data_are_explained(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("EDOS_DATA_DIR", raising=False)
    monkeypatch.setattr(sys, "argv", ["train_turn_segmenter.py", "--recipe", "r.yaml", "--cache", str(tmp_path)])
    with pytest.raises(SystemExit):
        script.main()
    assert "EDOS_DATA_DIR is not set: name the folder of the data sets" in capsys.readouterr().err
    with pytest.raises((ValueError, FileNotFoundError), match="none"):
        run(tmp_path)


@pytest.mark.parametrize("name", ["turns", "scripts"])
def test_shipped_recipes_name_what_there_is(name):
    recipe = yaml.safe_load(
        (Path(script.__file__).parent / "recipes" / "turns" / f"{name}.yaml").read_text(encoding="utf-8")
    )
    assert set(recipe["test_corpora"]) <= set(recipe["corpora"]) <= set(CORPORA)
    assert set(recipe["learners"]) <= set(benches.LEARNERS)
    benches.NetSettings(**recipe["learners"]["net"])
    named = {name for names in LICENCES for name in names.split(", ")}
    assert {corpus.removesuffix("_dashes").removesuffix("_plain") for corpus in recipe["corpora"]} <= named


def test_a_show_that_is_kept_out_is_measured_on_and_never_learned_from(trained, tmp_path):
    folder, _ = trained
    shutil.copytree(folder / "cache", tmp_path / "cache")
    splits = run(tmp_path, "--out", tmp_path / "out", "--learners", "net", recipe={**RECIPE, "kept_out": ["frasier"]})
    assert "without frasier" in {name for name, *_ in splits}
    record = json.loads((tmp_path / "out" / "net" / "record.json").read_text())
    assert set(record["data"]) == set(FILMS) - {"frasier", "frasier_plain"} != set(FILMS)
