"""`edos label` as a user sees it: JSON lines and folders, killed and started again, in several processes, on bad
inputs.
"""

import json
import os
import subprocess

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command_line import edos
from edos_dataset.commands.label import label
from edos_dataset.labeling.models.labelers import load_labeler
from edos_dataset.labels import LABELS
from edos_dataset.publishing.layout import write_config
from edos_dataset.publishing.splits import split_of
from edos_dataset.schema import DIALOGUES
from small_models import WORDS, save_dialogue_classifier

DIALOGUE = '{"dialogue_id": "a", "turns": ["oh no !", "sorry"]}\n'


def random_dialogues(count):
    generator = np.random.default_rng(0)
    lengths = generator.integers(0, 6, count)
    return [[" ".join(generator.choice(WORDS, generator.integers(1, 12))) for _ in range(length)] for length in lengths]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("label")
    save_dialogue_classifier(folder / "model")
    save_dialogue_classifier(folder / "other", seed=1, softmax_temperature=2.0)
    rows = [
        {"dialogue_id": f"«{number}»", "turns": turns, "more": 1} for number, turns in enumerate(random_dialogues(60))
    ]
    (folder / "in.jsonl").write_text(
        "\n".join(json.dumps(row, ensure_ascii=number % 2 == 0) for number, row in enumerate(rows)) + "\n\n",
        encoding="utf-8",
    )
    return folder


@pytest.fixture(scope="module")
def labelled(folder):
    out = folder / "out.jsonl"
    done = edos(
        "label", folder / "in.jsonl", "--model", folder / "model", "--out", out, "--workers", 1, "--device", "cpu"
    )
    assert done.exit_code == 0, done.stderr
    assert "turns of 60 dialogues labelled by model@" in done.stdout
    return out


