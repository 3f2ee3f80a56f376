"""The same bytes from every engine: corpora × engines × numbers of workers and processes."""

import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from edos_dataset.commands.curate import curate
from edos_dataset.recipes.subtitles import subtitles_to_dialogues
from edos_dataset.runs.recipes import override
from edos_dataset.sources.inventory import find_films
from sudden_death import untimed

pytestmark = pytest.mark.slow
SAID = ["Where have you been?", "At the bank.", "No.", "Yes.", "You're late again.", "I lost my keys.", "Thank you!"]
SETTINGS = ["turns.scorer=rules", "cap.limit=10"]  # so that some utterances come too often


def film(number, lines):
    """A subtitle in which two people take turns; every third line is one that all films have."""
    cues = []
    for line in range(lines):
        said = f"In film{number} we say{line} what{number} nobody{line} hears{number}."  # in no other film
        text = SAID[(line // 3 + number) % len(SAID)] if line % 3 == 0 else said
        start = line * 2 + (line // 8) * 20  # scenes of eight lines
        times = f"{start // 60:02d}:{start % 60:02d},000 --> {(start + 1) // 60:02d}:{(start + 1) % 60:02d},500"
        cues.append(f"{line + 1}\n00:{times.replace('--> ', '--> 00:')}\n- {text}\n")
    return "\n".join(cues)


CORPORA = {
    "nothing to read": ["no subtitle at all"],
    "one film": [film(1, 40)],
    "the same film under many names": [film(1, 30)] * 6,
    "films of every size": [film(number, 10 + 25 * (number % 4)) for number in range(12)] + ["no subtitle at all"],
}
WORKERS = [("local", 1), ("local", 2), ("datasets", 1), ("datasets", 2)]

LAUNCHED = """
import json, sys
from pathlib import Path
if __name__ == "__main__":
    from test_matrix import CORPORA, make  # here, so that the workers import only what they work with
    for name in CORPORA:
        make(Path(sys.argv[1]) / name, Path(sys.argv[2]) / name, "accelerate", 1)
"""


def make(films, out, engine, workers):
    pipeline = override(subtitles_to_dialogues(), SETTINGS)
    return curate(find_films([films], "en"), out, pipeline, workers=workers, engine=engine, shard_sentences=100)


def content(out):
    """The shards, and all that is published, except the times and the machine in the manifest."""
    shards = {path.name: path.read_bytes() for path in (out / ".run").glob("0[1-9]-*/*.parquet")}
    return untimed(out), shards


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpora")
    for name, texts in CORPORA.items():
        (folder / name).mkdir()
        for number, text in enumerate(texts):
            odd = b"caf\xe9\n\xe2\x80\xae %d.srt" % number  # a name that is no text, in every corpus
            path = os.fsencode(folder / name) + (b"/film %d.srt" % number if number else b"/" + odd)
            Path(os.fsdecode(path)).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def expected(films, tmp_path_factory):
    """What one process of the default engine makes."""
    return by_one_process(films, tmp_path_factory.mktemp("expected"))


def by_one_process(films, folder):
    """Return what one process of the default engine makes of each of CORPORA."""
    for name in CORPORA:
        make(films / name, folder / name, "local", 1)
    return {name: content(folder / name) for name in CORPORA}


MORE = [("films of every size", engine) for engine in [("local", 4), ("datasets", 3), ("accelerate", 1)]]


@pytest.mark.parametrize(("corpus", "engine"), [*product(CORPORA, WORKERS[1:]), *MORE])
def test_the_same_bytes(films, expected, tmp_path, corpus, engine):
    variables = os.environ
    make(films / corpus, tmp_path / "out", *engine)
    assert content(tmp_path / "out") == expected[corpus]
    assert os.environ is variables  # rich, for one, holds that very object


def launch(count, code, *arguments, output=subprocess.PIPE, python=sys.executable, **environment):
    """Start processes as `accelerate launch` does; return them."""
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    paths = os.pathsep.join([os.path.dirname(__file__), *filter(None, sys.path)])
    common = {
        **os.environ,
        "PYTHONPATH": paths,
        "ACCELERATE_USE_CPU": "true",
        "OMP_NUM_THREADS": "1",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "WORLD_SIZE": str(count),
        "LOCAL_WORLD_SIZE": str(count),
        **environment,
    }
    return [
        subprocess.Popen(
            [python, "-c", code, *map(str, arguments)],
            env={**common, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=output,
            stderr=output,
            text=True,
        )
        for rank in range(count)
    ]


@pytest.mark.parametrize("count", [2, 4])
def test_launched_processes_make_the_same_bytes(films, expected, tmp_path, commands, count):
    python = sys.executable if count == 2 else commands / "python"  # the two have each an order of sets of its own
    processes = launch(count, LAUNCHED, films, tmp_path, python=python)
    for process in processes:
        output = process.communicate(timeout=240)
        assert process.returncode == 0, output
    assert {name: content(tmp_path / name) for name in CORPORA} == expected


def test_the_corpora_try_what_they_should(expected):
    manifests = {name: json.loads(files["manifest.json"]) for name, (files, _) in expected.items()}
    stages = {name: {stage["stage"]: stage for stage in facts["stages"]} for name, facts in manifests.items()}
    assert not stages["nothing to read"]["read"]["kept"]
    assert manifests["films of every size"]["quarantined"]
    assert stages["films of every size"]["cap"]["rejected"]["too_frequent"]
    assert stages["the same film under many names"]["films"]["rejected"] == {"same_film": 5}
    assert len(expected["films of every size"][1]) > 2 * 8
