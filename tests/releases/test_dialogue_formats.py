"""Dialogues in whatever form: all forms give the same labels, what stood beside is kept, and what is wrong is said in
one sentence with its place.
"""

import gzip
import io
import json
import os
import sys
import threading

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import edos_dataset
from command_line import edos
from edos_dataset.publishing.layout import write_single
from edos_dataset.releases.dialogues import read_dialogues, read_source
from edos_dataset.releases.formats import grouping
from edos_dataset.releases.formats import readers as streams
from edos_dataset.releases.formats import texts as tables
from edos_dataset.releases.formats.selection import Selection
from edos_dataset.runs.folder import OutputFolder
from edos_dataset.schema import AMT_SEED, EXTENDED, LABELS_ONLY, arrow_schema
from extended_rows import row
from published_folder import run

TURNS = {
    "a1": ["I lost my job.", "Oh no, what “happened”?", "Well, they, er, closed."],
    "b": ["We won; at last!", "Yes!"],
}


def json_lines():
    return [{"dialogue_id": name, "turns": turns} for name, turns in TURNS.items()]


def long_rows(**more):
    return [
        {"dialogue_id": name, "speaker": "AB"[number % 2], "text": text, **more}
        for name, turns in TURNS.items()
        for number, text in enumerate(turns)
    ]


def as_lines(rows):
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def as_csv(rows, delimiter=",", end="\n"):
    import csv

    out = io.StringIO()
    writer = csv.DictWriter(out, rows[0], delimiter=delimiter, lineterminator=end)
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def as_parquet(rows):
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), out)
    return out.getvalue()


def messages(text, who):
    return [{"id": name, "messages": [{who: "user", text: turn} for turn in turns]} for name, turns in TURNS.items()]


def saved(folder, data):
    data.save_to_disk(str(folder))


def seed(folder, config=AMT_SEED):
    rows = [row(name, turns, "sad") for name, turns in TURNS.items()]
    if config == AMT_SEED:
        rows = [{**each, "answers": [{"worker": "w", "answer": "Sad", "label": 27}]} for each in rows]
    made = pa.Table.from_pylist(rows, schema=arrow_schema(config))
    with OutputFolder(folder, "crowd seed") as out:
        splits = {"train": made.slice(0, 1), "validation": made.slice(1), "test": made.slice(0, 0)}
        write_single(out.prepare(), config, splits, "---\nconfigs: []\n---\n", {})
        out.commit()


NUMBERED = [{**each, "turn_number": number} for number, each in enumerate(long_rows())]
DICT = datasets.DatasetDict(
    train=datasets.Dataset.from_list(json_lines()[:1]), test=datasets.Dataset.from_list(json_lines()[1:])
)
FORMS = {
    "a.jsonl": as_lines(json_lines()),
    "bom.jsonl": "\ufeff" + as_lines(json_lines()).replace("\n", "\r\n\r\n"),
    "odd.dat": as_lines(json_lines()),
    "lines.json": as_lines(json_lines()),
    "a.json": json.dumps(json_lines(), indent=1),
    "one_behind_the_other.json": "".join(json.dumps(each, indent=2) for each in json_lines()),
    "turns.jsonl": as_lines(long_rows()),
    "messages.jsonl": as_lines(messages("content", "role")),
    "speakers.json": json.dumps(messages("text", "speaker")),
    "a.csv": as_csv(long_rows()),
    "excel.csv": "\ufeff" + as_csv(long_rows(), ";", "\r\n"),
    "a.tsv": as_csv(long_rows(), "\t"),
    "numbered.csv": as_csv([NUMBERED[row] for row in (2, 0, 1, 4, 3)]),
    "a.txt": "\n\n\n".join("\n".join(turns) for turns in TURNS.values()),
    "dos.txt": "\ufeff" + "\r\n \r\n".join("\r\n".join(turns) for turns in TURNS.values()) + "\r\n\r\n",
    "a.parquet": as_parquet(json_lines()),
    "turns.parquet": as_parquet(long_rows()),
    "messages.parquet": as_parquet(messages("content", "role")),
    "a.jsonl.gz": gzip.compress(as_lines(json_lines()).encode()),
    "a.csv.gz": gzip.compress(as_csv(long_rows()).encode()),
    "saved": lambda folder: saved(folder, datasets.Dataset.from_list(json_lines())),
    "saved_splits": lambda folder: saved(folder, DICT),
    "seed": seed,
    "extended": lambda folder: seed(folder, EXTENDED),
}


