"""The builders of `loading_scripts/` as scripts under datasets 3.6, the last that runs any, in an environment of its
own and without torch.
"""

import csv
import io
import json
import os
import site
import subprocess
import sys
import venv
from pathlib import Path

import pytest

import edos_dataset
from edos_dataset.labels import EMOTIONS
from edos_dataset.publishing.labels_only import write_labels_only
from extended_rows import counts, row, table, write_extended
from published_folder import films_of, publish

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]

OLD = ["datasets==3.6.0", "dill<0.3.9", "multiprocess<0.70.17", "fsspec<=2025.3.0"]
"""What datasets 3.6 does not share with later ones; all else is taken from the environment of the tests."""
NEWLY_FREE = [
    "requests",
    "urllib3",
    "idna",
    "certifi",
    "charset-normalizer",
]  # later versions of datasets do without requests
HEAVY = ["torch", "transformers", "sentence_transformers", "sklearn", "tensorflow", "jax"]
SCRIPT = f"""
import contextlib, json, sys
sys.modules.update(dict.fromkeys({HEAVY}))  # as if they were not installed
import datasets
assert datasets.__version__ == "3.6.0", datasets.__version__
for line in sys.stdin:
    script, folder, config = json.loads(line)
    with contextlib.redirect_stdout(sys.stderr):
        loaded = datasets.load_dataset(script, config, data_dir=folder, trust_remote_code=True)
    label = loaded["train"].features.get("label")
    names = label.names[:2] if label else None
    rows = {{split: part.to_list() for split, part in loaded.items()}}
    print(json.dumps({{"rows": rows, "names": names}}), flush=True)
"""
"""Loads what each line names, until there is none."""
PLAIN = """
import json, sys
import datasets
assert datasets.__version__ == "3.6.0", datasets.__version__
print(json.dumps([datasets.load_dataset(folder, split="train")["label"] for folder in sys.argv[1:]]))
"""
FILM = """<?xml version="1.0" encoding="utf-8"?><document id="1"><meta><source><year>1999</year></source></meta>
{sentences}</document>"""


