"""`edos_dataset.label` and `edos_dataset.curate`: the calls of a notebook, and of a script that lacks its guard."""

import datetime
import multiprocessing
import subprocess
import sys

import datasets
import pandas as pd
import pytest

import edos_dataset
from edos_dataset.labels import LABELS
from edos_dataset.planning.measured import measured_apart
from edos_dataset.runs.engines.local import LocalEngine

DIALOGUES = [["I lost my job.", "Oh no, what happened?"], ["We won!"]]


def names(rows):
    if isinstance(rows, pd.DataFrame):
        rows = rows.to_dict("records")
    if "turns" not in rows[0]:
        ids = dict.fromkeys(row["id"] for row in rows)
        return [[row["label"] for row in rows if row["id"] == each] for each in ids]
    return [[turn["label"] for turn in row["turns"]] for row in rows]


@pytest.fixture(scope="module")
def expected():
    return names(edos_dataset.label(DIALOGUES, "fast"))


def test_lists(expected):
    assert expected[0] == ["devastated", "questioning"]
    (first, _) = edos_dataset.label(DIALOGUES, "fast", top=2)
    assert first["dialogue_id"] == "dialogue-1" and len(first["turns"][0]["top"]) == 2
    assert list(first["turns"][0]) == ["text", "label", "confidence", "top"]
    assert edos_dataset.label([], "fast") == []


@pytest.mark.parametrize(
    "given",
    [
        [tuple(turns) for turns in DIALOGUES],
        [{"turns": turns} for turns in DIALOGUES],
        [[{"role": "user", "content": text} for text in turns] for turns in DIALOGUES],
        [{"dialogue_id": number, "text": text} for number, turns in enumerate(DIALOGUES) for text in turns],
        pd.DataFrame({"turns": DIALOGUES}),
        pd.DataFrame({"said": DIALOGUES, "n": [1.0, float("nan")]}),
        pd.DataFrame([{"id": number, "text": text} for number, turns in enumerate(DIALOGUES) for text in turns]),
    ],
)
def test_what_is_in_memory(given, expected):
    column = "said" if isinstance(given, pd.DataFrame) and "said" in given else None
    assert names(edos_dataset.label(given, "fast", column=column)) == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("I lost my job.", "there is no such file or folder"),
        (["I lost my job."], "put the turns of one dialogue into a list of their own"),
        (7, "dialogues must be a list of dialogues"),
        ([7], "dialogue 1: expected"),
        ([["x"], [7]], "dialogue 2: turns must be a list of texts"),
        ([["x"], ["\ud800"]], "dialogue 2: '.*' is half a character"),
        ([{"role": "user", "content": "x"}], "a turn has 'role', but no dialogue_id"),
        ([{"id": "a", "turns": ["x"]}] * 2, "dialogue 2: dialogue 1 has the same dialogue_id"),
        (datasets.Dataset.from_dict({"n": [1]}), "data set, row 1: expected"),
        (datasets.Dataset.from_dict({"turns": []}), "the data set has no rows"),
        (datasets.Dataset.from_dict({"turns": [["x"]]}).to_iterable_dataset(), "an? IterableDataset cannot be"),
    ],
)
def test_what_is_no_dialogue_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        edos_dataset.label(given, "fast")


def test_a_data_set_keeps_its_columns(expected):
    of = datasets.ClassLabel(names=["a", "b"])
    features = {"turns": datasets.Sequence(datasets.Value("string")), "kind": of, "day": datasets.Value("date32")}
    given = datasets.Dataset.from_dict(
        {"turns": DIALOGUES, "kind": [1, 0], "day": [datetime.date(2020, 1, 1)] * 2}, datasets.Features(features)
    )
    found = edos_dataset.label(given, "fast")
    assert found.column_names == ["dialogue_id", "turns", "kind", "day"]
    assert found.features["kind"] == of and found["day"][0] == datetime.date(2020, 1, 1)
    label = found.features["turns"].feature["label"]
    assert label == datasets.ClassLabel(names=list(LABELS))
    assert [[label.int2str(turn["label"]) for turn in row["turns"]] for row in found] == expected
    both = edos_dataset.label(datasets.DatasetDict(one=given, two=given), "fast")
    assert isinstance(both, datasets.DatasetDict) and both["two"][0]["turns"] == found[0]["turns"]
    with pytest.raises(ValueError, match="no split 'three', but one, two"):
        edos_dataset.label(datasets.DatasetDict(one=given, two=given), "fast", split="three")