def write(path, content):
    if callable(content):
        content(path)
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def labels(rows):
    return [[(turn["text"], turn["label"], turn["top"]) for turn in row["turns"]] for row in rows]


@pytest.fixture(scope="module")
def expected():
    return labels(edos_dataset.label(list(TURNS.values()), "fast"))


@pytest.mark.parametrize("name", FORMS)
def test_every_form_gives_the_same_labels(name, expected, tmp_path):
    found = edos_dataset.label(write(tmp_path / name, FORMS[name]), "fast")
    assert labels(found) == expected
    if not name.endswith(".txt"):
        assert [each["dialogue_id"] for each in found] == list(TURNS)


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.csv", "a.tsv", "a.txt", "a.parquet", "a.csv.gz"])
def test_standard_input_is_told_by_its_content(name, expected, tmp_path, monkeypatch):
    content = FORMS[name]
    monkeypatch.setattr(
        sys, "stdin", io.TextIOWrapper(io.BytesIO(content if isinstance(content, bytes) else content.encode()))
    )
    assert labels(edos_dataset.label("-", "fast")) == expected


def test_a_folder_of_ours_gives_what_its_texts_give(tmp_path):
    folder = run(tmp_path / "edos", configs=("edos", "edos_initial", "os"))
    whole = [labels(edos_dataset.label(folder, "fast", config=name)) for name in ("edos", "edos_initial", "os")]
    assert whole[0] == whole[1] == whole[2] and len(whole[0]) == 10
    assert whole[0] == labels(edos_dataset.label([[turn[0] for turn in turns] for turns in whole[0]], "fast"))


def test_its_own_output_is_labelled_anew(tmp_path):
    write(tmp_path / "in.jsonl", as_lines([{**json_lines()[0], "film": 7}]))
    options = ("--model", "fast", "--workers", 1, "--top", 2)
    assert edos("label", tmp_path / "in.jsonl", "--out", tmp_path / "one.jsonl", *options).exit_code == 0
    assert edos("label", tmp_path / "one.jsonl", "--out", tmp_path / "two.jsonl", *options).exit_code == 0
    assert (tmp_path / "two.jsonl").read_bytes() == (tmp_path / "one.jsonl").read_bytes()
    (line,) = (tmp_path / "one.jsonl").read_text("utf-8").splitlines()
    assert list(json.loads(line)) == ["dialogue_id", "turns", "film"]
    assert line == json.dumps(json.loads(line), ensure_ascii=False)


def given(folder, name, content, **meant):
    return list(read_dialogues(str(write(folder / name, content)), Selection(**meant)))