def read(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def test_lines_may_go_to_standard_output_and_nothing_else_does(folder, labelled):
    """Not from several processes of a launcher."""
    command = ["label", folder / "in.jsonl", "--model", folder / "model", "--out", "-", "--workers", 1]
    done = edos(*command)
    assert done.stdout_bytes == labelled.read_bytes()
    assert "turns of 60 dialogues labelled by model@" in done.stderr
    done = edos(*command, "--engine", "accelerate")
    assert done.exit_code == 1 and "standard output is for one process" in done.stderr


def test_lines_come_in_order_with_the_labels_of_the_model(folder, labelled):
    found, given = read(labelled), read(folder / "in.jsonl")
    dialogues = [row["turns"] for row in given]
    expected = load_labeler(str(folder / "model")).predict_proba(dialogues)
    turns = [turn for row in found for turn in row["turns"]]
    assert [(row["dialogue_id"], [turn["text"] for turn in row["turns"]]) for row in found] == [
        (row["dialogue_id"], row["turns"]) for row in given
    ]
    assert [turn["label"] for turn in turns] == [LABELS[row] for row in expected.argmax(axis=1)]
    assert np.allclose([turn["confidence"] for turn in turns], expected.max(axis=1), atol=1e-5)
    for turn in turns:
        assert list(turn) == ["text", "label", "confidence", "top"]
        assert turn["top"][0] == {"label": turn["label"], "probability": turn["confidence"]}
        assert (
            len(turn["top"]) == 3
            and turn["top"][0]["probability"] >= turn["top"][1]["probability"] >= turn["top"][2]["probability"]
        )
    assert sorted(path.name for path in folder.iterdir()) == ["in.jsonl", "model", "other", "out.jsonl"]


class Stopped(Exception):
    pass


def stop_after(shards):
    def progress(_, done, *__):
        if done == shards:
            raise Stopped

    return progress


def test_a_stopped_run_goes_on_and_ends_in_the_same_bytes(folder, tmp_path):
    model, settings = folder / "model", {"shard_turns": 30}
    whole = label(folder / "in.jsonl", model, out=tmp_path / "whole.jsonl", **settings)
    assert whole["shards"] >= 4 and whole["reused"] == 0
    out = tmp_path / "out.jsonl"
    out.write_text("old\n")
    with pytest.raises(Stopped):
        label(folder / "in.jsonl", model, out=out, **settings, force=True, progress=stop_after(3))
    assert out.read_text() == "old\n"
    made = sorted((tmp_path / "out.jsonl.parts" / ".run" / "01-annotate").glob("*.parquet"))
    assert len(made) == 3
    made[1].write_bytes(b"damaged")
    again = label(folder / "in.jsonl", model, out=out, **settings, force=True)
    assert again == {**whole, "reused": 2}
    assert out.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.jsonl", "whole.jsonl"]


def test_another_model_or_input_starts_anew(folder, tmp_path):
    model, out, settings = folder / "model", tmp_path / "out.jsonl", {"shard_turns": 30}
    source = tmp_path / "in.jsonl"
    source.write_bytes((folder / "in.jsonl").read_bytes())
    with pytest.raises(Stopped):
        label(source, model, out=out, **settings, progress=stop_after(3))
    with pytest.raises(Stopped):
        label(source, folder / "other", out=out, **settings, progress=stop_after(2))
    source.write_text(DIALOGUE + source.read_text("utf-8"), "utf-8")
    assert label(source, model, out=out, **settings)["reused"] == 0
    assert read(out)[0]["dialogue_id"] == "a" and len(read(out)) == 61


def test_processes_of_a_launcher_share_the_work(folder, labelled, commands, tmp_path):
    out, signs = tmp_path / "out.jsonl", tmp_path / "signs"
    signs.mkdir()
    script = tmp_path / "script.py"
    script.write_text(
        "import pathlib; from accelerate import PartialState; from edos_dataset import label\n"
        f"done = label({str(folder / 'in.jsonl')!r}, {str(folder / 'model')!r}, out={str(out)!r}, "
        "shard_turns=30, engine='accelerate', device='cpu')\n"
        "state = PartialState()\n"
        f"pathlib.Path({str(signs)!r}, f'{{state.process_index}} of {{state.num_processes}} {{state.backend}} "
        "{bool(done)}').touch()\n"
    )
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "--no-python"]
    command = [commands / "python", *launch, commands / "python", script]
    done = subprocess.run(
        command,
        env={**os.environ, "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in signs.iterdir()) == ["0 of 2 gloo True", "1 of 2 gloo False"]
    one = label(folder / "in.jsonl", folder / "model", out=tmp_path / "one.jsonl", shard_turns=30)
    assert one["shards"] >= 4
    assert out.read_bytes() == (tmp_path / "one.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"dialogue_id": "b", "turns": ["x"]', "is not JSON"),
        ('["x"]', "line 2: expected"),
        ('{"dialogue_id": "b"}', "{'dialogue_id': 'b'}; correct"),
        ('{"dialogue_id": 7, "turns": ["x"]}', "dialogue_id must be a string, got 7"),
        ('{"dialogue_id": "b", "turns": "x"}', "turns must be a list of texts, got 'x'"),
        ('{"dialogue_id": "b", "turns": ["x", {"text": "y"}]}', "but has {'text': 'y'}"),
        ('{"dialogue_id": "b", "turns": ["\\ud800"]}', "half a character"),
        ("[" * 100_000, "is not JSON"),
        (b"\xff", "is not UTF-8"),
    ],
)
def test_bad_lines_are_named(line, message, folder, tmp_path):
    source = tmp_path / "in.jsonl"
    source.write_bytes(DIALOGUE.encode() + (line if isinstance(line, bytes) else line.encode()))
    done = edos("label", source, "--model", folder / "model", "--out", tmp_path / "out.jsonl", "--workers", 1)
    assert done.exit_code == 1
    found = " ".join(done.stderr.split())
    assert f"{source}, line 2: " in found and message in found and ("correct" in found or "quotes" in found)
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere", "--out", "x"], "nowhere: there is no such file or folder"),
        (["empty.jsonl", "--out", "x"], "empty.jsonl contains no dialogues"),
        (["good.jsonl", "--out", "good.jsonl"], "good.jsonl is the source"),
        (["good.jsonl", "--out", "folder"], "folder is a folder"),
        (["good.jsonl", "--out", "empty.jsonl"], "empty.jsonl is there already: give another --out"),
        (["good.jsonl", "--out", "x", "--format", "xml"], "unknown format 'xml': expected one of jsonl, json"),
        (["good.jsonl", "--out", "missing/x"], "missing; make it first"),
        (["folder", "--out", "x"], "is an empty folder, not one that this package wrote"),
        (["good.jsonl", "--out", "x", "--model", "nothing"], "model 'nothing' is neither one of"),
        (["good.jsonl", "--out", "x", "--device", "gpu"], "'gpu' is none that torch knows"),
        (["good.jsonl", "--out", "x", "--device", "cuda:99"], "'cuda:99' is not there"),
    ],
)
def test_mistakes_are_explained(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "good.jsonl").write_text(DIALOGUE)
    (tmp_path / "folder").mkdir()
    before = sorted(tmp_path.rglob("*"))
    done = edos("label", *arguments)
    assert done.exit_code == 1
    assert message in " ".join(done.stderr.split())
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(("command", "out"), [("label", "x.jsonl"), ("report", "x.html")])
def test_nothing_came_out_if_all_records_are_bad(command, out, tmp_path):
    (tmp_path / "bad.jsonl").write_text('{"no": 1}\n{"no": 2}\n')
    done = edos(command, tmp_path / "bad.jsonl", "--skip-bad", "--out", tmp_path / out)
    said = " ".join(done.stderr.split())
    assert done.exit_code == 5 and "nothing came out" in said
    assert "only 2 bad records" in said and "line 1" in said and "got {'no': 1}" in said
    assert [path.name for path in tmp_path.iterdir()] == ["bad.jsonl"]