FILM = "".join(
    f"{n}\n00:00:{n:02},000 --> 00:00:{n:02},900\n- {text}\n\n"
    for n, text in enumerate(["Where is your dog?", "I am so sorry.", "Oh no!"], 1)
)
GUARD = 'if __name__ == "__main__":\n    '


@pytest.fixture
def films(tmp_path):
    (tmp_path / "films").mkdir()
    for number in range(2):
        (tmp_path / "films" / f"{number}.srt").write_text(FILM.replace("dog", f"dog {number}"))
    return tmp_path / "films"


def test_curate(films, tmp_path):
    done = edos_dataset.curate(films, tmp_path / "edos", weak_model="fast", model="fast", top=1)
    assert done.manifest["configs"].keys() == {"edos", "edos_initial", "os"}
    assert sum(part.num_rows for part in done.load().values()) == 1
    assert [row["response"] for part in done.load(view="flat").values() for row in part][-1] == "Oh no!"
    for wrong in ({"top": -1}, {"settings": ["nothing=1"]}, {"sources": tmp_path / "nowhere"}, {"out": films}):
        with pytest.raises(ValueError):
            edos_dataset.curate(**{"sources": films, "out": tmp_path / "other", "labels": True, **wrong})


CURATE = ("import edos_dataset", "edos_dataset.curate('films', 'edos', labels=False, workers=2)")
ENGINE = (
    "from edos_dataset.runs.engines.local import LocalEngine",
    "with LocalEngine(2) as engine: print(sorted(engine.map(abs, range(-9, 0))))",
)
MAPPED = (
    "from edos_dataset.runs.engines.datasets import DatasetsEngine",
    "with DatasetsEngine(2) as engine: print(sorted(engine.map(abs, range(-9, 0))))",
)


@pytest.mark.parametrize(("program", "guarded"), [(MAPPED, False), (CURATE, False), (ENGINE, False), (ENGINE, True)])
def test_a_script_with_workers_names_the_missing_guard(program, guarded, films, tmp_path, commands):
    script = tmp_path / "script.py"
    script.write_text(f"{program[0]}\n{GUARD if guarded else ''}{program[1]}\n")
    done = subprocess.run([commands / "python", script], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == (0 if guarded else 1), done.stderr
    if guarded:
        assert done.stdout == "[1, 2, 3, 4, 5, 6, 7, 8, 9]\n"
    else:
        last = done.stderr.strip().splitlines()[-1]
        assert 'if __name__ == "__main__":' in (done.stderr if program is MAPPED else last)
        assert "memory" not in last or "for the reason above" in last
        assert done.stderr.count("Traceback") <= 3  # of the parent alone: the pool's, and ours


OF_STDIN = (
    "import edos_dataset, sys",
    "print(sys.modules['__main__'].__file__)",
    "done = edos_dataset.segment('films', 'turns.jsonl', workers=2, shard_sentences=1, progress=False)",
    "print(done['documents'])",
    "class Mine: pass",
    "from edos_dataset.runs.engines.local import LocalEngine",
    "with LocalEngine(2) as engine: list(engine.map(Mine, [Mine]))",
)


def test_a_program_from_standard_input_has_workers(films, tmp_path):
    given = {"input": "\n".join(OF_STDIN), "cwd": tmp_path, "capture_output": True, "text": True, "timeout": 300}
    done = subprocess.run([sys.executable, "-"], **given)
    assert done.stdout.split() == ["<stdin>", "2"], done.stderr
    assert "Mine was defined in a notebook or console" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("start", [lambda: LocalEngine(1), lambda: measured_apart(None, [], 1)])
def test_what_a_worker_imports_starts_no_run(start, monkeypatch):
    monkeypatch.setattr(multiprocessing.current_process(), "_inheriting", True, raising=False)
    with pytest.raises(SystemExit) as end:
        start()
    assert end.value.code == 77
