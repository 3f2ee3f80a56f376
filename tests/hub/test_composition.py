"""Several folders in one repository: one card, all configs, and nothing that two of them claim."""

import json
import shutil

import pytest
from datasets import load_dataset

from edos_dataset.hub import publish as publishing
from edos_dataset.hub.composition import compose_cards, reading
from edos_dataset.publishing.front_matter import content_of, stated_content
from edos_dataset.publishing.labels_only import write_labels_only
from edos_dataset.runs.folder import FolderError
from edos_dataset.runs.shards import digest
from edos_dataset.schema import features
from published_folder import FILMS, V1, V11, content, films_of, remote, run

KEY = ("datasets", "ns/edos")
FACTS = {"fingerprint": "f00d", "versions": {}}


@pytest.fixture
def folders(tmp_path):
    whole = run(tmp_path / "whole" / "edos")
    write_labels_only(whole, tmp_path / "labels", "edos", FACTS, "stages: []\n", {})
    return [whole, tmp_path / "labels"]


def publish(hub, folders, version=V1, **options):
    with reading(folders) as found:
        return publishing.publish(found, remote(hub), version, **options)


def test_two_folders_are_one_data_set(hub, folders, tmp_path, monkeypatch):
    publish(hub, folders)
    commit = hub.repos[KEY].at("v1.0.0")
    assert {"manifest.json", "labels_only/manifest.json", "labels_only/recipe.yaml"} <= set(commit.files)
    there = tmp_path / "snapshot"
    for path in commit.files:
        (there / path).parent.mkdir(parents=True, exist_ok=True)
        (there / path).write_bytes(content(hub, commit, path))
    for config, columns in (
        ("edos", features("edos")),
        ("os", features("os")),
        ("labels_only", features("labels_only")),
    ):
        loaded = load_dataset(str(there), config, cache_dir=str(tmp_path / "cache"))
        assert loaded["train"].features == columns and sum(map(len, loaded.values())) == len(FILMS)
        assert str(loaded["train"].info.version) == "1.0.0"
    assert load_dataset(str(there), cache_dir=str(tmp_path / "cache"))["train"].features == features(
        "edos"
    )  # the first folder's default stays the default
    digests = {path.relative_to(there).as_posix(): digest(path) for path in there.rglob("*.parquet")}
    stated = stated_content((there / "README.md").read_text())
    assert stated == {config: content_of(config, digests) for config in ("edos", "os", "labels_only")}
    # What a user fetched can be published again, and is the same version.
    plan, _ = publish(hub, [there])
    assert plan.published == hub.repos[KEY].tags["v1.0.0"]


def test_order_decides_the_default(hub, folders):
    with reading(folders[::-1]) as found:
        card = found.files["README.md"].content.decode()
    assert (
        card.index("- config_name: labels_only") < card.index("- config_name: edos")
        and card.count("default: true") == 1
    )
    assert card.index("\n# Config `edos` and `os`") > card.index("labels of dialogues")


def test_a_folder_that_is_left_out_later_takes_a_major_step(hub, folders):
    publish(hub, folders)
    with pytest.raises(ValueError, match=r"config labels_only: 10 of 10 dialogues were removed.*2\.0\.0 or later"):
        publish(hub, folders[:1], V11)
    before = dict(hub.repos[KEY].tags)
    plan, _ = publish(hub, folders[:1], publishing.Version(2, 0, 0))
    assert (
        "labels_only/train-00000-of-00002.parquet" in plan.deletions and "labels_only/manifest.json" in plan.deletions
    )
    assert hub.repos[KEY].tags["v1.0.0"] == before["v1.0.0"]


def test_what_two_folders_claim_is_refused(hub, folders, tmp_path):
    other = run(tmp_path / "other" / "edos", films_of("train", 3), ("os",))
    with pytest.raises(FolderError, match=r"whole.*other.*both have the config 'os'"):
        publish(hub, [folders[0], other])
    (folders[0] / "audit.html").write_text("a")
    (folders[1] / "audit.html").write_text("b")
    with pytest.raises(FolderError, match=r"both have a file audit\.html"):
        publish(hub, folders)
    assert not hub.repos


def test_timings_of_a_run_are_no_content(hub, folders, tmp_path):
    facts = {
        "seconds": 3.5,
        "workers": 2,
        "shards": {"total": 1, "made_now": 1},
        "stages": [{"stage": "read", "read": 4, "seconds": 0.1, "per_second": 40.0}],
    }
    (folders[0] / "manifest.json").write_text(json.dumps(facts))
    publish(hub, folders[:1])
    published = json.loads(content(hub, hub.repos[KEY].at("v1.0.0"), "manifest.json"))
    assert published == {"shards": {"total": 1}, "stages": [{"stage": "read", "read": 4}]}
    again = tmp_path / "again"
    shutil.copytree(folders[0], again)
    (again / "manifest.json").write_text(json.dumps({**facts, "seconds": 9.0, "workers": 1}))
    plan, _ = publish(hub, [again])
    assert plan.published == hub.repos[KEY].tags["v1.0.0"]


def test_card_of_several(tmp_path):
    first = (
        "---\nlicense: other\ntags:\n- a\nconfigs:\n- config_name: x\n  default: true\ndataset_info:\n- "
        "config_name: x\n---\n# X\n\n## Load\n\ntext\n\n## Cite\n\nus\n"
    )
    second = (
        "---\nlicense: mit\ntags:\n- a\n- b\nconfigs:\n- config_name: y\n  default: true\ndataset_info:\n- "
        "config_name: y\n---\n# Y\n\n```python\n# no heading\n```\n\n## Cite\n\nus\n"
    )
    card = compose_cards([first, second])
    assert card == (
        "---\nlicense: other\ntags:\n- a\n- b\nconfigs:\n- config_name: x\n  default: true\n- config_name: "
        "y\ndataset_info:\n- config_name: x\n- config_name: y\n---\n"
        "# X\n\n## Load\n\ntext\n\n## Cite\n\nus\n\n# Config `y`\n\n## Y\n\n```python\n# no heading\n```\n"
    )
    assert compose_cards([first]) == first


def test_one_folder_is_published_as_it_is(folders):
    with reading(folders[:1]) as found:
        assert found.files["README.md"].content == (folders[0] / "README.md").read_bytes()
