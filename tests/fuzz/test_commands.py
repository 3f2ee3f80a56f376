"""Broken files through the commands that read them: one sentence or a whole result, never half of one."""

import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import strategies as st

from edos_dataset.labeling.models.labelers import load_labeler
from edos_dataset.labeling.models.shipped import SHIPPED
from edos_dataset.labels import LABELS
from edos_dataset.recipes.subtitles import pipeline_of
from edos_dataset.runs.recipes import dump_recipe
from fuzzing import check_counts, edos, fuzz, mutated, read_json

pytestmark = pytest.mark.slow

SRT = "".join(
    f"{number}\n00:00:{number:02},000 --> 00:00:{number:02},900\n{text}\n\n"
    for number, text in enumerate(["- Where have you been?\n- At the station.", "I'm so sorry.", "Don't be."] * 6, 1)
)
NUMBERS = (b"-1", b"0", b"1e999", b"NaN", b"Infinity", b"9223372036854775808", b"true", b"null", b"[]", b"{}", b'""')
NESTED = (b"[" * 5_000, b'{"a":' * 5_000, b"[[1],", b"\\ud800", b"\\u0000", b"\xff", b"\x00", b"\xef\xbb\xbf", b"\r")
JSON = (*NUMBERS, *NESTED, b'"turns"', b'"text"', b'"dialogue_id"', b",", b":", b"\n", b'"')
YAML = (
    *NUMBERS,
    *NESTED,
    b"&a ",
    b"*a",
    b"<<: *a",
    b"!!python/object:os.system ",
    b"? ",
    b"- ",
    b": ",
    b"\t",
    b"---\n",
)


# --- edos label -----------------------------------------------------------------------------------------------------

TURNS = ["I lost my job.", "Oh no, what happened?", "They closed the shop."]


def parquet() -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table({"id": [1, 1, 2], "text": TURNS, "time": [3, 1, 2]}), file)
    return file.getvalue()


def arrow() -> bytes:
    file = io.BytesIO()
    feather.write_feather(pa.table({"turns": [TURNS, TURNS]}), file, compression="uncompressed")
    return file.getvalue()


def workbook() -> bytes:
    book, file = openpyxl.Workbook(), io.BytesIO()
    for row in ([], ["Dialogue ID", "Text"], [1, "Hello."], [1, None], [2, 7]):
        book.active.append(row)
    book.save(file)
    return file.getvalue()


DIALOGUES = [{"dialogue_id": name, "turns": TURNS} for name in ("a1", "b2", "c3")]
LINES = "".join(json.dumps(row) + "\n" for row in DIALOGUES).encode()
INPUTS = {
    "jsonl": [LINES, b'{"messages": [{"role": "user", "content": "Hi."}]}\n'],
    "json": [json.dumps(DIALOGUES).encode()],
    "csv": [b"dialogue_id,text\na1,Hello there.\na1,Hello.\nb2,No!\n", b'text,note\n"Oh, ""no""",1\nYes,2\n'],
    "tsv": [b"Gespr\xe4ch;Zeit;Nachricht\r\n1;01.02.2024 10:00;Sch\xf6n!\r\n2;;Nein\r\n1;1.2.24;Ach so.\r\n"],
    "parquet": [parquet()],
    "arrow": [arrow()],
    "xlsx": [workbook()],
    "txt": [b"Hello there.\nHello.\n\nI lost my job.\nOh no!\n"],
}


def check_label(example: tuple[str, bytes], folder: Path) -> None:
    """All dialogues are labelled, or a sentence says which line is not a dialogue and nothing is written."""
    suffix, data = example
    source, out = folder / f"dialogues.{suffix}", folder / "out.jsonl"
    source.write_bytes(data)
    options = ("--model", "fast", "--workers", "1", "--device", "cpu")
    skipped = edos("label", source, "--out", folder / "out.csv", "--skip-bad", *options)
    (folder / "out.csv").unlink(missing_ok=True)
    done = edos("label", source, "--out", out, *options)
    assert done.exit_code or not skipped.exit_code, "what is read whole is read with --skip-bad"
    if done.exit_code:
        assert sorted(path.name for path in folder.iterdir()) == [source.name], "something is left of a failed call"
        return
    for line in out.read_text(encoding="utf-8").split("\n")[:-1]:
        turns = json.loads(line)["turns"]
        assert all(turn["label"] in LABELS for turn in turns)


def test_label() -> None:
    kinds = [st.tuples(st.just(suffix), mutated(seeds, JSON)) for suffix, seeds in INPUTS.items()]
    fuzz(st.one_of(*kinds), check_label)


