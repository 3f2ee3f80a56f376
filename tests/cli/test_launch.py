"""`accelerate launch -m edos_dataset ...`: several processes, one result, one voice."""

import json
import os
import socket
import subprocess

import pytest

from command_line import edos

DIALOGUES = [
    {"dialogue_id": str(number), "turns": ["I am so sorry.", "Why?", f"{number} dogs!"]} for number in range(9)
]


def launch(commands, *arguments):
    """Carry out `edos` in two processes, told what `accelerate launch` tells; return what each wrote and its code."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1]), "WORLD_SIZE": "2"}
    settings = {**os.environ, **address, "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}
    command = [commands / "edos", *map(str, arguments)]
    processes = [
        subprocess.Popen(
            command,
            env={**settings, "RANK": rank, "LOCAL_RANK": rank},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in ("0", "1")
    ]
    written = [process.communicate(timeout=600) for process in processes]
    return [(*texts, process.returncode) for texts, process in zip(written, processes, strict=True)]


def test_two_processes_label_and_one_tells(commands, tmp_path):
    source, out = tmp_path / "dialogues.jsonl", tmp_path / "labelled.jsonl"
    source.write_text("".join(json.dumps(dialogue) + "\n" for dialogue in DIALOGUES))
    (told, shown, code), follower = launch(commands, "label", source, "--model", "fast", "--out", out, "-v")
    assert code == 0, shown
    assert told.startswith("27 turns of 9 dialogues labelled by") and told.count("\n") == 1
    assert "annotate: 1 shard" in shown
    assert (follower[0], "annotate: 1 shard" in follower[1], follower[2]) == ("", False, 0)
    labelled = [json.loads(line) for line in out.read_text().splitlines()]
    assert [dialogue["dialogue_id"] for dialogue in labelled] == [dialogue["dialogue_id"] for dialogue in DIALOGUES]


def test_two_processes_curate_and_one_tells(commands, tmp_path):
    films = tmp_path / "films"
    assert edos("sample", films).exit_code == 0
    (told, shown, code), follower = launch(
        commands, "curate", films / "srt", "--no-labels", "--out", tmp_path / "two", "--json"
    )
    assert code == 0, shown
    assert (follower[0], follower[2]) == ("", 0)
    two = json.loads(told)
    one = edos("curate", films / "srt", "--no-labels", "--out", tmp_path / "one", "--json")
    assert two["configs"] == json.loads(one.stdout)["configs"]
    files = sorted(path.relative_to(tmp_path / "one") for path in (tmp_path / "one" / "os").iterdir())
    different = [
        name for name in files if (tmp_path / "two" / name).read_bytes() != (tmp_path / "one" / name).read_bytes()
    ]
    assert files and not different


@pytest.mark.parametrize(
    ("engine", "world", "message"),
    [
        ("dataset", "1", "unknown engine 'dataset'; did you mean 'datasets'?"),
        ("spark", "1", "unknown engine 'spark'; there are local, accelerate, datasets, ray"),
        ("local", "2", "with 'local' every launched process would do all of the work"),
    ],
)
@pytest.mark.parametrize("command", ["curate", "segment", "label"])
def test_a_wrong_engine_is_wrong_usage(command, engine, world, message, monkeypatch, tmp_path):
    monkeypatch.setenv("WORLD_SIZE", world)
    monkeypatch.setenv("COLUMNS", "200")
    done = edos(command, tmp_path, "--out", tmp_path / "out", "--engine", engine)
    assert done.exit_code == 2 and message in done.stderr
    assert not list(tmp_path.iterdir())