@pytest.mark.parametrize(
    ("name", "content", "meant", "extra", "turn_extra"),
    [
        (
            "a.jsonl",
            '{"turns": ["x"], "film": "é", "n": [1, {"a": null}]}',
            {},
            {"film": "é", "n": [1, {"a": None}]},
            None,
        ),
        ("a.jsonl", '{"messages": [{"role": "user", "content": "x"}]}', {}, None, {"role": "user"}),
        ("a.jsonl", '{"text": "x", "label": "sad"}', {}, {"label": "sad"}, None),
        ("a.csv", "text,id,label,by\nx,7,sad,", {}, None, {"given_label": "sad", "by": None}),
        ("a.csv", "no,said\n1,x\n", {"column": "said"}, {"no": "1"}, None),
        ("a.jsonl", '{"turns": 3, "talk": ["x"]}', {"column": "talk"}, {"given_turns": 3}, None),
        (
            "a.jsonl",
            '{"turns": 3, "given_turns": 4, "x": "x"}',
            {"column": "x"},
            {"given_given_turns": 3, "given_turns": 4},
            None,
        ),
        (
            "a.parquet",
            as_parquet([{"text": "x", "score": float("nan"), "raw": b"\xff"}]),
            {},
            {"score": None, "raw": "/w=="},
            None,
        ),
        ("talk", lambda folder: saved(folder, DICT), {"split": "test"}, {"split": "test"}, None),
        (
            "seed",
            seed,
            {},
            {"label": "sad", "split": "train"},
            {"start": None, "end": None, "sentence_ids": [], "speaker": None},
        ),
    ],
)
def test_what_stands_beside_is_kept(name, content, meant, extra, turn_extra, tmp_path):
    found = given(tmp_path, name, content, **meant)[0]
    beside = json.loads(found.extra) if found.extra else None
    assert extra is None and beside is None or extra.items() <= beside.items()
    assert (json.loads(found.turn_extras[0]) if found.turn_extras else None) == turn_extra


@pytest.mark.parametrize(
    ("name", "content", "ids"),
    [
        ("a.jsonl", '\n{"turns": ["x"]}\n\n{"turns": ["y"]}\n', ["line-2", "line-4"]),
        ("a.json", '[{"turns": ["x"]}, {"turns": ["y"]}]', ["record-1", "record-2"]),
        ("a.csv", 'text\n"x\ny"\nz\n', ["line-2", "line-4"]),
        ("a.txt", "x\ny\n\nz", ["line-1", "line-4"]),
        ("a.parquet", as_parquet([{"text": "x"}, {"text": "y"}]), ["row-1", "row-2"]),
        ("talk", lambda folder: saved(folder, DICT.remove_columns("dialogue_id")), ["train-1", "test-1"]),
        ("a.parquet", as_parquet([{"id": 7, "turns": ["x"]}]), ["7"]),
    ],
)
def test_ids_are_made_of_the_place(name, content, ids, tmp_path):
    assert [each.id for each in given(tmp_path, name, content)] == ids