# --- recipes --------------------------------------------------------------------------------------------------------

RECIPES = [dump_recipe(pipeline_of(labels=labels)).encode() for labels in (True, False)]
STAGES = [*(item.name for item in pipeline_of() if hasattr(item, "name")), "output", "nonsense"]
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.sampled_from([2**63, -1])),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=8,
)
NAMES = st.sampled_from(
    ["language", "max_bytes", "gap", "top", "keys", "by", "most", "memory", "model", "scorer", "threshold", "device"]
)
ITEMS = st.one_of(
    st.sampled_from(STAGES),
    st.dictionaries(st.sampled_from(STAGES), st.one_of(VALUES, st.dictionaries(NAMES, VALUES, max_size=3)), max_size=2),
    VALUES,
)
RECIPE = st.one_of(
    mutated(RECIPES, YAML),
    st.lists(ITEMS, max_size=8).map(lambda items: yaml.safe_dump({"stages": items}).encode()),
)


def check_recipe(data: bytes, folder: Path) -> None:
    """A recipe is run, or a sentence says what is wrong with it before a byte is read."""
    (folder / "films").mkdir()
    (folder / "films" / "a.srt").write_text(SRT)
    recipe = folder / "recipe.yaml"
    recipe.write_bytes(data)
    done = edos("curate", folder / "films", "--recipe", recipe, "--out", folder / "edos", "--dry-run")
    assert done.exit_code in (0, 1), done.stderr
    assert not (folder / "edos").exists()
    try:
        again = pipeline_of(recipe)
    except ValueError:
        assert done.exit_code == 1
        return
    (folder / "again.yaml").write_text(dump_recipe(again), encoding="utf-8")
    assert pipeline_of(folder / "again.yaml") == again


def test_recipes() -> None:
    fuzz(RECIPE, check_recipe)


# --- what lies in a folder of ours ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run, its films, and its labels without text."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "films").mkdir()
    for name in "abcdef":
        (folder / "films" / f"{name}.srt").write_text(SRT.replace("station", f"station {name}"))
    run_again(folder)
    assert edos("labels-only", folder / "edos", "--out", folder / "labels").exit_code == 0
    return folder


def run_again(folder: Path) -> int:
    options = ("--workers", "1", "--weak-model", "fast", "--model", "fast", "--set", "weak_label.top=3", "--json")
    done = edos("curate", folder / "films", "--out", folder / "edos", *options, files=6)
    if done.exit_code == 0:
        check_counts(json.loads(done.stdout))
    return done.exit_code


def published(folder: Path) -> dict[str, bytes]:
    """Return what a run shows, except its time."""
    found = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".run" not in path.parts and path.name != "manifest.json"
    }
    manifest = read_json(folder / "manifest.json")
    stages = [{key: stage[key] for key in ("stage", "read", "kept", "rejected")} for stage in manifest["stages"]]  # type: ignore[attr-defined]
    return {**found, "stages": json.dumps(stages).encode()}


def wounded(names: list[str]) -> st.SearchStrategy[list[tuple[str, bytes | None, int, int]]]:
    """Draw which files are changed, by what, and where; None removes the file."""
    change = st.tuples(
        st.sampled_from(names),
        st.one_of(st.none(), st.binary(max_size=30), st.sampled_from(JSON)),
        st.integers(0, 10**6),
        st.integers(0, 200),
    )
    return st.lists(change, min_size=1, max_size=3)


def wound(folder: Path, changes: list[tuple[str, bytes | None, int, int]]) -> None:
    for name, put, place, length in changes:
        path = folder / name
        if not path.exists():
            continue
        data = bytearray(path.read_bytes())
        path.unlink()  # it may be a link to the one that all examples are made from
        if path.suffix == ".json" and put in NUMBERS and length % 2:
            data = bytearray(with_value(bytes(data), json.loads(put), place))
        elif put is not None:
            place %= len(data) + 1
            data[place : place + length] = put
        if put is not None:
            path.write_bytes(data)


def with_value(text: bytes, value: object, place: int) -> bytes:
    """Return JSON in which one value is another one, for what only a whole file of the right form reaches."""
    try:
        content = json.loads(text)
    except ValueError:  # wounded already
        return text
    spots: list[tuple[dict[str, object] | list[object], str | int]] = []
    todo = [content]
    while todo:
        held = todo.pop()
        if isinstance(held, dict | list):
            keys = list(held) if isinstance(held, dict) else list(range(len(held)))
            spots += [(held, key) for key in keys]
            todo += [held[key] for key in keys]
    if not spots:
        return json.dumps(value).encode()
    held, key = spots[place % len(spots)]
    held[key] = value  # type: ignore[index]
    return json.dumps(content).encode()


