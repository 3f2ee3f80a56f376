"""Labels by an endpoint, against a server on this machine that misbehaves as those of others do."""

import contextlib
import json
import math
import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import edos_dataset
from chat_server import CUT, ChatServer, by_length, labels_of, question_of, reply, spelled
from edos_dataset.label_sets import LabelSet, load_label_set
from edos_dataset.labeling.models.endpoint import server as servers
from edos_dataset.labeling.models.endpoint.answers import read_answer
from edos_dataset.labeling.models.endpoint.labeler import EndpointLabeler
from edos_dataset.labeling.models.endpoint.settings import Endpoint
from edos_dataset.labeling.models.labelers import load_labeler

KEY = "sk-of-nobody-0123456789"
SET = LabelSet("moods", ("good", "bad", "badly put"), definitions={"good": "All is well."}, examples={"good": "Hi."})


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """A cache of its own, a key, and no long waits."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setattr(servers, "_WAIT", 0.01)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def labeler(server, labels=SET, several=False, **settings):
    return EndpointLabeler("m", Endpoint(server.url, **settings), labels, several=several)


def found(server, dialogues, **settings):
    """The label of every turn, None without one."""
    rows = edos_dataset.label(dialogues, "openai:m", base_url=server.url, label_set=SET.as_dict(), **settings)
    return [turn["label"] for row in rows for turn in row["turns"]]


def on(turn, *answers):
    """Answer a turn with the next of some answers at each request, and others by their length."""
    rest = list(answers)
    return lambda body: rest.pop(0) if question_of(body)["turn"] == turn and rest else by_length(body)


def test_the_prompt_has_the_label_set_and_the_history_as_data():
    with ChatServer() as server:
        found(server, [["One.", "Two?", "Three!"]], history=1)
        body = server.requests[-1]
    system = body["messages"][0]["content"]
    assert '- good: All is well. Example: "Hi."' in system and labels_of(body) == list(SET.labels)
    assert {"history": ["Two?"], "turn": "Three!"} in map(question_of, server.requests)
    assert body["response_format"]["json_schema"]["schema"]["properties"]["label"]["enum"] == list(SET.labels)
    assert body["model"] == "m" and body["temperature"] == 0
    assert server.headers[-1]["Authorization"] == f"Bearer {KEY}"


def test_a_second_run_asks_nothing_and_repeated_questions_are_asked_once():
    dialogues = [["Hello."], ["Hello."], ["How are you?", "Fine."]]
    with ChatServer() as server:
        first = found(server, dialogues)
        asked = sorted(server.turns)
        assert asked == sorted(["Hello.", "Hello.", "How are you?", "Fine."])  # one found out what the server accepts
        assert found(server, dialogues) == first and len(server.turns) == len(asked)
        assert found(server, dialogues, history=0) == first
        assert len(server.turns) == len(asked) + 1  # "Fine." without its history is another question


@pytest.mark.parametrize(
    ("answer", "label"),
    [
        (reply('{"label": "bad"}'), "bad"),
        (reply('```json\n{"label": "Bad", "confidence": 0.9}\n```'), "bad"),
        (reply('<think>{"label": "good"}?</think>{"label": "badly_put"}'), "badly put"),
        (reply("Label: bad."), "bad"),
        (reply('"label": "bad", "confidence'), None),
        (reply("It is not bad."), None),
        (reply('{"label": "good"} or {"label": "bad"}'), None),
        (reply('{"label": "grim"}'), None),
        (reply('{"label": ["bad"]}'), None),
        (reply("[" * 100_000), None),
        (reply(""), None),
        (reply(None, message={"refusal": "I cannot."}), None),
        (reply('{"label": "bad"}', finish_reason="content_filter"), None),
        ({"choices": []}, None),
        ({"choices": [None]}, None),
        ((400, {"error": {"message": "your text is against our rules"}}, {}), None),
    ],
)
def test_an_answer_is_a_label_of_the_set_or_none(answer, label):
    with ChatServer(on("Odd.", *[answer] * 3)) as server, pytest.warns() if label is None else _no_warning():
        row = edos_dataset.label([["Odd."]], "openai:m", base_url=server.url, label_set=SET.as_dict())[0]
    turn = row["turns"][0]
    assert turn["label"] == label and len(turn["top"]) == (0 if label is None else 3)
    assert (turn["confidence"] is None) == (label is None)


def _no_warning():
    return contextlib.nullcontext()


def test_an_unusable_answer_is_asked_for_again_with_what_was_wrong():
    with ChatServer(on("Odd.", reply("Hm."), reply('{"label": "grim"}'), reply('{"label": "bad"}'))) as server:
        assert found(server, [["Odd."]]) == ["bad"]
        questions = [body["messages"][1]["content"] for body in server.requests[-3:]]
    assert "form" not in questions[0] and "not of the form" in questions[1] and "'grim' is no label" in questions[2]


def test_a_confidence_is_stated_or_1():
    for answer, sure in (('{"label": "bad", "confidence": 0.6}', 0.6), ('{"label": "bad"}', 1.0)):
        found = read_answer(reply(answer), SET, False)
        assert found.probabilities["bad"] == sure and math.isclose(sum(found.probabilities.values()), 1)
    assert (
        max(read_answer(reply('{"label": "bad", "confidence": 0}'), SET, False).probabilities.items(), key=_second)[0]
        == "bad"
    )


def _second(pair):
    return pair[1]


def test_probabilities_by_tokens_where_the_server_gives_them():
    tokens = spelled({'{"': 1}, {"label": 1}, {'":"': 0.9, '": "': 0.1}, {"bad": 0.6, "go": 0.3, "xx": 0.1})
    tokens += spelled({'"}': 0.5, "ly": 0.5})

    def answer(body):
        assert body["logprobs"] and "confidence" not in body["messages"][0]["content"]
        return reply('{"label":"bad"}', tokens)

    with ChatServer(answer) as server:
        asked = labeler(server)
        probabilities = asked.predict_proba([["Hm."]])[0]
        assert asked.record["confidence"].startswith("token probabilities")
    # "bad" ends with half of its 0.6, the other half begins "badly put"; what is no label does not count
    assert np.allclose(probabilities, [0.3 / 0.9, 0.3 / 0.9, 0.3 / 0.9])


def test_what_a_server_refuses_is_left_out_of_requests():
    def answer(body):
        if "logprobs" in body:
            return 400, {"error": {"message": "logprobs are not supported"}}, {}
        if body.get("response_format", {}).get("type") == "json_schema":
            return 422, {"detail": "unknown response_format"}, {}
        if "response_format" in body:
            return 400, {"error": "extra field"}, {}
        return reply(labels_of(body)[1])

    with ChatServer(answer) as server:
        assert found(server, [["Hello there."], ["Bye."]]) == ["bad", "bad"]
        assert len(server.requests) == 7  # logprobs of 20 and 5, two formats, one that is answered, the two turns
        assert found(server, [["Ah."]]) == ["bad"] and len(server.requests) == 8
    with ChatServer(lambda _: (400, {"error": "no"}, {})) as server, pytest.raises(ValueError, match="refuses every"):
        found(server, [["Ah."]])


def test_several_labels():
    content = {"labels": [{"label": "bad", "confidence": 0.9}, {"label": "good", "confidence": 0.4}]}
    with ChatServer(lambda _: reply(json.dumps(content))) as server:
        [row] = edos_dataset.label(
            [["Hm."]], "openai:m", base_url=server.url, label_set=SET.as_dict(), multi_label=True
        )
        assert "logprobs" not in server.requests[0]
    turn = row["turns"][0]
    assert turn["label"] == "bad" and [each["label"] for each in turn["labels"]] == ["bad"]
    assert [each["probability"] for each in turn["top"]] == [0.9, 0.4, 0]


def test_transient_failures_are_tried_again_and_a_wait_that_is_asked_for_is_kept():
    limited = (429, {"error": {"message": "slow down"}}, {"Retry-After": "1"})
    with ChatServer(on("Odd.", (503, {}, {}), CUT, limited)) as server:
        began = time.monotonic()
        assert found(server, [["Odd."]]) == found(server, [["Odd."]])
        assert time.monotonic() - began > 1 and len(server.requests) == 6  # two found out what the server accepts


def test_a_slow_answer_is_asked_for_again():
    slow = threading.Event()

    def answer(body):
        if len(server.requests) == 3:
            slow.wait(5)
        return by_length(body)

    with ChatServer(answer) as server:
        found(server, [["Odd."]], timeout=0.3)
        slow.set()
    assert server.turns.count("Odd.") == 2


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((401, {"error": {"message": f"wrong key {KEY}"}}, {}), "refuses the key .*set OPENAI_API_KEY"),
        ((404, {"error": {"message": "model 'm' not found"}}, {}), "no such model .*the name .m. "),
        ((429, {"error": {"message": "no money", "code": "insufficient_quota"}}, {}), "no credit"),
        ((429, {}, {"Retry-After": "7200"}), "wait for 7,200 seconds"),
        ((500, {"error": "broken"}, {}), "failed at 2 tries .500 .*broken"),
        ((301, {}, {"Location": "http://127.0.0.1:9/v1"}), "look at"),
        (reply("{}") | {"choices": None} and (200, [1], {}), "has no choices"),
    ],
)
def test_an_endpoint_that_cannot_be_used_is_reported_before_anything_is_written(answer, said, tmp_path):
    with ChatServer(lambda _: answer) as server, pytest.raises(ValueError, match=said) as raised:
        edos_dataset.label([["Hello."]], "openai:m", base_url=server.url, out=tmp_path / "out.jsonl")
    assert KEY not in str(raised.value) and not list(tmp_path.glob("out*"))


def test_an_endpoint_that_is_not_there():
    with ChatServer() as server:
        url = server.url
    with pytest.raises(ValueError, match=f"the endpoint {url} failed at 2 tries"):
        edos_dataset.label([["Hello."]], "openai:m", base_url=url)
    with pytest.raises(ValueError, match="give its address, base_url"):
        edos_dataset.label([["Hello."]], "openai:m")
    with pytest.raises(ValueError, match="is no address"):
        edos_dataset.label([["Hello."]], "openai:m", base_url="localhost:8000")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"base_url": "http://localhost:1/v1"}, "base_url is for models at an endpoint"),
        ({"multi_label": True}, "multi_label=True is for models at an endpoint"),
        ({"concurrency": 3}, "concurrency is for"),
        ({"dry_run": True}, "dry_run=True counts the requests"),
        ({"history": 3}, "history is for"),
    ],
)
def test_options_that_no_model_heeds_are_refused(settings, said):
    with pytest.raises(ValueError, match=said):
        edos_dataset.label([["Hello."]], "fast", **settings)


def test_requests_at_a_time_are_bounded():
    gate = threading.Barrier(3)

    def answer(body):
        if len(server.requests) > 2:
            with contextlib.suppress(threading.BrokenBarrierError):
                gate.wait(2)
        return by_length(body)

    with ChatServer(answer) as server:
        found(server, [[str(number)] for number in range(9)], concurrency=3)
    assert server.most == 3


def test_a_run_that_fails_in_the_middle_pays_for_nothing_twice(tmp_path):
    dialogues = [["x" * number] for number in range(1, 31)]

    def answer(body):
        return (401, {}, {}) if len(server.requests) > 12 else by_length(body)

    with ChatServer(answer) as server:
        out = tmp_path / "out.jsonl"
        with pytest.raises(ValueError, match="refuses the key"):
            edos_dataset.label(dialogues, "openai:m", base_url=server.url, out=out, concurrency=2)
        paid = server.turns[:12]
        assert not list(tmp_path.glob("out*"))
        server.answer, server.requests = by_length, []
        done = edos_dataset.label(dialogues, "openai:m", base_url=server.url, out=out, price_in=1.0, price_out=2.0)
    assert not set(server.turns) & set(paid) and len(server.turns) == 20
    asked = {"requests": 20, "cached": 10, "tokens_in": 2000, "tokens_out": 140, "unanswered": 0}
    assert done["endpoint"] == asked | {"cost": pytest.approx(2000e-6 + 2 * 140e-6)}


def test_no_secret_is_on_disk_or_in_messages(tmp_path, monkeypatch):
    monkeypatch.setenv("MY_KEY", "another-secret-key")
    with ChatServer() as server:
        url = server.url.replace("://", "://user:hidden-word@") + "?token=hidden-token"
        edos_dataset.label(
            [["Hello."]],
            "openai:m",
            base_url=url.replace("/v1?", "/v1/?"),
            api_key_env="MY_KEY",
            out=tmp_path / "o.jsonl",
        )
        assert server.headers[0]["Authorization"].startswith("Basic ")
    with pytest.raises(ValueError) as raised:
        edos_dataset.label([["Bye."]], "openai:m", base_url=url, api_key_env="MY_KEY")
    asked = EndpointLabeler("m", Endpoint(url, "MY_KEY"))
    written = [path.read_bytes() for path in Path(tmp_path).rglob("*") if path.is_file()]
    written += [str(text).encode() for text in (raised.value, asked.record, asked.identity, asked.endpoint)]
    assert any(path.suffix == ".sqlite" for path in tmp_path.rglob("*"))
    for secret in (b"hidden-word", b"hidden-token", b"another-secret-key", KEY.encode()):
        assert not any(secret in content for content in written)
    with pytest.raises(ValueError, match="no such variable"):
        edos_dataset.label([["Bye."]], "openai:m", base_url=url, api_key_env="ABSENT_KEY")


def test_a_dry_run_asks_nothing():
    dialogues = [["Hello.", "How are you?"], ["Hello."]]
    with ChatServer() as server:
        settings = {"base_url": server.url, "label_set": SET.as_dict()}
        need = edos_dataset.label(dialogues, "openai:m", dry_run=True, price_in=10.0, **settings)
        assert not server.requests
        assert (need["turns"], need["requests"], need["cached"]) == (3, 2, 0)
        edos_dataset.label(dialogues[1:], "openai:m", **settings)
        sent = sum(len(message["content"]) for message in server.requests[-1]["messages"])
        after = edos_dataset.label(dialogues, "openai:m", dry_run=True, price_in=10.0, **settings)
    assert (after["requests"], after["cached"]) == (2, 1)
    assert 0.15 * sent < after["tokens_in"] < 0.4 * sent and after["cost"] == pytest.approx(after["tokens_in"] * 1e-5)


def test_the_identity_has_all_that_decides_a_label(monkeypatch):
    one = Endpoint("http://a/v1")
    first = EndpointLabeler("m", one, SET)
    others = [
        EndpointLabeler("n", one, SET),
        EndpointLabeler("m", Endpoint("http://b/v1"), SET),
        EndpointLabeler("m", one, load_label_set("ekman7")),
        EndpointLabeler("m", one, SET, history=2),
        EndpointLabeler("m", one, SET, several=True),
    ]
    assert len({each.identity for each in [first, *others]}) == 6
    assert EndpointLabeler("m", Endpoint("http://u:p@a/v1/", concurrency=3), SET).identity == first.identity
    monkeypatch.setenv("OPENAI_BASE_URL", "http://a/v1")
    assert load_labeler("openai:qwen3:8b").source.startswith("openai:qwen3:8b@")


def test_a_damaged_cache_is_named(tmp_path):
    with ChatServer() as server:
        found(server, [["Hello."]])
        [path] = (tmp_path / "hf" / "edos" / "answers").glob("*.sqlite")
        path.write_bytes(b"no database" * 100)
        with pytest.raises(ValueError, match=f"{path.name}.*move the file away"):
            found(server, [["Hello."]])
    assert os.path.exists(path)
