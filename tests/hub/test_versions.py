"""Versions of the data: what changed between two of them, which step that asks for, and the changelog."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edos_dataset.hub.versions import (
    CHANGELOG,
    ConfigChange,
    Version,
    changelog,
    check_step,
    compare,
    needed,
    read_rows,
    versions_of,
)
from edos_dataset.labels import LABELS
from edos_dataset.schema import arrow_schema
from published_folder import dialogues, films_of

FILMS = films_of("train", 6)
NUMBERS = st.builds(Version, *[st.integers(0, 10_000)] * 3)


@pytest.mark.parametrize(("text", "version"), [("1.2.0", (1, 2, 0)), ("v1.2.0", (1, 2, 0)), ("0.0.10", (0, 0, 10))])
def test_parse(text, version):
    assert Version.parse(text) == Version(*version)


@pytest.mark.parametrize(
    "text", ["", "1", "1.2", "1.2.3.4", "01.2.3", "1.2.x", "V1.2.3", "1.2.3-rc1", " 1.2.3", "1.2.-3"]
)
def test_what_is_no_version(text):
    with pytest.raises(ValueError, match=r"three numbers, such as 1\.2\.0"):
        Version.parse(text)


@given(NUMBERS, NUMBERS)
def test_order_and_text(one, other):
    assert Version.parse(str(one)) == Version.parse(one.tag) == one
    assert (one < other) == ((one.major, one.minor, one.patch) < (other.major, other.minor, other.patch))
    assert one < one.after("patch") <= one.after("minor") <= one.after("major")


def test_only_versions_count_among_tags():
    assert versions_of({"v1.0.0": "a", "v1.10.0": "b", "latest": "c", "1.5.0": "d"}) == {
        Version(1, 0, 0): "a",
        Version(1, 10, 0): "b",
    }
    assert max(versions_of({"v1.9.0": "a", "v1.10.0": "b"})) == Version(1, 10, 0)


def rows(folder, table, split="train", files=1, columns=None):
    folder.mkdir(exist_ok=True)
    size = -(-len(table) // files)
    paths = {}
    for number in range(files):
        path = folder / f"{len(list(folder.iterdir()))}.parquet"
        pq.write_table(table.slice(number * size, size), path, row_group_size=2)
        paths[str(path)] = split
    return read_rows(paths, lambda path: path)


def edos(films=FILMS):
    return dialogues(films, "edos").select(arrow_schema("edos").names).cast(arrow_schema("edos"))


def with_turns(table, row, change):
    """Return the table with the turns of a row changed."""
    turns = table["turns"].to_pylist()
    turns[row] = change(turns[row])
    return table.set_column(
        table.schema.get_field_index("turns"),
        table.schema.field("turns"),
        pa.array(turns, table.schema.field("turns").type),
    )


def test_nothing_changed_whatever_the_files(tmp_path):
    table = edos()
    backwards = table.take(list(range(len(table)))[::-1])
    assert compare("edos", rows(tmp_path / "a", table), rows(tmp_path / "b", backwards, files=3)) == ConfigChange(
        "edos", 6, 6
    )


def test_rows_added_and_removed(tmp_path):
    change = compare("edos", rows(tmp_path / "a", edos(FILMS[:4])), rows(tmp_path / "b", edos(FILMS[1:])))
    assert change == ConfigChange("edos", 4, 5, added=2, removed=1)
    assert compare("edos", None, rows(tmp_path / "c", edos())) == ConfigChange("edos", 0, 6, added=6)
    assert compare("edos", rows(tmp_path / "d", edos()), None) == ConfigChange("edos", 6, 0, removed=6)


def relabel(turns):
    return [{**turns[0], "label": (turns[0]["label"] + 1) % 41}, *turns[1:]]


def reword(turns):
    return [turns[0], {**turns[1], "text": "I will!"}]


def unsure(turns):
    return [{**turn, "confidence": 0.25} for turn in turns]


@pytest.mark.parametrize(
    ("change", "labels", "texts"),
    [
        (relabel, 1, 0),
        (reword, 0, 1),
        (lambda turns: turns[::-1], 0, 1),  # both turns have the same label
        (lambda turns: turns[:1], 1, 1),
        (unsure, 0, 0),
    ],
)
def test_labels_and_texts(tmp_path, change, labels, texts):
    found = compare("edos", rows(tmp_path / "a", edos()), rows(tmp_path / "b", with_turns(edos(), 2, change)))
    assert found == ConfigChange("edos", 6, 6, labels=labels, texts=texts)


def test_labels_beside_the_turns_count_too(tmp_path):
    seed = pa.table({"dialogue_id": ["a", "b", "c"], "turns": [[{"text": "Hi."}]] * 3, "label": [1, 2, 3]})
    other = seed.set_column(2, "label", pa.array([1, 2, 4]))
    assert compare("amt_seed", rows(tmp_path / "a", seed), rows(tmp_path / "b", other)).labels == 1


def test_other_split(tmp_path):
    assert compare("edos", rows(tmp_path / "a", edos()), rows(tmp_path / "b", edos(), split="test")).moved == 6


def test_schema(tmp_path):
    table = edos()
    more = table.append_column("speaker", pa.array(["x"] * 6))
    found = compare("edos", rows(tmp_path / "a", table), rows(tmp_path / "b", more.drop_columns("language")))
    assert found.schema == ("column `language` was removed", "column `speaker` is new")
    names = [*LABELS[:-1], "calm"]
    metadata = {b"huggingface": table.schema.metadata[b"huggingface"].replace(f'"{LABELS[-1]}"'.encode(), b'"calm"')}
    found = compare("edos", rows(tmp_path / "c", table), rows(tmp_path / "d", table.replace_schema_metadata(metadata)))
    assert found.schema[0] == f"label names of `turns[].label`: {LABELS[-1]} removed; {names[-1]} new"
    assert compare(
        "os",
        rows(tmp_path / "e", pa.table({"dialogue_id": ["a"], "n": [1]})),
        rows(tmp_path / "f", pa.table({"dialogue_id": ["a"], "n": ["1"]})),
    ).schema == ("column `n` was int64 and is string",)


def test_no_ids(tmp_path):
    with pytest.raises(ValueError, match="dialogue_id"):
        rows(tmp_path / "a", pa.table({"text": ["a"]}))


PREVIOUS = Version(1, 2, 3)


@pytest.mark.parametrize(
    ("change", "step", "least"),
    [
        ({}, "patch", "1.2.4"),
        ({"labels": 5}, "patch", "1.2.4"),
        ({"added": 1}, "minor", "1.3.0"),
        ({"texts": 1}, "minor", "1.3.0"),
        ({"moved": 1}, "minor", "1.3.0"),
        ({"removed": 1, "added": 1}, "major", "2.0.0"),
        ({"schema": ("column `x` is new",)}, "major", "2.0.0"),
    ],
)
def test_steps(change, step, least):
    changes = [ConfigChange("os", 9, 9), ConfigChange("edos", 9, 9, **change)]
    least = Version.parse(least)
    assert needed(changes) == step
    for version in (least, least.after("patch"), Version(3, 0, 0)):
        check_step(version, PREVIOUS, changes)
    for version in (PREVIOUS.after("patch"), PREVIOUS.after("minor")):
        if version < least:
            with pytest.raises(
                ValueError, match=rf"{version} is too small .* {PREVIOUS}, .*config edos.*{least} or later"
            ):
                check_step(version, PREVIOUS, changes)


def test_changelog():
    first = changelog("", Version(1, 0, 0), None, [ConfigChange("edos", 0, 1200, added=1200)])
    change = ConfigChange(
        "edos", 1200, 1300, added=150, removed=50, labels=7, texts=3, moved=2, schema=("column `x` is new",)
    )
    second = changelog(first, Version(2, 0, 0), Version(1, 0, 0), [change])
    assert first.startswith("# Data changelog\n")
    assert "\n## 1.0.0\n\nThe first version.\n" in first
    assert "| `edos` | 1,200 |" in first
    assert second.index("## 2.0.0") < second.index("## 1.0.0")
    assert "| `edos` | 1,300 | 150 | 50 | 7 | 3 | 2 |" in second
    assert "- Config `edos`: column `x` is new." in second
    assert second.endswith(first[first.index("## 1.0.0") :])
    assert second.count("# Data changelog") == 1
    assert changelog(second, Version(2, 0, 0), Version(1, 0, 0), [change]) == second  # again, the same
    assert CHANGELOG == "DATA_CHANGELOG.md"


def test_a_tag_that_only_looks_like_a_version_is_left_out():
    assert versions_of({"v01.0.0": "a", "1.0.0": "b", "v1.0.0": "c"}) == {Version(1, 0, 0): "c"}
