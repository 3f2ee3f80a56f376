"""Runs with a model at an endpoint, as `edos` makes them."""

import os
import signal
import subprocess
import sys
import threading

import pytest

import edos_dataset
from chat_server import ChatServer, by_length
from command_line import edos
from edos_dataset.augmentation.learners import check_learner
from edos_dataset.commands.endpoints import at_endpoint, shared_run, used
from edos_dataset.commands.options import run_options
from edos_dataset.generation.responder import Responder
from edos_dataset.labeling.models.endpoint import server as servers
from edos_dataset.labeling.stages import AnnotateDialogues
from sample_books import write_books

SECRETS = (b"hidden-word", b"hidden-token")


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """A cache of its own, and no long waits."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setattr(servers, "_WAIT", 0.01)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def secrets_in(folder):
    """The files of a folder that hold a secret."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in files if any(secret in path.read_bytes() for secret in SECRETS)]


def test_an_array_job_keeps_no_credentials_of_an_address(tmp_path, monkeypatch, caplog):
    """Its record of the command line has none; `edos merge` takes them from the environment."""
    caplog.set_level("DEBUG")
    source = write_books(tmp_path / "books", range(2), "en")
    with ChatServer() as server:
        url = server.url.replace("://", "://user:hidden-word@") + "?token=hidden-token"
        job = ["books", source, "--out", tmp_path / "out", "--model", "openai:m", "--base-url", url, "--workers", "1"]
        task = edos("-v", *job, "--shard", "1/2")
        assert task.exit_code == 0, task.stderr
        [record] = tmp_path.glob("out/.run/shares*.json")
        assert server.url in record.read_text() and not secrets_in(tmp_path)
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        done = edos("merge", tmp_path / "out", "--rest", "--workers", "1")
        assert done.exit_code == 0, done.stderr
        assert len(server.headers) > 2
        assert all(headers["Authorization"].startswith("Basic ") for headers in server.headers)
    assert (tmp_path / "out" / "manifest.json").exists() and not secrets_in(tmp_path)
    said = (task.output + task.stderr + done.output + done.stderr + caplog.text).encode()
    assert server.url.encode() in said and not any(secret in said for secret in SECRETS)


def test_what_the_tasks_of_a_run_needed_is_counted_together(tmp_path, monkeypatch):
    """Of an array job, whose merge makes no request, and of launched processes; another run begins at 0."""

    def stage(shard):
        asked = {"base_url": server.url, "run": shared_run(tmp_path / "out", shard)}
        [found] = at_endpoint([AnnotateDialogues("openai:m")], **asked)
        return found

    with ChatServer() as server:
        for shard, text in (("1/2", "I lost my job."), ("2/2", "We won!"), ("2/2", "Oh no.")):
            stage(shard).labeler.predict_proba([[text]])
        assert used([stage("0/2")], 0)["requests"] == len(server.requests) > 3
        assert used([stage("0/2")], 0)["requests"] == 0
        stage(None).labeler.predict_proba([["Well."]])
        assert used([stage("0/2")], 0)["requests"] == 0, "a run of one process counts alone"
        monkeypatch.setenv("WORLD_SIZE", "2")
        for text in ("One.", "Two."):
            stage(None).labeler.predict_proba([[text]])
        assert used([stage(None)], 0)["requests"] == 2, "of two processes"


@pytest.mark.parametrize("words", [["--base-url", "{}"], ["--base-url={}"]])
def test_a_command_line_that_is_kept_has_no_credentials(words):
    given = [word.format("https://user:hidden-word@host/v1?token=hidden-token") for word in words]
    with run_options(arguments=["label", "a@b", *given, "--top", "2"]) as options:
        kept = options.arguments
    assert kept == ["label", "a@b", *(word.format("https://host/v1") for word in words), "--top", "2"]


def test_a_killed_run_pays_for_no_answer_twice(tmp_path):
    """Two requests are waited for when it is killed: what was answered before them is on disk."""
    (tmp_path / "in.jsonl").write_text("".join(f'{{"turns": ["{"x" * number}"]}}\n' for number in range(1, 21)))
    held, go_on = threading.Semaphore(0), threading.Event()

    def answer(body):
        if server.requests.index(body) >= 9:
            held.release()
            go_on.wait(60)
        return by_length(body)

    with ChatServer(answer) as server:
        words = ["label", tmp_path / "in.jsonl", "--out", tmp_path / "out.jsonl", "--model", "openai:m"]
        words += ["--base-url", server.url, "--concurrency", "2", "--workers", "1"]  # all workers share the two
        here = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "HF_HOME": str(tmp_path / "hf")}
        process = subprocess.Popen([sys.executable, "-m", "edos_dataset", "-q", *map(str, words)], env=here)
        assert held.acquire(timeout=60) and held.acquire(timeout=60), process.poll()
        process.send_signal(signal.SIGKILL)
        assert process.wait(timeout=120) == -signal.SIGKILL
        go_on.set()
        paid = server.turns[2:9]  # the first two requests found out what the server accepts
        server.answer, server.requests = by_length, []
        done = edos(*words)
        assert done.exit_code == 0, done.stderr
    assert len(server.turns) == 20 - len(paid) == 13 and not set(server.turns) & set(paid)
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 20


def test_a_server_that_is_gone_is_told_at_the_beginning(tmp_path):
    known, new = [["Hello."], ["Bye."]], [["Hello."], ["Well."]]
    with ChatServer() as server:
        edos_dataset.label(known, "openai:m", base_url=server.url)
    gone = {"model": "openai:m", "base_url": server.url}
    with pytest.warns(UserWarning, match="failed at 2 tries .*without it only turns that it answered before"):
        done = edos_dataset.label(known, out=tmp_path / "known.jsonl", **gone)
    assert done["endpoint"]["requests"] == 0 and (tmp_path / "known.jsonl").exists()
    with pytest.warns(UserWarning), pytest.raises(ValueError, match="failed at 2 tries"):
        edos_dataset.label(new, out=tmp_path / "new.jsonl", **gone)
    (tmp_path / "one.jsonl").write_text('{"turns": ["Hello."]}\n')
    again = edos(
        "label", tmp_path / "one.jsonl", "--out", tmp_path / "o.jsonl", "--model", "openai:m", "--base-url", server.url
    )
    assert again.exit_code == 0 and "look whether the server runs there" in " ".join(again.stderr.split())


def test_commands_that_need_every_label_refuse_a_model_that_may_leave_some_out(tmp_path):
    (tmp_path / "a.txt").write_text("Hello.\n")
    (tmp_path / "labels.txt").write_text("joyful\n")
    with pytest.raises(ValueError, match="'openai:m' may leave turns without a label"):
        edos_dataset.evaluate(tmp_path / "a.txt", labels=tmp_path / "labels.txt", model="openai:m")
    with pytest.raises(ValueError, match="'openai:m' may leave turns without a label"):
        Responder(None, labeler="openai:m")
    with pytest.raises(ValueError, match="no learner 'openai:m'"):
        check_learner("openai:m")
