"""The life of a data set, as its maker and its user see it: curate, publish, curate more, publish again, load both versions."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FILMS = Path(__file__).parents[2] / "edos_dataset" / "sample" / "films"
REPO = "ns/edos"
LOAD = """
import json, sys
from datasets import load_dataset
found = {}
for version in sys.argv[2:]:
    loaded = load_dataset(sys.argv[1], "os", revision=version)
    rows = {row["dialogue_id"]: [split, [turn["text"] for turn in row["turns"]]] for split, part in loaded.items() for row in part}
    streamed = load_dataset(sys.argv[1], revision=version, streaming=True)
    assert sorted(rows) == sorted(row["dialogue_id"] for part in streamed.values() for row in part)
    found[version] = rows
print(json.dumps(found))
"""


@pytest.fixture
def environment(hub, tmp_path):
    (tmp_path / "home").mkdir()
    return {**os.environ, **hub.environment(tmp_path / "home")}


def edos(environment, *arguments):
    done = subprocess.run([sys.executable, "-m", "edos_dataset", *map(str, arguments)], capture_output=True, text=True, timeout=300, env=environment)
    assert "Traceback" not in done.stderr
    return done


def curate(environment, out, *options):
    done = edos(environment, "curate", FILMS, "--out", out, "--no-labels", "--workers", "1", "--max-bad", "1", *options)
    assert done.returncode == 0, done.stderr
    return json.loads((out / "manifest.json").read_text())["configs"]["os"]["dialogues"]


def test_the_life_of_a_data_set(hub, environment, tmp_path):
    out, repo = tmp_path / "edos", ("--repo", REPO)

    few = curate(environment, out, "--limit", "8")
    first = edos(environment, "publish", out, *repo, "--version", "1.0.0")
    assert first.returncode == 0, first.stderr
    assert f'load_dataset("{REPO}", revision="v1.0.0")' in first.stdout
    again = edos(environment, "publish", out, *repo, "--version", "1.0.0")
    assert again.returncode == 0 and "already published" in again.stdout

    more = curate(environment, out)
    hub.fail("commit", cut="after")  # the answer is lost, the commit is made
    second = edos(environment, "publish", out, *repo, "--version", "1.1.0", "--json")
    assert second.returncode == 0, second.stderr
    (change,) = json.loads(second.stdout)["changes"]

    kept = hub.repos["datasets", REPO]
    assert [commit.title for commit in kept.log("main")] == ["Release 1.1.0", "Release 1.0.0", "initial commit"]
    loaded = subprocess.run(
        [sys.executable, "-c", LOAD, REPO, "v1.0.0", "v1.1.0"], capture_output=True, text=True, timeout=300, env=environment, cwd=tmp_path / "home"
    )
    assert loaded.returncode == 0, loaded.stderr
    old, new = json.loads(loaded.stdout).values()
    assert (len(old), len(new)) == (few, more)
    common = old.keys() & new.keys()
    assert common and all(old[name] == new[name] for name in common)  # the same text, in the same split
    assert (change["added"], change["removed"], change["texts"], change["moved"]) == (len(new.keys() - common), len(old.keys() - common), 0, 0)
    log = kept.at("main").files["DATA_CHANGELOG.md"].content.decode()
    assert log.index("## 1.1.0") < log.index("## 1.0.0")
    assert f"| `os` | {more} | {more - few} | 0 | 0 | 0 | 0 |" in log
