"""The response model that ships: whole, small, and answering without a network."""

import json

import edos_dataset
from command_line import edos
from edos_dataset.generation.shipped import WEIGHTS
from edos_dataset.labeling.models.shipped import cards_folder
from edos_dataset.labels import LABELS
from edos_dataset.publishing.front_matter import split_card
from model_cards.render import render_responder

MOST = 25 * 10**6
FEW = {"beams": 4, "labeler": "fast", "device": "cpu"}


def test_chat_is_whole_and_small():
    files = [path for path in (WEIGHTS / "chat").rglob("*") if path.is_file()]
    assert {"packed.safetensors", "record.json", "metrics.json"} <= {path.name for path in files}
    assert sum(path.stat().st_size for path in files) <= MOST
    record = json.loads((WEIGHTS / "chat" / "record.json").read_text(encoding="utf-8"))
    assert record["task"] == "empathetic" and record["packing"]["perplexity_after"] > 1


def test_chat_answers_where_none_is_named_the_same_every_time(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    first, second = (edos_dataset.respond("I lost my job.", candidates=3, **FEW) for _ in range(2))
    assert first == second
    assert len({answer.label for answer in first[0]} & set(LABELS)) == 3
    assert all(answer.text.strip() and "\ufffd" not in answer.text for answer in first[0])
    assert sum(answer.probability for answer in first[0]) <= 1
    options = ("--candidates", 3, "--beams", 4, "--labeler", "fast", "--device", "cpu", "--json")
    done = edos("respond", "I lost my job.", *options)
    assert done.exit_code == 0 and json.loads(done.stdout)["answers"] == [answer.as_row() for answer in first[0]]


def test_chat_answers_as_it_is_asked_to():
    forced = [edos_dataset.respond("I lost my job.", label=label, **FEW)[0][0] for label in ("consoling", "joyful")]
    assert [answer.label for answer in forced] == ["consoling", "joyful"] and forced[0].text != forced[1].text


def test_its_card_says_the_flaws_first_and_is_as_rendered():
    card = (cards_folder() / "chat.md").read_text(encoding="utf-8")
    assert card == render_responder("chat", WEIGHTS / "chat"), "give `python -m model_cards.render`"
    flaws = split_card(card)[1].split("## ")[1]
    assert flaws.startswith("Know its flaws first") and "for non-commercial use" in flaws and "generic" in flaws
    assert "It comes with the package edos-dataset, as `chat`" in card and '$ edos respond "I lost my job."\n' in card
    assert "were then rounded to 8 bits: perplexity" in card
