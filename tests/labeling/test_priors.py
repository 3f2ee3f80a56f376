"""Priors of labels: how answers are weighed, what a file of shares may hold, and what the output tells of them."""

import json

import numpy as np
import pyarrow as pa
import pytest

from command_line import edos
from edos_dataset import label
from edos_dataset.labeling.models.base import Labeler
from edos_dataset.labeling.models.labelers import load_labeler, register_labeler
from edos_dataset.labeling.priors import MEASURED, NAMED, as_priors, priors_of
from edos_dataset.labeling.stages import AnnotateDialogues
from edos_dataset.labels import LABELS
from edos_dataset.publishing.cards.tables import making_list
from edos_dataset.recipes.subtitles import pipeline_of
from edos_dataset.runs.recipes import dump_recipe, parse_recipe
from edos_dataset.schema import DIALOGUES

TEXTS = [["I lost my job.", "Oh no, what happened?"]]
ROWS = [{"dialogue_id": "a", "document_id": "a", "language": "en", "turns": [{"text": text} for text in TEXTS[0]]}]


class Sure(Labeler):
    """Gives half of every turn to joy, and states what it learned from."""

    label_set = ("anger", "joy", "rest")
    record = {"prior": {"anger": 1, "joy": 3, "rest": 4}}  # noqa: RUF012

    def predict_proba(self, dialogues):
        return np.tile(np.array([0.1, 0.5, 0.4], np.float32), (sum(map(len, dialogues)), 1))


class Silent(Sure):
    record = {}  # noqa: RUF012


class Lacking(Sure):
    record = {"prior": {"anger": 1, "joy": 3}}  # noqa: RUF012


class Several(Sure):
    threshold = 0.5


def weighed(labeler, priors):
    made = load_labeler(register_labeler(labeler, "sure"))
    return priors_of(made, as_priors(priors))(made.predict_proba([["a"]]))[0]


def test_new_shares_take_the_place_of_the_labelers_own():
    expected = np.array([0.1 * 0.5 / 0.125, 0.5 * 0.25 / 0.375, 0.4 * 0.25 / 0.5])
    assert np.allclose(weighed(Sure(), {"anger": 2, "joy": 1, "rest": 1}), expected / expected.sum())
    flat = np.array([0.1 / 0.125, 0.5 / 0.375, 0.4 / 0.5])
    assert np.allclose(weighed(Sure(), "none"), flat / flat.sum())
    assert np.allclose(weighed(Sure(), {"anger": 1, "joy": 3, "rest": 4}), [0.1, 0.5, 0.4])


def test_a_label_without_a_share_is_never_given():
    assert np.allclose(weighed(Sure(), {"anger": 1, "rest": 1})[1], 0)
    sure = type("Certain", (Sure,), {"predict_proba": lambda self, dialogues: np.eye(3, dtype=np.float32)[[1]]})
    assert np.isclose(weighed(sure(), {"anger": 1, "rest": 1}).sum(), 1)


