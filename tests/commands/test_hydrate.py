"""`edos hydrate`: the text of labels comes back byte for byte, and what one's own files lack is told, never guessed."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from command_line import edos
from edos_dataset.commands.curate import curate
from edos_dataset.commands.hydrate import hydrate
from edos_dataset.commands.labels_only import labelling, labels_only, text_stages
from edos_dataset.recipes.subtitles import subtitles_to_edos
from edos_dataset.runs.folder import FolderError
from edos_dataset.runs.recipes import override
from edos_dataset.sources.inventory import find_films
from two_scenes import FILM

SAMPLE = Path(__file__).parents[2] / "edos_dataset" / "sample" / "films"
PARTS = ("ass", "srt", "vtt", "broken")
CHANGED, CUT, DAMAGED = "vtt/orchard-station.vtt", "ass/line-four.ass", "ass/the-lantern-under-the-hill.ass"


def parquet(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.glob("edos*/*.parquet"))}


def rows_of(folder, config):
    return [
        (path.name.split("-")[0], row)
        for path in sorted((folder / config).glob("*.parquet"))
        for row in pq.read_table(path).to_pylist()
    ]


def in_label_order(run):
    """The rows of the config "edos", train first."""
    return sorted(rows_of(run, "edos"), key=lambda entry: ("train", "validation", "test").index(entry[0]))


def missing(folder):
    return [json.loads(line) for line in (folder / "missing.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    """A part of the sample, under the name that its ids have."""
    folder = tmp_path_factory.mktemp("sources") / "films"
    for part in PARTS:
        shutil.copytree(SAMPLE / part, folder / part)
    (folder / "own").mkdir()
    for name in ("ferry", "train", "wagon", "boat"):
        (folder / "own" / f"{name}.srt").write_text(FILM.format(name=name), encoding="utf-8")
    shutil.copytree(SAMPLE / "opus" / "xml" / "en" / "2004", folder / "xml" / "en" / "2004")  # one film in two files
    return folder


@pytest.fixture(scope="module")
def run(films, tmp_path_factory):
    """A run in which the corpus steps do something: utterances said more than once are capped, and not all dialogues
    are selected.
    """
    out = tmp_path_factory.mktemp("run") / "run"
    manifest = curate(
        find_films([films], "en"),
        out,
        override(
            subtitles_to_edos("fast", "fast"),
            ["films.share=null", "duplicates.share=null", "cap.limit=1", "select.top=45"],
        ),
    )
    rejected = {stage["stage"]: stage["rejected"] for stage in manifest["stages"]}
    assert rejected["cap"]["too_frequent"] > 0
    assert rejected["select"]["not_selected"] > 0
    lengths = sorted(len(row["turns"]) for _, row in rows_of(out, "edos") if "own/" in row["document_id"])
    assert lengths == [2, 2, 2, 4]  # the third turn stayed in one
    return out


@pytest.fixture(scope="module")
def labels(run, tmp_path_factory):
    out = tmp_path_factory.mktemp("labels") / "labels"
    assert edos("labels-only", run, "--out", out).exit_code == 0
    return out


def test_round_trip(run, labels, films, tmp_path):
    result = edos("hydrate", labels, films, "--out", tmp_path / "back", "--workers", 1)
    assert result.exit_code == 0, result.stderr
    back = parquet(tmp_path / "back")
    assert back
    assert back == {name: data for name, data in parquet(run).items() if name.startswith("edos/")}
    assert missing(tmp_path / "back") == []
    assert f"{len(back)} of {len(back)} files are byte for byte" in result.stdout
    assert "45 of 45 dialogues found" in result.stdout
    again = edos("hydrate", labels, films, "--out", tmp_path / "back", "--json", "--workers", 1)
    assert json.loads(again.stdout)["shards"]["made_now"] == 0
    assert parquet(tmp_path / "back") == back


def test_other_shards_workers_and_config_give_the_same(run, films, tmp_path):
    labels_only(run, tmp_path / "labels", "edos_initial")
    manifest = hydrate(tmp_path / "labels", [films], tmp_path / "back", workers=2, shard_sentences=40)
    assert manifest["shards"]["total"] > 3
    assert all(manifest["identical"].values())
    assert parquet(tmp_path / "back") == {
        name: data for name, data in parquet(run).items() if name.startswith("edos_initial/")
    }


def test_fewer_films_and_more_files_change_no_dialogue(run, labels, films, tmp_path):
    """What the cap and the choice among a film's files did to the run, one's own corpus must not undo."""
    mine = tmp_path / "films"
    for part in ("xml", "vtt", "broken"):
        shutil.copytree(films / part, mine / part)
    kept = {row["document_id"] for _, row in rows_of(run, "edos")}
    copy = next(path for path in sorted((mine / "xml").rglob("*.xml")) if f"2004/9000101/{path.stem}" in kept)
    better = copy.with_name("1.xml")  # reads before the labelled file of its film, and equals it
    better.write_bytes(copy.read_bytes())
    (mine / "kite.srt").write_text(FILM.format(name="kite"), encoding="utf-8")  # has no labels
    done = edos("hydrate", labels, mine, "--out", tmp_path / "back", "--workers", 1)
    assert done.exit_code == 3
    assert "are missing" in done.stderr
    others = ("films/ass", "films/srt", "films/own")
    expected = [entry for entry in rows_of(run, "edos") if not entry[1]["document_id"].startswith(others)]
    assert any("9000101" in row["document_id"] for _, row in expected)
    assert rows_of(tmp_path / "back", "edos") == expected
    lost = missing(tmp_path / "back")
    assert {entry["reason"] for entry in lost} == {"document_not_found"}
    assert [entry["dialogue_id"] for entry in lost] == [
        row["dialogue_id"] for _, row in in_label_order(run) if row["document_id"].startswith(others)
    ]
    assert edos("hydrate", labels, mine, "--out", tmp_path / "back", "--max-missing", 1).exit_code == 0


def test_renamed_files_are_found_by_what_is_said_in_them(run, labels, films, tmp_path):
    """Also beside copies of themselves and files of others; the rows are those of the run, whatever their order."""
    mine = tmp_path / "mine"
    for number, path in enumerate(sorted(path for path in films.rglob("*") if path.is_file())):
        other = mine / f"{number % 3}" / f"film {number}{''.join(path.suffixes)}"
        other.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, other)
        shutil.copy(path, other.with_name(f"copy of {other.name}"))
    (mine / "other.srt").write_text(FILM.format(name="kite"), encoding="utf-8")
    result = edos("hydrate", labels, mine, "--out", tmp_path / "back", "--workers", 1)
    assert result.exit_code == 0, result.stderr
    assert "documents have other names here" in result.stdout
    key = lambda entry: entry[1]["dialogue_id"]  # noqa: E731
    assert sorted(rows_of(tmp_path / "back", "edos"), key=key) == sorted(rows_of(run, "edos"), key=key)
    assert missing(tmp_path / "back") == []
    again = edos("hydrate", labels, mine, "--out", tmp_path / "back", "--json", "--workers", 1)
    assert json.loads(again.stdout)["shards"]["made_now"] == 0


@pytest.mark.parametrize("label", [200, -7])
def test_labels_that_are_none_are_refused(label, labels, films, tmp_path):
    copy = shutil.copytree(labels, tmp_path / "labels")
    path = next((copy / "labels_only").glob("train*.parquet"))
    table = pq.read_table(path)
    rows = table.to_pylist()
    rows[0]["turns"][0]["label"] = label
    pq.write_table(pa.Table.from_pylist(rows, table.schema), path)
    result = edos("hydrate", copy, films, "--out", tmp_path / "back", "--workers", 1)
    assert result.exit_code == 1 and not (tmp_path / "back" / "manifest.json").exists()
    assert f"holds the label {label}: labels are numbers from 0 to 40" in result.stderr


def test_each_reason(run, labels, films, tmp_path):
    """A word changed, all lines but one cut off, a file damaged, a file gone: each dialogue is right or listed."""
    mine = tmp_path / "films"
    shutil.copytree(films, mine)
    by_document = {}
    for _, row in in_label_order(run):
        by_document.setdefault(row["document_id"], []).append(row)
    changed, cut, damaged, gone = (
        f"films/{name}"
        for name in (CHANGED, CUT, DAMAGED, "srt/" + min(path.name for path in (films / "srt").iterdir()))
    )
    word = next(
        word
        for turn in by_document[changed][0]["turns"]
        for word in turn["text"].split()
        if word.isalpha() and len(word) > 5
    )
    text = (films / CHANGED).read_text(encoding="utf-8")
    (mine / CHANGED).write_text(text.replace(word, word[::-1]), encoding="utf-8")
    lines = (films / CUT).read_text(encoding="utf-8-sig").splitlines(keepends=True)
    events = [place for place, line in enumerate(lines) if line.startswith("Dialogue:")]
    (mine / CUT).write_text("".join(lines[: events[1]]), encoding="utf-8")
    (mine / DAMAGED).write_bytes(b"\0" * 100)
    (mine / gone.removeprefix("films/")).unlink()

    manifest = hydrate(labels, [mine], tmp_path / "back")
    listed = missing(tmp_path / "back")
    reasons = {entry["dialogue_id"]: entry["reason"] for entry in listed}
    found = rows_of(tmp_path / "back", "edos")
    assert found == [entry for entry in rows_of(run, "edos") if entry[1]["dialogue_id"] not in reasons]
    assert manifest["missing"] == {
        "dialogues": 45,
        "found": len(found),
        "reasons": {reason: list(reasons.values()).count(reason) for reason in sorted(set(reasons.values()))},
    }
    assert {reasons[row["dialogue_id"]] for row in by_document[damaged]} == {"document_not_read"}
    if gone in by_document:
        assert {reasons[row["dialogue_id"]] for row in by_document[gone]} == {"document_not_found"}
    first = next(entry for entry in listed if entry["dialogue_id"] == by_document[changed][0]["dialogue_id"])
    with_word = [place for place, turn in enumerate(by_document[changed][0]["turns"]) if word in turn["text"]]
    assert first["reason"] == "text_differs"
    assert first["turns"] == with_word
    assert {reasons.get(row["dialogue_id"]) for row in by_document[cut]} & {"dialogue_not_found", "text_differs"}


def test_nothing_found(labels, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    for name in ("kite", "cart", "sledge"):
        (other / f"{name}.srt").write_text(FILM.format(name=name), encoding="utf-8")
    result = edos("hydrate", labels, other, "--out", tmp_path / "back", "--workers", 1)
    assert result.exit_code == 3
    assert "0 of 45 dialogues found" in result.stdout
    assert len(missing(tmp_path / "back")) == 45
    assert parquet(tmp_path / "back") == {}


@pytest.mark.slow
def test_killed_and_started_again(run, labels, films, tmp_path, commands):
    script = tmp_path / "again.py"
    script.write_text(
        "import os, sys\nfrom pathlib import Path\nfrom edos_dataset.commands.hydrate import hydrate\n"
        "if __name__ == '__main__':\n"
        "    os.setsid()\n"
        "    print(os.getpid(), flush=True)\n"
        "    labels, films, out = map(Path, sys.argv[1:])\n"
        "    print(hydrate(labels, [films], out, shard_sentences=40)['shards']['made_now'])\n"
    )
    command = [commands / "python", script, labels, films, tmp_path / "back"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        started = int(process.stdout.readline())
        while process.poll() is None and len(list((tmp_path / "back" / ".run").glob("01-*/*.json"))) < 2:
            time.sleep(0.002)
        assert process.poll() is None, "it finished before two shards were seen"
        os.killpg(started, signal.SIGKILL)
    assert not (tmp_path / "back" / "edos").exists()
    assert not (tmp_path / "back" / "missing.jsonl").exists()
    made = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[1])
    total = json.loads((tmp_path / "back" / "manifest.json").read_text())["shards"]["total"]
    assert 0 < made <= total - 2
    assert parquet(tmp_path / "back") == {name: data for name, data in parquet(run).items() if name.startswith("edos/")}


@pytest.mark.slow
def test_changed_labels_are_seen(run, labels, films, tmp_path):
    mine = tmp_path / "labels"
    shutil.copytree(labels, mine)
    hydrate(mine, [films], tmp_path / "back")
    path = next((mine / "labels_only").glob("train-*"))
    table = pq.read_table(path)
    fewer = table.filter(pc.not_equal(table["document_id"], table["document_id"][0]))
    pq.write_table(fewer, path)
    with pytest.raises(FolderError, match="content of the labels is another; 1 film fewer"):
        hydrate(mine, [films], tmp_path / "back")
    assert not all(hydrate(mine, [films], tmp_path / "back", force=True)["identical"].values())
    assert len(rows_of(tmp_path / "back", "edos")) == 45 - len(table) + len(fewer)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda folder: (folder / "labels_only" / "manifest.json").unlink(), "edos labels-only"),
        (
            lambda folder: (folder / "labels_only" / "manifest.json").write_text("[]"),
            "not the manifest of `edos labels-only`",
        ),
        (
            lambda folder: (folder / "labels_only" / "manifest.json").write_text("{"),
            "not the manifest of `edos labels-only`",
        ),
        (lambda folder: (folder / "labels_only" / "recipe.yaml").unlink(), "recipe.yaml"),
        (lambda folder: (folder / "labels_only" / "recipe.yaml").write_text("stages:\n- red"), "did you mean 'read'"),
        (
            lambda folder: (folder / "labels_only" / "recipe.yaml").write_text("stages:\n- clean"),
            "does not begin with the stage 'read'",
        ),
        (lambda folder: shutil.rmtree(folder / "labels_only"), "edos labels-only"),
        (lambda folder: [path.unlink() for path in (folder / "labels_only").glob("*.parquet")], "holds no labels"),
        (
            lambda folder: next((folder / "labels_only").glob("train-*")).write_bytes(b"PAR1 cut"),
            "download or make it again",
        ),
    ],
)
def test_bad_labels(labels, films, tmp_path, spoil, says):
    mine = tmp_path / "labels"
    shutil.copytree(labels, mine)
    spoil(mine)
    result = edos("hydrate", mine, films, "--out", tmp_path / "back")
    assert result.exit_code == 1
    assert says in " ".join(result.stderr.split())
    assert not (tmp_path / "back").exists()


def test_folders_of_others_are_left_alone(run, labels, films, tmp_path):
    before = parquet(run)
    for command, message in (
        (("hydrate", labels, films, "--out", run), "give a new or empty folder"),
        (("labels-only", run, "--out", run), "is the source and would be lost"),
        (("hydrate", labels, films, "--out", labels), "is the source and would be lost"),
    ):
        result = edos(*command)
        assert result.exit_code == 1
        assert message in result.stderr
    assert parquet(run) == before
    assert (labels / "labels_only").is_dir()


def test_a_model_that_only_its_maker_has(monkeypatch):
    stages = override(subtitles_to_edos("fast", "fast"), ["annotate.model=/there/is/none"])
    assert [item.name for item in labelling(stages)] == ["weak_label"]
    assert [stage.name for stage in text_stages(stages)] == [
        "read",
        "lines",
        "sentences",
        "turns",
        "dialogues",
        "clean",
    ]
