"""The life of a data set, as its maker and its user see it: curate, publish, curate more, publish again, load both
versions.
"""

import hashlib
import json
import subprocess
from pathlib import Path

FILMS = Path(__file__).parents[2] / "edos_dataset" / "sample" / "films"
REPO = "ns/edos"
CONFIGS = ("edos", "edos_initial", "os", "labels_only", "amt_seed")
LOAD = """
import json, sys
from datasets import load_dataset
from edos_dataset.schema import features
found = {}
for version in sys.argv[3:]:
    default = load_dataset(sys.argv[1], revision=version, streaming=True)
    found[version] = {}
    for config in sys.argv[2].split(","):
        loaded = load_dataset(sys.argv[1], config, revision=version)
        assert all(part.features == features(config) for part in loaded.values()), config
        rows = [(split, row) for split, part in loaded.items() for row in part]
        found[version][config] = {row["dialogue_id"]: [split, row["turns"]] for split, row in rows}
    assert sorted(found[version]["edos"]) == sorted(row["dialogue_id"] for part in default.values() for row in part)
print(json.dumps(found))
"""


def edos(environment, *arguments):
    result = subprocess.run(
        ["edos", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
    )
    assert "Traceback" not in result.stderr
    return result


def done(environment, *arguments):
    result = edos(environment, *arguments)
    assert result.returncode == 0, result.stderr
    return result.stdout


def curate(environment, out, *options):
    done(
        environment,
        "curate",
        FILMS,
        "--out",
        out,
        "--weak-model",
        "fast",
        "--model",
        "fast",
        "--workers",
        "1",
        "--max-bad",
        "1",
        *options,
    )
    return {
        config: entry["dialogues"]
        for config, entry in json.loads((out / "manifest.json").read_text())["configs"].items()
    }


def make_seed(environment, folder):
    """Write answers of three people to sixty dialogues, and the seed of them."""
    lines = []
    for number in range(60):
        dialogue = (
            f"How was day {number}?\nIt was day {number}, "
            f"{'and I was so scared' if number % 2 else 'and I could not be happier'}."
        )
        lines += [
            {"task": f"t{number}", "worker": f"w{worker}", "label": ("joyful", "afraid")[number % 2], "turns": dialogue}
            for worker in range(3)
        ]
    (folder / "answers.jsonl").write_text("\n".join(map(json.dumps, lines)))
    done(environment, "crowd", "seed", folder / "answers.jsonl", "--out", folder / "seed", "--near", "1")
    return folder / "seed"


def test_the_life_of_a_data_set(hub, environment, tmp_path):
    """Curate, publish with the seed and the labels alone, curate more films, publish again, and load both versions in a
    fresh process.
    """
    out, labels, seed, repo = tmp_path / "edos", tmp_path / "labels", make_seed(environment, tmp_path), ("--repo", REPO)

    # Of these films each split has one, so that none is moved to fill it.
    few = curate(environment, out, "--limit", "22")
    done(environment, "labels-only", out, "--out", labels)
    assert f'load_dataset("{REPO}", revision="v1.0.0")' in done(
        environment, "publish", out, labels, seed, *repo, "--version", "1.0.0"
    )
    assert "already published" in done(environment, "publish", out, labels, seed, *repo, "--version", "1.0.0")

    more = curate(environment, out)
    done(environment, "labels-only", out, "--out", labels)
    hub.fail("commit", cut="after")  # the answer is lost, the commit is made
    second = json.loads(done(environment, "publish", out, labels, seed, *repo, "--version", "1.1.0", "--json"))
    changes = {change["config"]: change for change in second["changes"]}

    kept = hub.repos["datasets", REPO]
    assert [commit.title for commit in kept.log("main")] == ["Release 1.1.0", "Release 1.0.0", "initial commit"]
    command = ["python", "-c", LOAD, REPO, ",".join(CONFIGS), "v1.0.0", "v1.1.0"]
    loaded = subprocess.run(
        command, capture_output=True, text=True, timeout=600, env=environment, cwd=tmp_path / "home"
    )
    assert loaded.returncode == 0, loaded.stderr
    old, new = json.loads(loaded.stdout).values()
    log = kept.at("main").files["DATA_CHANGELOG.md"].content.decode()
    assert log.index("## 1.1.0") < log.index("## 1.0.0")
    for config in CONFIGS:
        before, after, change = old[config], new[config], changes[config]
        if config in few:
            assert (len(before), len(after)) == (few[config], more[config])
        common = before.keys() & after.keys()
        assert common and all(
            before[name] == after[name] for name in common
        )  # the same texts and labels, in the same split
        expected = (len(after), len(after.keys() - common), len(before.keys() - common), 0, 0, 0)
        assert tuple(change[name] for name in ("after", "added", "removed", "labels", "texts", "moved")) == expected
        assert f"| `{config}` | {' | '.join(map(str, expected))} |" in log
    assert (
        new["labels_only"].keys() == new["edos"].keys() and "text" not in next(iter(new["labels_only"].values()))[1][0]
    )
    # Every file of data belongs to a config: what the card names is all that lies there.
    named = {path for path in kept.at("main").files if path.endswith(".parquet")}
    assert {path.split("/")[0] for path in named} == set(CONFIGS)
    # Labels and one's own subtitles give the text back, byte for byte that of the published files.
    back = json.loads(
        done(environment, "hydrate", labels, FILMS, "--out", tmp_path / "back", "--workers", "1", "--json")
    )
    assert all(back["identical"].values())
    for path in (tmp_path / "back" / "edos").iterdir():
        assert hashlib.sha256(path.read_bytes()).hexdigest() == kept.at("v1.1.0").files[f"edos/{path.name}"].sha256