LINE = '{"dialogue_id": "a", "turns": ["x"]}\n'
BAD = {
    "empty.jsonl": ("", "empty.jsonl contains no dialogues"),
    "empty.csv": ("", "empty.csv contains no dialogues"),
    "empty.json": ("[]", "empty.json contains no dialogues"),
    "blank.txt": (" \n\n", "blank.txt contains no dialogues"),
    "empty.gz": (b"", "empty.gz contains no dialogues"),
    "nan.jsonl": (LINE + '{"turns": ["x"], "n": NaN}', "line 2: expected", "NaN is not a number"),
    "twice.jsonl": (LINE + '{"turns": ["x"], "turns": ["y"]}', "line 2", "has the key 'turns' twice"),
    "deep.jsonl": (LINE + "[" * 100_000, "line 2", "is not JSON"),
    "deep_beside.jsonl": (LINE + '{"turns": ["x"], "n": ' + "[" * 900 + "]" * 900 + "}", "line 2", "too deeply"),
    "digits.jsonl": (LINE + "1" * 5_000, "line 2", "is not JSON"),
    "half.jsonl": (LINE + '{"turns": ["\\ud800"]}', "line 2", "half a character"),
    "half_beside.jsonl": (LINE + '{"turns": ["x"], "n": "\\udc00"}', "line 2", "half a character"),
    "half_id.jsonl": (LINE + '{"dialogue_id": "\\udc00", "turns": ["x"]}', "line 2", "half a character"),
    "nul.jsonl": (LINE + '{"turns": ["a\\u0000b"]}', "line 2", "character NUL"),
    "nul.csv": ("text\na\n\0\n", "line 3", "character NUL"),
    "nul.txt": ("a\n\0", "line 2", "character NUL"),
    "blank.jsonl": (LINE + '{"turns": ["x", " "]}', "line 2", "has no text"),
    "number.jsonl": (LINE + '{"turns": ["x", 7]}', "line 2", "but has 7"),
    "null.jsonl": (
        LINE + '{"messages": [{"role": "user", "content": null}]}',
        "line 2: no turn of messages has a text",
    ),
    "latin.jsonl": (LINE.encode() + '{"turns": ["é"]}'.encode("latin-1"), "line 2", "b'\\xe9' is not UTF-8"),
    "latin.json": ('[{"turns": ["é"]}]'.encode("latin-1"), "is not UTF-8"),
    "binary.csv": (b"\0\0\1\2" * 500, "is not text in a known encoding"),
    "again.jsonl": (LINE * 2, "again.jsonl, line 1 has the same dialogue_id; give"),
    "apart.csv": ('id,text\na,x\nb,y\na,"z\n', "line 4: the row that begins here is not CSV"),
    "numbers.csv": ("id,turn,text\na,1,x\na,1,z\n", "line 3: turn 1 of dialogue 'a' is also in", "line 2"),
    "number.csv": ("id,turn,text\na,one,x\n", "line 2: turn must be the number of the turn, got 'one'"),
    "speaker.csv": ("speaker,text\nA,x\n", "line 2: a turn has 'speaker', but no dialogue_id"),
    "header.csv": ("I lost my job\nOh no\n", "line 1: there is no column 'text' in 'I lost my job'"),
    "header_twice.csv": ("text,text\nx,y\n", "two columns have the name 'text'"),
    "quote.csv": ('text\nx\n"a\nb\n', "line 3: the row that begins here is not CSV"),
    "ragged.csv": ("id,text\na,x,y\n", "line 2: 3 values for 2 columns"),
    "lacking.csv": ("id,text\na,x\na,\n", "line 3: text must be a string, got None"),
    "cut.json": ('[{"turns": ["x"]}, ', "is not JSON"),
    "cut_behind.json": ('[{"turns": ["x"]}', "ends within its list, after record 1"),
    "comma.json": ('[{"turns": ["x"]} {"turns": ["y"]}]', "record 1 is followed by"),
    "trailing.json": ('[{"turns": ["x"]},]', "record 2: expected"),
    "behind.json": ('[{"turns": ["x"]}] x', "has text after its list, starting with 'x'"),
    "texts.json": ('["x", "y"]', "record 1: expected", "got 'x'"),
    "names.parquet": (as_parquet([{"text": "x"}]).replace(b"text", b"te\xffx"), "is not a complete Parquet file"),
    "garbage.parquet": (b"PAR1 no", "garbage.parquet is not a complete Parquet file"),
    "cut.parquet": (as_parquet(json_lines())[:-9], "is not a complete Parquet file"),
    "types.parquet": (as_parquet([{"turns": [1, 2]}]), "row 1: turns must be a list of texts"),
    "columns.parquet": (as_parquet([{"n": 1}]), "row 1: expected", "got {'n': 1}"),
    "bytes.parquet": (as_parquet([{"text": b"x"}]), "row 1: text must be a string, got b'x'"),
    "cut.jsonl.gz": (gzip.compress(LINE.encode() * 9_000)[:-20], "is a damaged gzip file"),
    "torn.jsonl.gz": (gzip.compress(LINE.encode() * 9)[:30] + b"\xff" * 50, "is a damaged gzip file"),
    "what.dat": (
        "1\n00:00:01,000 --> 00:00:02,000\nHello.",
        "neither its name nor its beginning shows its format",
    ),
    "folder": (lambda folder: folder.mkdir(), "is an empty folder, not one that this package wrote"),
    "saved": (
        lambda folder: (folder.mkdir(), (folder / "dataset_info.json").write_text("{")),
        "is not a complete saved dataset",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_said_in_a_sentence(name, tmp_path):
    content, *wanted = BAD[name]
    write(tmp_path / name, content)
    before = sorted(tmp_path.rglob("*"))
    done = edos("label", tmp_path / name, "--model", "fast", "--out", tmp_path / "out.jsonl", "--workers", 1)
    told = " ".join(done.stderr.split())
    assert done.exit_code == 1 and name in told and all(each in told for each in wanted), told
    assert len(told) < 700 and sorted(tmp_path.rglob("*")) == before


def test_a_split_that_is_not_there(tmp_path):
    saved(tmp_path / "talk", DICT)
    with pytest.raises(ValueError, match="has no split 'dev', but train, test"):
        edos_dataset.label(tmp_path / "talk", "fast", split="dev")


def test_a_name_on_the_hub_that_cannot_be_had(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)  # else it is tried for 20 seconds
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    with pytest.raises(
        ValueError, match="nobody/nothing is neither a local file or folder nor could it be loaded from the Hub"
    ):
        edos_dataset.label("nobody/nothing", "fast")


def test_the_hub(monkeypatch, expected):
    asked = []
    monkeypatch.setattr(datasets, "load_dataset", lambda *given, **more: asked.append((given, more)) or DICT)
    found = edos_dataset.label("ns/talks", "fast", config="x", revision="v1")
    assert labels(found) == expected and [each["split"] for each in found] == ["train", "test"]
    assert asked == [(("ns/talks", "x"), {"revision": "v1", "trust_remote_code": False})]


def test_a_pipe_is_read(tmp_path, expected):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=(FORMS["a.jsonl"],))
    writer.start()
    assert labels(edos_dataset.label(tmp_path / "pipe", "fast")) == expected
    writer.join()


def test_labels_without_texts_are_refused(tmp_path):
    (tmp_path / "labels" / LABELS_ONLY).mkdir(parents=True)
    pq.write_table(pa.table({"x": [1]}), tmp_path / "labels" / LABELS_ONLY / "train-00000-of-00001.parquet")
    with pytest.raises(ValueError, match="labels without texts: `edos hydrate`"):
        edos_dataset.label(tmp_path / "labels", "fast")


def test_a_line_without_end_is_refused_and_memory_bounded(tmp_path, monkeypatch):
    for module in (grouping, streams, tables):
        monkeypatch.setattr(module, "LARGEST", 1_000)
    for name, content in (
        ("a.jsonl", '{"turns": ["' + "x" * 2_000),
        ("a.txt", "x" * 600 + "\n" + "y" * 600),
        ("a.csv", "id,text\n" + f"a,{'x' * 600}\n" * 2),
    ):
        with pytest.raises(ValueError, match="longer than 1,000"):
            given(tmp_path, name, content)


@pytest.mark.parametrize("form", ["jsonl", "json", "csv"])
def test_memory_does_not_grow_with_the_file(form, tmp_path):
    """A file of 8 MB is read within 4 MB."""
    import tracemalloc

    one = {"jsonl": '{"turns": ["%s"]}\n', "json": '{"turns": ["%s"]},', "csv": "%s\n", "txt": "%s\n\n"}[form]
    head, foot = {"json": ("[", '{"turns": ["x"]}]'), "csv": ("text\n", "")}.get(form, ("", ""))
    path = write(tmp_path / f"a.{form}", head + (one % ("word " * 400)) * 4_000 + foot)
    assert path.stat().st_size > 8_000_000
    tracemalloc.start()
    for _ in read_source(path, 100):
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 << 20


LONG_NAMES = {
    "a.jsonl": b"\xff" * 9_000,
    "a.json": b'[{"' + b"x" * 9_000 + b'": "Hi."}]',
}


@pytest.mark.parametrize("name", LONG_NAMES)
def test_messages_stay_short_whatever_a_file_holds(name, tmp_path):
    (tmp_path / name).write_bytes(LONG_NAMES[name])
    with pytest.raises(ValueError, match="a.json") as refusal:
        list(read_source(tmp_path / name, 100))
    assert len(str(refusal.value)) < 500
