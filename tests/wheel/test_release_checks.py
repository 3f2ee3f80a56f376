"""What stands before a release: tag, version and changelog agree, what was built is whole, and the workflow holds no
secret.
"""

import importlib.util
import io
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
if not (ROOT / ".ci").is_dir():
    pytest.skip("the scripts of a release are not installed", allow_module_level=True)


def script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / ".ci" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


check_dist, check_release = script("check_dist"), script("check_release")
ENTRY = "## [1.2.0] - 2026-03-01\n\n### Added\n- A thing.\n"
OLDER = "\n## [1.1.0] - 2026-01-01\n- Another.\n"


def checkout(folder, version="1.2.0", cited="1.2.0", changes=ENTRY + OLDER):
    (folder / "edos_dataset").mkdir()
    (folder / "edos_dataset" / "version.py").write_text(f'"""Doc."""\n\n__version__ = "{version}"\n')
    (folder / "CITATION.cff").write_text(f"cff-version: 9.9.9\nversion: {cited}\n")
    (folder / "CHANGELOG.md").write_text(f"# Changelog\n\n{changes}")
    return folder


@pytest.mark.parametrize("changes", [ENTRY + OLDER, "## [Unreleased]\n\n" + ENTRY + OLDER, ENTRY])
def test_notes_are_the_entry_of_the_tag(tmp_path, changes):
    assert check_release.release_notes("v1.2.0", checkout(tmp_path, changes=changes)) == "### Added\n- A thing."


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"version": "1.1.0"}, "the tag is v1.2.0, the version of edos_dataset/version.py is 1.1.0"),
        ({"cited": "1.1.0"}, "CITATION.cff cites version 1.1.0"),
        ({"changes": "## [Unreleased]\n- Not yet.\n\n" + ENTRY}, r"still has entries under \[Unreleased\]"),
        ({"changes": OLDER}, "it is 1.1.0 of 2026-01-01"),
        ({"changes": OLDER + "\n" + ENTRY}, "it is 1.1.0"),
        ({"changes": ENTRY.replace(" - 2026-03-01", "")}, "it is 1.2.0 of no date"),
        ({"changes": ""}, "it is none"),
        ({"changes": "## [1.2.0] - 2026-03-01\n" + OLDER}, "says nothing about 1.2.0"),
    ],
)
def test_what_does_not_agree_is_no_release(tmp_path, given, says):
    with pytest.raises(ValueError, match=says):
        check_release.release_notes("v1.2.0", checkout(tmp_path, **given))


def wheel(path, files):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {**files, "edos_dataset-1.2.0.dist-info/METADATA": b""}.items():
            archive.writestr(name, content)
    return path


def test_a_wheel_is_compared_with_the_checkout(tmp_path):
    files = {f"edos_dataset/{name}": name.encode() for name in (*check_dist.REQUIRED, "a.py")}
    path = tmp_path / "a.whl"
    assert check_dist.wheel_faults(wheel(path, files), files) == []
    without = {name: content for name, content in files.items() if not name.endswith("py.typed")}
    assert check_dist.wheel_faults(wheel(path, without), files) == ["a.whl lacks edos_dataset/py.typed"]
    assert check_dist.wheel_faults(wheel(path, without), without) == [
        "a.whl lacks edos_dataset/py.typed"
    ]  # nor does the checkout have it
    assert check_dist.wheel_faults(wheel(path, {**files, "tests/b.py": b""}), files) == [
        "a.whl holds tests/b.py, which is no file of the package"
    ]
    assert check_dist.wheel_faults(wheel(path, {**files, "edos_dataset/a.py": b""}), files) == [
        "a.whl holds another edos_dataset/a.py than the checkout"
    ]


def test_the_checkout_has_what_a_wheel_needs():
    found = check_dist.package_files(ROOT)
    assert {f"edos_dataset/{name}" for name in check_dist.REQUIRED} <= set(found)
    assert not [name for name in found if name.endswith(".pyc")]


def test_every_card_is_put_into_the_wheel():
    listed = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for path in (ROOT / "model_cards").glob("*.md"):
        assert f'"model_cards/{path.name}" = "edos_dataset/model_cards/{path.name}"' in listed


def test_an_sdist_lacks_nothing_and_has_no_by_products(tmp_path):
    def sdist(names):
        with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
            for name in names:
                archive.addfile(tarfile.TarInfo(f"a-1.2.0/{name}"), io.BytesIO())
        return check_dist.sdist_faults(tmp_path / "a.tar.gz")

    whole = [name + "x" if name.endswith("/") else name for name in check_dist.IN_SDIST]
    assert sdist(whole) == []
    assert sdist(whole[1:]) == [f"a.tar.gz lacks {check_dist.IN_SDIST[0]}"]
    assert sdist([*whole, "tests/__pycache__/a.pyc"]) == ["a.tar.gz holds tests/__pycache__/a.pyc, a by-product"]


def test_the_release_is_published_without_a_secret():
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    jobs = yaml.safe_load(text)["jobs"]
    assert "secrets." not in text
    assert [name for name, job in jobs.items() if "id-token" in job.get("permissions", {})] == ["publish"]
    assert jobs["publish"]["environment"] and jobs["publish"]["needs"] == "build"
    pinned = [step["uses"].partition("@")[2] for step in jobs["publish"]["steps"] if step["uses"].startswith("pypa/")]
    assert [len(name) for name in pinned] == [40]  # a commit, not a name that can move