@pytest.fixture(scope="module")
def old(tmp_path_factory):
    """A Python with datasets 3.6: a new environment that finds what it lacks in ours."""
    folder = tmp_path_factory.mktemp("old")
    venv.create(folder, with_pip=False, symlinks=os.name != "nt")
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    target = Path(
        subprocess.check_output(
            [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True
        ).strip()
    )
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-deps",
        "--disable-pip-version-check",
        "--target",
        target,
        *OLD,
        *NEWLY_FREE,
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        pytest.skip("datasets 3.6 does not install here: pip took more than a minute")
    if done.returncode:
        pytest.skip(f"datasets 3.6 does not install here: {done.stderr.strip().splitlines()[-1]}")
    ours = [
        path
        for path in map(Path, [*site.getsitepackages(), *sys.path])
        if path.name in ("site-packages", "dist-packages")
    ]
    (target / "ours.pth").write_text("".join(f"{path}\n" for path in dict.fromkeys(ours)))
    return python


def with_home(home):
    """Return the variables of a process with a Hugging Face home of its own."""
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "HF_HOME": str(home),
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        **dict.fromkeys(["USE_TORCH", "USE_TF", "USE_JAX"], "0"),
    }


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """The Hugging Face home of all that `load` loads."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def load(old, home):
    """Return a function that loads a config of a folder by one of our scripts, in one process that goes on."""
    errors = home / "errors"
    with (
        errors.open("w") as stderr,
        subprocess.Popen(
            [old, "-c", SCRIPT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            env=with_home(home),
            cwd=home,
        ) as process,
    ):

        def load(name, folder, config):
            assert process.poll() is None, errors.read_text()[-3000:]
            asked = [str(ROOT / "loading_scripts" / f"{name}.py"), str(folder), config]
            process.stdin.write(json.dumps(asked) + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
            assert answer, errors.read_text()[-3000:]
            return json.loads(answer)

        yield load


def write(path, *rows):
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.getvalue(), encoding="utf-8")


def test_crowd_labels(load, tmp_path):
    header = (
        "Count",
        "Index",
        "DialogID",
        "Dialog",
        "Agreed emotion (2/3 vote)",
        *(f"Worker {number} answer" for number in (1, 2, 3)),
    )
    write(
        tmp_path / "edos_amt" / "mturk_groundtruth_labels.csv",
        header,
        (1, "a", 7, "- Gone ?\n- It 's gone .", "Sad", "Sad", "Sad", "Joyful"),
    )
    loaded = load("edos_amt", tmp_path, "amt")
    (row,) = loaded["rows"]["train"]
    assert [turn["text"] for turn in row["turns"]] == ["Gone?", "It's gone."]
    assert (row["label"], len(row["answers"]), loaded["names"]) == (EMOTIONS.index("sad"), 3, list(EMOTIONS[:2]))


def test_extended_labels(load, tmp_path):
    write(
        tmp_path / "self_labeled_dialogs.csv",
        ("os_dialog_id", "emotion", "confidence", "os_dialog"),
        (300, "Afraid", 0.75, "- Who is there ?"),
    )
    (row,) = load("edos_extended", tmp_path, "self_labeled")["rows"]["train"]
    assert (row["dialogue_id"], row["label"], row["confidence"]) == ("300", EMOTIONS.index("afraid"), 0.75)


def test_empathetic_dialogues(load, tmp_path):
    header = ("conv_id", "utterance_idx", "context", "prompt", "speaker_idx", "utterance", "selfeval", "tags")
    for name in ("train", "valid", "test"):
        write(
            tmp_path / f"{name}.csv",
            header,
            (name, 1, "proud", "I won_comma_ yes", 4, "I won.", "", ""),
            (name, 2, "proud", "I won", 5, "Well done!", "", ""),
        )
    rows = load("empathetic_dialogues", tmp_path, "original")["rows"]
    assert {split: [row["dialogue_id"] for row in part] for split, part in rows.items()} == {
        "train": ["train"],
        "validation": ["valid"],
        "test": ["test"],
    }
    assert [turn["speaker"] for turn in rows["test"][0]["turns"]] == ["speaker", "listener"]
    for emotion in EMOTIONS:
        write(
            tmp_path / "unannotated" / f"{emotion}.csv",
            ("Dialog_ID", "Type", "Actor", "Text"),
            (f"h_{emotion}", "utterance", "speaker", "Hello_comma_ you."),
        )
    assert len(load("empathetic_dialogues", tmp_path, "unannotated")["rows"]["train"]) == len(EMOTIONS)


def test_subtitles_and_a_folder_of_this_package(load, home, tmp_path):
    """The run that the first builder leaves in the cache is what the second one reads."""
    said = [
        "Where did you put the keys?",
        "They are on the table.",
        "I looked there twice.",
        "Then the dog has them.",
        "Which dog?",
        "Ours, of course.",
    ]
    for film in range(6):
        sentences = [
            f'<s id="{number}"><time id="T{number}S" value="00:00:{2 * number:02},000" /><w>{film} {text}</w><time '
            f'id="T{number}E" value="00:00:{2 * number + 1:02},500" /></s>'
            for number, text in enumerate(said, 1)
        ]
        path = tmp_path / "subtitles" / "OpenSubtitles" / "xml" / "en" / "1999" / str(film + 1) / "7.xml"
        path.parent.mkdir(parents=True)
        path.write_text(FILM.format(sentences="\n".join(sentences)), encoding="utf-8")
    rows = load("opensubtitles", tmp_path / "subtitles", "os")["rows"]
    assert sum(map(len, rows.values())) >= 6
    (run,) = (home / "datasets" / "edos_runs").iterdir()
    assert load("edos_run", run, "os")["rows"] == rows


def test_labels_written_by_later_versions(load, tmp_path):
    """The builder reads what a later version of `datasets` wrote."""
    publish(tmp_path / "run", [*films_of("train", 3), *films_of("test", 2)], ["edos"])
    rows = load("edos_run", tmp_path / "run", "edos")["rows"]
    here = edos_dataset.load(str(tmp_path / "run"), "edos", cache_dir=str(tmp_path / "cache"))
    assert rows == {split: part.to_list() for split, part in here.items()}
    assert {split: len(part) for split, part in rows.items()} == {"train": 3, "test": 2}
    write_labels_only(tmp_path / "run", tmp_path / "labels", "edos", {}, "stages: []\n", {})
    hashes = load("edos_run", tmp_path / "labels", "labels_only")["rows"]
    assert [row["dialogue_id"] for row in hashes["train"]] == [row["dialogue_id"] for row in rows["train"]]
    assert len(hashes["test"][0]["turns"][0]["text_sha256"]) == 64


def test_a_folder_of_the_name_of_another_one(old, tmp_path):
    """Without a builder of ours, as everybody loads it; nothing but the labels differs."""
    for top, label in (("a", "sad"), ("b", "joyful")):
        write_extended(tmp_path / top / "seed", {"train": table([row("1", ["a"], label)])}, counts({"train": 1}))
    done = subprocess.run(
        [old, "-c", PLAIN, tmp_path / "a" / "seed", tmp_path / "b" / "seed"],
        capture_output=True,
        text=True,
        env=with_home(tmp_path / "home"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout.splitlines()[-1]) == [[EMOTIONS.index("sad")], [EMOTIONS.index("joyful")]]


def test_a_parquet_file_alone(old, tmp_path):
    """Its metadata names no type that only later versions know."""
    publish(tmp_path / "run", films_of("train", 3), ["edos"])
    (path,) = (tmp_path / "run" / "edos").glob("train*.parquet")
    read = "import sys, datasets as d; print(d.load_dataset('parquet', data_files=sys.argv[1])['train'][0]['turns'][0])"
    command = [old, "-c", read, path]
    done = subprocess.run(command, capture_output=True, text=True, env=with_home(tmp_path / "home"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "'label_source'" in done.stdout