def test_shares_of_films_and_crowd_are_known_for_the_shipped_models():
    """Else run `python evaluation/priors.py`, which measures them."""
    known = json.loads(MEASURED.read_text())
    for name in ("general", "dialogue", "weak", "fast"):
        labeler = load_labeler(name)
        assert known["models"][labeler.identity.partition("@")[0]]["identity"] == labeler.identity
        for priors in NAMED:
            assert priors_of(labeler, priors).factors.shape == (41,)
    for shares in (*known["corpora"].values(), *known["models"].values()):
        assert list(shares["shares"]) == list(LABELS) and sum(shares["shares"].values()) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("shares.json", '{"neutral": 3, "joyful": 1}'),
        ("shares.yaml", "neutral: 0.75\njoyful: 0.25\n"),
        ("shares.csv", "label,share\nneutral,75\njoyful,25\n"),
    ],
)
def test_files_of_shares(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    [turns] = label(TEXTS, model="fast", priors=tmp_path / name, top=41)
    assert {turn["label"] for turn in turns["turns"]} <= {"neutral", "joyful"}
    assert label(TEXTS, model="fast", priors={"neutral": 6, "joyful": 2}, top=41) == [turns]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.json", '{"neutral": 3,\n "joy": 1}', "a.json, line 2: unknown label 'joy': expected one of"),
        ("a.json", '{"neutral": 3,\n "joyful": -1}', "a.json, line 2: the share of 'joyful' is -1: give a number"),
        ("a.json", '{"neutral": 3,\n "joyful": "much"}', "a.json, line 2: the share of 'joyful' is 'much'"),
        ("a.json", '{"neutral": 3,\n "joyful": .inf}', "a.json, line 2: the share of 'joyful' is inf"),
        ("a.json", '{"neutral": 0}', "a.json: the shares of the priors sum to 0"),
        ("a.json", '["neutral"]', "a.json has no priors: expected {label: share}"),
        ("a.json", '{"neutral": 1, "neutral": 2}', "cannot read the priors"),
        ("a.csv", "neutral,3\n", "a.csv, line 1: expected the columns label,share, got 'neutral,3'"),
        ("a.csv", "label,share\nneutral,3\njoy,1\n", "a.csv, line 3: unknown label 'joy'"),
        ("a.csv", "label,share\nneutral,-3\n", "a.csv, line 2: the share of 'neutral' is -3.0"),
        ("a.csv", "label,share\nneutral,some\n", "a.csv, line 2: the share of 'neutral' is 'some'"),
        ("a.csv", "label,share\nneutral\n", "a.csv, line 2: expected a label and its share, got 'neutral'"),
        ("a.csv", "label,share\nsad,1\nsad,1\n", "a.csv, line 3: the label 'sad' stands there twice"),
        ("a.csv", "", "a.csv, line 1: expected the columns label,share"),
    ],
)
def test_what_is_wrong_with_a_file_is_told_with_its_line(tmp_path, name, content, said):
    (tmp_path / name).write_text(content)
    (tmp_path / "in.txt").write_text("Hello.\n")
    out = tmp_path / "out.jsonl"
    done = edos("label", tmp_path / "in.txt", "--model", "fast", "--priors", tmp_path / name, "--out", out)
    assert done.exit_code == 1 and said in " ".join(done.stderr.split()) and "Traceback" not in done.stderr
    assert not out.exists()


@pytest.mark.parametrize(
    ("labeler", "priors", "said"),
    [
        (Silent(), "none", "it does not say: state the shares"),
        (Lacking(), "none", "has no share of 'rest': give one above 0"),
        (Several(), "none", "exactly one label: leave it out"),
        (Sure(), "films", "are shares of the 41 labels of EDOS, and the labeler has anger, joy, rest"),
        (Sure(), "movies", "there is no file movies of --priors"),
        (Sure(), 3, "the priors are 3: give none, films, crowd"),
    ],
)
def test_priors_that_do_not_fit_are_refused(labeler, priors, said):
    with pytest.raises(ValueError, match=said):
        weighed(labeler, priors)


def test_a_model_at_an_endpoint_has_none():
    with pytest.raises(ValueError, match="'openai:any' at an endpoint names labels: leave it out"):
        AnnotateDialogues("openai:any", priors="none")


def test_labels_tell_their_priors():
    table = pa.Table.from_pylist(ROWS, schema=DIALOGUES)
    plain = AnnotateDialogues("fast")
    assert plain.source == load_labeler("fast").source and plain.inputs() == {"model": load_labeler("fast").identity}
    sources = {plain.source}
    for priors, name in (("none", "none"), ("films", "films"), ("crowd", "crowd"), ({"sad": 1.0}, "own")):
        stage = AnnotateDialogues("fast", priors=priors)
        turns = stage(table)["turns"].to_pylist()[0]
        assert {turn["label_source"] for turn in turns} == {stage.source} and stage.source.startswith(f"fast+{name}@")
        assert stage.inputs()["model"].startswith(f"fast+{name}@") and stage.inputs() != plain.inputs()
        assert stage.records()[stage.source]["priors"] == name
        sources.add(stage.source)
    assert len(sources) == 5
    assert "weighed by the shares of labels of films." in making_list(
        AnnotateDialogues("fast", priors="films").records()
    )
    assert "weighed" not in making_list(plain.records())


def test_a_recipe_holds_them(tmp_path):
    (tmp_path / "shares.csv").write_text("label,share\nneutral,3\n")
    for given, priors in (("crowd", "crowd"), (tmp_path / "shares.csv", {"neutral": 3.0})):
        [stage] = [
            item
            for item in pipeline_of(settings=[f"annotate.priors={given}"])
            if getattr(item, "name", "") == "annotate"
        ]
        assert stage.priors == priors
        known = {"annotate": AnnotateDialogues}
        assert parse_recipe(dump_recipe([stage]), "it", known) == [stage]