def published(folder, count=40):
    """Write a config "os" as `edos curate` does."""
    rows = []
    for number, turns in enumerate(turns for turns in random_dialogues(count) if turns):
        source = {"kind": "subtitle", "path": f"{number}.srt", "imdb_id": None, "year": 1999, "genres": []}
        texts = [{"text": text, "start": 1.0, "end": None, "sentence_ids": [3, 4]} for text in turns]
        rows.append(
            {
                "dialogue_id": f"d{number}",
                "document_id": f"{number}",
                "film": f"{number // 3}",
                "language": "en",
                "source": source,
                "turns": texts,
            }
        )
    pq.write_table(pa.Table.from_pylist(rows, schema=DIALOGUES), folder / "shard.parquet")
    write_config("os", [folder / "shard.parquet"], folder)
    (folder / "shard.parquet").unlink()
    return rows


def test_a_folder_keeps_its_rows_and_splits(folder, tmp_path):
    from datasets import load_dataset

    (tmp_path / "data").mkdir()
    given = {row["dialogue_id"]: row for row in published(tmp_path / "data")}
    done = edos("label", tmp_path / "data", "--model", folder / "model", "--out", "-")
    assert done.exit_code == 1 and "so the output is one too: give a folder as --out" in done.stderr
    done = edos(
        "label", tmp_path / "data", "--model", folder / "model", "--out", tmp_path / "new", "--workers", 1, "--top", 5
    )
    assert done.exit_code == 0, done.stderr
    found = load_dataset(str(tmp_path / "new"), "edos", cache_dir=tmp_path / "cache")
    rows = {row["dialogue_id"]: (split, row) for split in found for row in found[split]}
    assert rows.keys() == given.keys()
    probabilities = load_labeler(str(folder / "model")).predict_proba(
        [[turn["text"] for turn in row["turns"]] for row in given.values()]
    )
    labels = iter(probabilities.argmax(axis=1))
    for name, row in given.items():
        split, new = rows[name]
        assert split == split_of(row["film"])
        assert [{key: turn[key] for key in ("text", "start", "end", "sentence_ids")} for turn in new["turns"]] == row[
            "turns"
        ]
        assert all(
            turn["label"] == next(labels) and len(turn["top"]) == 5 and turn["label_source"].startswith("model@")
            for turn in new["turns"]
        )
    assert "model@" in (tmp_path / "new" / "README.md").read_text()
    assert edos("inspect", tmp_path / "new", "--dialogues", 1).exit_code == 0
    # once more, over the labels: the same bytes in another folder
    assert (
        edos(
            "label",
            tmp_path / "new",
            "--model",
            folder / "model",
            "--out",
            tmp_path / "again",
            "--workers",
            1,
            "--top",
            5,
        ).exit_code
        == 0
    )
    for path in (tmp_path / "new" / "edos").iterdir():
        assert (tmp_path / "again" / "edos" / path.name).read_bytes() == path.read_bytes()


def test_curate_takes_any_model(folder, tmp_path):
    (tmp_path / "films").mkdir()
    cues = "".join(
        f"{n}\n00:00:{n:02},000 --> 00:00:{n:02},900\n- {text}\n\n"
        for n, text in enumerate(["Where is your dog?", "I am so sorry.", "Oh no!"], 1)
    )
    (tmp_path / "films" / "film.srt").write_text(cues)
    models = ["--weak-model", folder / "other", "--model", folder / "model"]
    done = edos(
        "curate", tmp_path / "films", "--out", tmp_path / "out", "--workers", 1, "--set", "read.language=en", *models
    )
    assert done.exit_code == 0, done.stderr
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    stages = [count["stage"] for count in manifest["stages"]]
    assert "encode" not in stages and stages[-3:] == ["weak_label", "select", "annotate"]
    sources = {
        config: {
            turn["label_source"]
            for path in (tmp_path / "out" / config).glob("*")
            for row in pq.read_table(path).to_pylist()
            for turn in row["turns"]
        }
        for config in ("edos_initial", "edos")
    }
    assert {config: [source.partition("@")[0] for source in found] for config, found in sources.items()} == {
        "edos_initial": ["other"],
        "edos": ["model"],
    }
    assert all(
        f"`{source}`" in (tmp_path / "out" / "README.md").read_text() for found in sources.values() for source in found
    )