def files_below(folder: Path, choose: Callable[[Path], bool]) -> list[str]:
    return [str(path.relative_to(folder)) for path in sorted(folder.rglob("*")) if path.is_file() and choose(path)]


def test_records(finished: Path) -> None:
    """Whatever happened to the private records of a run, the same command gives the same bytes, or says why not."""
    names = files_below(finished / "edos", lambda path: ".run" in path.parts and path.name != "lock")
    expected = published(finished / "edos")

    def check_records(changes: list[tuple[str, bytes | None, int, int]], folder: Path) -> None:
        shutil.copytree(finished, folder, dirs_exist_ok=True)
        wound(folder / "edos", changes)
        if run_again(folder) == 0:
            assert published(folder / "edos") == expected

    fuzz(wounded(names), check_records)


def test_published(finished: Path) -> None:
    """A damaged folder is read, or refused with a sentence, by all that read one."""
    names = files_below(finished / "edos", lambda path: ".run" not in path.parts)

    def check_published(changes: list[tuple[str, bytes | None, int, int]], folder: Path) -> None:
        run = folder / "edos"
        shutil.copytree(finished / "edos", run)
        wound(run, changes)
        edos("inspect", run, "--dialogues", "2", "--seed", "1")
        edos("labels-only", run, "--out", folder / "labels")
        edos("label", run, "--out", folder / "again", "--model", "fast", "--workers", "1", "--device", "cpu")
        edos("crowd", "select", run, "--per-label", "1", "--out", folder / "tasks.jsonl")

    fuzz(wounded(names), check_published)


def test_labels_without_text(finished: Path) -> None:
    """Published labels are attached to one's own text, or refused with a sentence."""
    names = files_below(finished / "labels", lambda path: ".run" not in path.parts)

    def check_labels(changes: list[tuple[str, bytes | None, int, int]], folder: Path) -> None:
        shutil.copytree(finished / "labels", folder / "labels")
        wound(folder / "labels", changes)
        done = edos(
            *("hydrate", folder / "labels", finished / "films", "--out", folder / "edos", "--workers", "1", "--json"),
            files=6,
        )
        if done.exit_code in (0, 3, 5):
            check_counts(json.loads(done.stdout))

    fuzz(wounded(names), check_labels)


# --- answers of people, and models ----------------------------------------------------------------------------------

ANSWERS = [
    b"task,worker,label\n" + b"".join(b"t%d,w%d,%s\n" % (n // 3, n % 3, LABELS[n // 9].encode()) for n in range(60)),
    b"".join(b'{"task": "t%d", "worker": "w%d", "label": "sad"}\n' % (n // 3, n % 3) for n in range(30)),
    b"Count,Index,DialogID,Dialog,Agreed emotion (2/3 vote),Worker 1 answer,Worker 2 answer,Worker 3 answer\n"
    b'1,1,d1,"Hi.; Oh no!",Sad,Sad,Sad,Angry\n2,2,d2,"Hi.; Yes!",Joyful,Joyful,Joyful,Joyful\n',
]


def check_answers(example: tuple[str, bytes], folder: Path) -> None:
    suffix, data = example
    answers = folder / f"answers.{suffix}"
    answers.write_bytes(data)
    edos("crowd", "agreement", answers, "--json")


def test_answers() -> None:
    fuzz(st.tuples(st.sampled_from(("csv", "jsonl")), mutated(ANSWERS, (*JSON, b",", b";", b"Sad"))), check_answers)


def check_model(example: tuple[str, list[tuple[str, bytes | None, int, int]]], folder: Path) -> None:
    """A damaged model is refused with a sentence, or gives probabilities."""
    name, changes = example
    model = folder / "model"
    shutil.copytree(SHIPPED[name].weights, model)
    wound(model, changes)
    try:
        found = load_labeler(str(model)).predict_proba([TURNS])
    except ValueError as error:
        assert 0 < len(str(error)) < 4_000
        return
    assert found.shape == (3, 41) and (found >= 0).all() and abs(found.sum(axis=1) - 1).max() < 1e-3


def test_models() -> None:
    kinds = {"fast": ["record.json", "static.safetensors"], "linear-weak": ["record.json", "head.safetensors"]}
    fuzz(st.one_of([st.tuples(st.just(name), wounded(files)) for name, files in kinds.items()]), check_model)
