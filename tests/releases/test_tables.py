"""Tables of turns: columns found by name, any encoding, rows in any order, bad rows, and back as they came."""

import csv
import io
import json
import sys
import warnings

import datasets
import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import edos_dataset
from command_line import edos
from edos_dataset.releases.dialogues import read_dialogues, read_source
from edos_dataset.releases.formats import flat
from edos_dataset.releases.formats.columns import columns_of
from edos_dataset.releases.formats.faults import Findings
from edos_dataset.releases.formats.selection import Selection
from edos_dataset.releases.formats.times import order_of

ROWS = [
    {"Conversation": "a", "Author": "Ann", "Message": "I lost my job.", "n": 1},
    {"Conversation": "b", "Author": "Zoë", "Message": "We won; at last!", "n": 2},
    {"Conversation": "a", "Author": "Bo", "Message": "Oh no, what happened?", "n": 3},
]
GERMAN = (
    "Gespräch;Sprecher;Zeit;Nachricht;Wert\r\n"
    "1;Müller;01.02.2024 10:00;Schön, dich zu sehen!;0,5\r\n"
    "2;Jörg;01.02.2024 09:00;Wie geht's?;0,7\r\n"
    "1;Anna;01.02.2024 09:59;Na, wie war's für dich?;1,5\r\n"
)


def given(path, **meant):
    """Return the texts of the dialogues, and what was found."""
    findings = Findings()
    return [each.texts for each in read_dialogues(path, Selection(**meant), findings)], findings


def as_workbook(rows):
    book, file = openpyxl.Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    book.save(file)
    return file.getvalue()


def sheet():
    return [list(ROWS[0]), *(list(row.values()) for row in ROWS)]


def written(path):
    frame = pd.DataFrame(ROWS)
    match path.suffix:
        case ".csv":
            frame.to_csv(path, index=False)
        case ".tsv":
            frame.to_csv(path, index=False, sep="\t", encoding="utf-16")
        case ".xlsx":
            path.write_bytes(as_workbook([[], [None, "Interview 3"], *([None, *row] for row in sheet())]))
        case ".parquet":
            frame.to_parquet(path)
        case ".arrow":
            feather.write_feather(pa.Table.from_pandas(frame), str(path))
        case _:
            path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def read(path):
    readers = {".xlsx": pd.read_excel, ".parquet": pd.read_parquet, ".arrow": pd.read_feather}
    if path.suffix in readers:
        return readers[path.suffix](path)
    return pd.read_csv(path, sep="\t" if path.suffix == ".tsv" else ",")


@pytest.mark.parametrize("out", ["out.csv", "out.tsv", "out.xlsx", "out.parquet", "out.arrow"])
@pytest.mark.parametrize("name", ["in.csv", "in.tsv", "in.xlsx", "in.parquet", "in.arrow", "in.jsonl"])
def test_a_table_comes_back_as_it_came(name, out, tmp_path):
    edos_dataset.label(written(tmp_path / name), "fast", out=tmp_path / out, top=2)
    found = read(tmp_path / out)
    assert list(found) == [*ROWS[0], "label", "confidence", "label_2", "confidence_2"]
    assert found[list(ROWS[0])].astype({"n": int}).to_dict("records") == ROWS
    dialogues = edos_dataset.label([[ROWS[0]["Message"], ROWS[2]["Message"]], [ROWS[1]["Message"]]], "fast")
    turns = [dialogues[0]["turns"][0], dialogues[1]["turns"][0], dialogues[0]["turns"][1]]
    assert found["label"].tolist() == [turn["label"] for turn in turns]
    assert found["confidence_2"].tolist() == pytest.approx([turn["top"][1]["probability"] for turn in turns])


def test_what_was_labelled_before_is_labelled_anew(tmp_path):
    edos_dataset.label(written(tmp_path / "in.parquet"), "fast", out=tmp_path / "one.parquet")
    edos_dataset.label(tmp_path / "one.parquet", "fast", out=tmp_path / "two.csv")
    assert list(read(tmp_path / "two.csv")) == list(read(tmp_path / "one.parquet"))
    (tmp_path / "own.csv").write_text("text,label\nHello.,mine\n")
    edos_dataset.label(tmp_path / "own.csv", "fast", out=tmp_path / "out.csv", top=1)
    assert read(tmp_path / "out.csv")["given_label"].tolist() == ["mine"]


def test_names_of_classes_are_kept(tmp_path):
    of = datasets.Features({"text": datasets.Value("string"), "kind": datasets.ClassLabel(names=["a", "b"])})
    datasets.Dataset.from_dict({"text": ["x", "y"], "kind": [1, 0]}, of).to_parquet(tmp_path / "in.parquet")
    edos_dataset.label(tmp_path / "in.parquet", "fast", out=tmp_path / "out.parquet", top=1)
    found = datasets.Dataset.from_parquet(str(tmp_path / "out.parquet"), cache_dir=str(tmp_path / "cache"))
    assert found.features["kind"].names == ["a", "b"] and found.features["label"].dtype == "string"
    edos_dataset.label(tmp_path / "in.parquet", "fast", out=tmp_path / "out.csv", top=1)
    assert read(tmp_path / "out.csv")["kind"].tolist() == ["b", "a"]


def test_a_data_frame_comes_back(recwarn):
    frame = pd.DataFrame(ROWS, index=[10, 20, 30]).assign(day=pd.Timestamp("2024-01-01"))
    found = edos_dataset.label(frame, "fast", top=1)
    assert list(found) == [*frame, "label", "confidence"] and list(frame) == [*ROWS[0], "day"]
    pd.testing.assert_frame_equal(found[list(frame)], frame)
    frame.loc[20, "Message"] = None
    with pytest.raises(ValueError, match=r"row 2: Message must be a string.*skip_bad=True"):
        edos_dataset.label(frame, "fast")
    assert not recwarn.list
    with pytest.warns(UserWarning, match=r"1 bad record left out: no text 1 \(row 2\)"):
        assert list(edos_dataset.label(frame, "fast", skip_bad=True).index) == [10, 30]


def test_a_data_frame_with_columns_of_several_types():
    frame = pd.DataFrame({"text": ["x", 7, float("nan")], "mixed": [1, "a", None]})
    with pytest.raises(ValueError, match=r"2 records .*text is no string 1, no text 1"):
        edos_dataset.label(frame, "fast")
    with pytest.warns(UserWarning, match="2 bad records left out"):
        assert edos_dataset.label(frame, "fast", skip_bad=True)["mixed"].tolist() == [1]


def test_dialogues_in_a_data_frame_or_file_become_rows(tmp_path):
    dialogues = [
        {"dialogue_id": "x", "turns": [{"speaker": "A", "text": "I won!"}, {"text": "=Well done."}], "film": 7}
    ]
    found = edos_dataset.label(pd.DataFrame(dialogues, index=["i"]), "fast")
    assert found.index.tolist() == ["i"] and found["turns"]["i"][1]["text"] == "=Well done."
    for name in ("out.csv", "out.xlsx"):
        edos_dataset.label(dialogues, "fast", out=tmp_path / name, top=1)
        table = read(tmp_path / name)
        assert list(table) == ["dialogue_id", "turn", "text", "label", "confidence", "speaker", "film"]
        assert table["text"].tolist() == ["I won!", "=Well done."] and table["film"].tolist() == [7, 7]
    edos_dataset.label(dialogues, "fast", out=tmp_path / "out.json")
    assert json.loads((tmp_path / "out.json").read_text()) == edos_dataset.label(dialogues, "fast")
    edos_dataset.label(dialogues, "fast", out=tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet")["turns"].to_pylist()[0][0]["speaker"] == "A"


@pytest.mark.parametrize("form", ["csv", "parquet", "xlsx"])
def test_standard_input_and_output(form, tmp_path):
    content = written(tmp_path / f"in.{form}").read_bytes()
    options = ("--model", "fast", "--top", 1, "--workers", 1)
    done = edos("label", "-", "--out", "-", "--out-format", "csv", *options, input=content)
    assert [row["Author"] for row in csv.DictReader(io.StringIO(done.stdout))] == ["Ann", "Zoë", "Bo"]


def test_the_encoding_of_a_table_is_chosen(tmp_path):
    """Excel needs a byte order mark; without the option plain UTF-8 gives plain UTF-8, which scripts read."""
    path, marked = written(tmp_path / "in.csv"), b"\xef\xbb\xbf"
    for options, begin in (({}, b"Conv"), ({"out_encoding": "utf-8-sig"}, marked), ({"out_encoding": "utf-8"}, b"C")):
        edos_dataset.label(path, "fast", out=tmp_path / "out.csv", **options, force=True)
        content = (tmp_path / "out.csv").read_bytes()
        assert content.startswith(begin) and read(tmp_path / "out.csv")["Author"].tolist() == ["Ann", "Zoë", "Bo"]
    for name, encoding, told in (
        ("a.csv", "latin-1", "expected utf-8 or utf-8-sig"),
        ("a.jsonl", "utf-8", "is for CSV"),
    ):
        with pytest.raises(ValueError, match=told):
            edos_dataset.label(path, "fast", out=tmp_path / name, out_encoding=encoding)
        assert not (tmp_path / name).exists()


def test_a_table_of_german_excel(tmp_path):
    path = tmp_path / "in.csv"
    path.write_bytes(GERMAN.encode("cp1252"))
    texts, findings = given(path)
    assert texts == [["Na, wie war's für dich?", "Schön, dich zu sehen!"], ["Wie geht's?"]]
    assert findings.remarks == [
        f"{path} was read as cp1252",
        "columns: text 'Nachricht', dialogue 'Gespräch', speaker 'Sprecher', time 'Zeit'",
        "the rows of 1 dialogue do not stand together and were put together",
    ]
    assert not findings.warnings
    edos("label", path, "--model", "fast", "--workers", 1, "--top", 1, "--out", tmp_path / "out.csv")
    out = (tmp_path / "out.csv").read_bytes()
    assert out.startswith(b"\xef\xbb\xbf") and out.decode("utf-8-sig").startswith("Gespräch;Sprecher;")
    table = pd.read_csv(tmp_path / "out.csv", sep=";", decimal=",", encoding="utf-8-sig")
    assert table["Wert"].tolist() == [0.5, 0.7, 1.5] and table["confidence"].between(0, 1).all()


@pytest.mark.parametrize(
    ("name", "content", "texts"),
    [
        ("sep.csv", b"sep=;\r\nid;Text\r\na;x\r\na;y\r\n", [["x", "y"]]),
        ("title.csv", b"Study 3;;\n;;\nDialogue ID;Text;\na;x;\n;;\na;y;\n", [["x", "y"]]),
        ("mac.csv", b"text\rx\ry\r", [["x"], ["y"]]),
        ("pipe.csv", b"id|text\na|x, y\n", [["x, y"]]),
        ("one.csv", b"Nachricht\nJa, gut\n", [["Ja, gut"]]),
        ("excel.txt", "Thread\tBody\na\tx\n".encode("utf-16"), [["x"]]),
        ("dialogue.csv", b"dialogue,text\na,x\nb,z\na,y\n", [["x", "y"], ["z"]]),
        ("name.csv", b"conversation_id,id,message\na,1,x\na,2,y\n", [["x", "y"]]),
        ("number.xlsx", as_workbook([["id", "text"], [1, 42], [1, 1.5]]), [["42", "1.5"]]),
        ("index.xlsx", as_workbook([[None, "Text"], [0, "x"], [1, "y"]]), [["x"], ["y"]]),
    ],
)
def test_what_people_have(name, content, texts, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    assert given(path)[0] == texts


def test_the_sheet_with_the_texts_is_read(tmp_path):
    book = openpyxl.Workbook()
    book.active.title = "Notes"
    book.active.append(["about", "this"])
    for title, text in (("Data", "x"), ("More", "y")):
        added = book.create_sheet(title)
        added.append(["Text"])
        added.append([text])
    book.save(tmp_path / "in.xlsx")
    texts, findings = given(tmp_path / "in.xlsx")
    assert texts == [["x"]] and "sheet 'Data' was read, of 'Notes', 'Data', 'More'" in findings.remarks[0]
    assert given(tmp_path / "in.xlsx", config="More")[0] == [["y"]]
    with pytest.raises(ValueError, match="has no sheet 'No', but 'Notes'"):
        given(tmp_path / "in.xlsx", config="No")


def test_columns_may_be_named(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("q,who is it,answer,when it was,message\na,A,y,2,1\na,B,x,1,2\n")
    named = {"column": "answer", "id_column": "Q", "time_column": "when it was", "speaker_column": "who is it"}
    assert given(path, **named)[0] == [["x", "y"]]
    assert given(path, column="answer", one_dialogue=True)[0] == [["y", "x"]]
    with pytest.raises(ValueError, match="--id-column nr: there is no such column, but 'q', 'who is it'"):
        given(path, id_column="nr")
    with pytest.raises(ValueError, match="leave --id-column out"):
        Selection(id_column="q", one_dialogue=True)


def test_what_is_for_rows_is_refused_for_dialogues(tmp_path):
    for name, content in (("a.jsonl", '{"turns": ["x"]}'), ("a.txt", "x\ny\n")):
        (tmp_path / name).write_text(content)
        for option in ({"one_dialogue": True}, {"time_column": "t"}, {"speaker_column": "s"}):
            with pytest.raises(ValueError, match="--.* (is for tables with a turn a row|there is no such column)"):
                given(tmp_path / name, **option)


def test_a_named_speaker_is_one_in_json(tmp_path):
    (tmp_path / "in.csv").write_text("id,wer,turn,text,when\na,Ann,1,x,2\na,Bo,2,y,1\n")
    (found,) = read_dialogues(tmp_path / "in.csv", Selection(speaker_column="wer", time_column="when"))
    assert found.texts == ["y", "x"]
    assert [json.loads(extra)["speaker"] for extra in found.turn_extras] == ["Bo", "Ann"]


def test_rows_that_are_dialogues_of_their_own_are_warned_of(tmp_path):
    path = tmp_path / "chat.csv"
    path.write_text("date,author,message\n2024-01-02,A,x\n2024-01-01,B,y\n")
    assert "each of 2 rows is a dialogue of its own" in given(path)[1].warnings[0]
    assert "'id' differs in every row" in given_text(tmp_path, "id,text,by\n1,x,A\n2,y,B\n").warnings[0]
    assert not given_text(tmp_path, "text\nx\ny\n").warnings
    assert given(path, one_dialogue=True)[0] == [["y", "x"]] and not given(path, one_dialogue=True)[1].warnings
    done = edos("label", path, "--model", "fast", "--workers", 1, "--out", tmp_path / "out.csv")
    assert " ".join(done.stderr.split()).count("a dialogue of its own") == 1 and "a dialogue of" not in done.stdout


def given_text(folder, text):
    (folder / "some.csv").write_text(text)
    return given(folder / "some.csv")[1]


def test_all_faults_at_once(tmp_path):
    path = tmp_path / "in.csv"
    bad = "a,\n,lost\nb,x,y\n" * 20
    path.write_text(f"id,text\na,one\n{bad}a,two\n")
    with pytest.raises(ValueError, match="60 records") as error:
        given(path)
    told = str(error.value)
    assert "no text 20, no dialogue id 20, wrong number of values 20" in told and "and 50 more" in told
    assert [f"line {number}:" in told for number in (3, 12, 13)] == [True, True, False]
    texts, findings = given(path, skip_bad=True)
    assert texts == [["one", "two"]] and findings.bad.total() == 60
    done = edos("label", path, "--model", "fast", "--workers", 1, "--skip-bad", "--out", tmp_path / "out.csv")
    assert done.exit_code == 0 and "60 bad records left out: no text 20" in " ".join(done.stderr.split())
    assert len(read(tmp_path / "out.csv")) == 2


def test_bad_lines_of_json_are_counted(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_bytes(b'{"turns": ["x"]}\n{"turns": ["y"]\n{"turns": [7]}\n{"text": "\xff"}\n{"turns": ["z"]}\n')
    texts, findings = given(path, skip_bad=True)
    assert texts == [["x"], ["z"]] and dict(findings.bad) == {"not JSON": 1, "no text": 1, "not UTF-8": 1}


def test_a_lost_quote_does_not_swallow_rows(tmp_path):
    (tmp_path / "in.csv").write_text('text\nx\n"y\n' + "z\n" * 99)
    with pytest.raises(ValueError, match="line 3: the row that begins here is not CSV"):
        given(tmp_path / "in.csv", skip_bad=True)


MESSAGES = [
    {"role": "system", "content": "Be kind."},
    {
        "role": "user",
        "content": [{"type": "text", "text": "Hi."}, {"type": "image_url", "image_url": {"url": "data:"}}],
    },
    {"role": "assistant", "content": None, "tool_calls": [{"id": "t"}]},
    {"role": "assistant", "tool_calls": [{"id": "t"}]},
    {"role": "tool", "content": "{}"},
    {"role": "assistant", "content": " "},
    {"role": "assistant", "content": "Hello!"},
]


def test_messages_without_text_are_counted(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_text(json.dumps({"messages": MESSAGES}))
    texts, findings = given(path)
    assert texts == [["Hi.", "Hello!"]]
    assert findings.warnings == ["5 turns left out: turn without a text 3, system prompt 1, call or answer of a tool 1"]
    assert given(path, keep_system=True)[0] == [["Be kind.", "Hi.", "Hello!"]]


@pytest.mark.parametrize(
    ("times", "order"),
    [
        (["2024-01-02T10:00:00Z", "2024-01-02 09:00"], [1, 0]),
        (["02.01.2024 10:00", "01.02.2024 09:00"], [0, 1]),
        (["3/4/24, 2:05 PM", "3/4/24, 11:00 AM"], [1, 0]),
        (["1700000001", "1700000000"], [1, 0]),
        (["10:02", "9:58", "10:02"], [1, 0, 2]),
        (["13/01/2024", "02/02/2024"], [0, 1]),
        (["5/6/2024", "6/5/2024"], [0, 1]),  # either way; the order that it has is believed
        (["soon", "later"], None),
    ],
)
def test_times(times, order):
    assert order_of([(time,) for time in times]) == order


def test_day_and_time_in_two_columns():
    assert columns_of(("Datum", "Uhrzeit", "Text")).times == ("Datum", "Uhrzeit")
    assert order_of([("02.01.2024", "08:00"), ("01.01.2024", "09:00")]) == [1, 0]


def test_short_rows_in_another_language_are_warned_of(tmp_path):
    words = ("gut", "kalt", "gleich", "danke", "morgen", "doch", "heute", "nicht", "später", "mich", "wird", "schön")
    rows = [f"Das ist {word}" for word in words] * 9
    path = tmp_path / "in.csv"
    path.write_text("\n".join(["text", *rows]), encoding="utf-8")
    with pytest.warns(UserWarning, match="108 of 108 dialogues don't look English"):
        edos_dataset.label(path, "fast")
    path.write_text("\n".join(["text", *["I am fine", "Good for you", "What is that", "Never mind"] * 40]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        edos_dataset.label(path, "fast")


def test_merged_cells_of_a_workbook_stand_in_each_row(tmp_path):
    book = openpyxl.Workbook()
    rows = [["A study"], ["Chat", "Person", None, "Text"], [None, "Speaker", "Age", "Message"]]
    rows += [["a", "Ann", 30, "x"], [None, "Bo", 31, "y"], [None, "Ann", 30, "z"], ["b", "Bo", 31, "w"]]
    for row in rows:
        book.active.append(row)
    for merged in ("A1:D1", "A2:A3", "B2:C2", "A4:A6"):
        book.active.merge_cells(merged)
    book.save(tmp_path / "in.xlsx")
    texts, findings = given(tmp_path / "in.xlsx")
    assert texts == [["x", "y", "z"], ["w"]]
    assert "speaker 'Speaker'" in findings.remarks[-1]


def test_without_openpyxl_its_install_line_is_named(tmp_path, monkeypatch):
    source = written(tmp_path / "in.xlsx")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    for arguments in ((source, tmp_path / "out.csv"), (written(tmp_path / "in.csv"), tmp_path / "out.xlsx")):
        done = edos("label", arguments[0], "--out", arguments[1], "--model", "fast", "--workers", 1)
        assert done.exit_code == 1 and 'pip install "edos-dataset[excel]"' in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (bytes(99), r"is an old \.xls: save"),
        (bytes(99) + "EncryptedPackage".encode("utf-16-le"), "is encrypted: open it"),
    ],
)
def test_an_old_or_encrypted_workbook_is_refused(tmp_path, content, message):
    (tmp_path / "in.xlsx").write_bytes(b"\xd0\xcf\x11\xe0" + content)
    with pytest.raises(ValueError, match=message):
        given(tmp_path / "in.xlsx")


def test_rows_far_apart_keep_the_order_of_their_dialogues(tmp_path):
    order = np.random.default_rng(0).permutation(60)
    lines = [f"{number % 7},{number},text {number}" for number in order]
    (tmp_path / "in.csv").write_text("\n".join(["id,turn,text", *lines]))
    first = list(dict.fromkeys(str(number % 7) for number in order))
    found = list(read_dialogues(tmp_path / "in.csv"))
    assert [each.id for each in found] == first
    assert all(each.texts == [f"text {number}" for number in range(int(each.id), 60, 7)] for each in found)


FLAT = {
    "plain": "id,by,text\na,A,x\nb,,y\na,B,z\n",
    "none": "text\nx\ny\n",
    "beside": "text,label\nx,1\ny,\n",
    "quotes": 'id,text,"no ""te"\na,"x, ""y""","p\nq\t\\"\na,5" disk,é\n',
    "numbers": "id,turn,text\na,2,x\na,1,y\nb,1,z\n",
    "times": "id,time,text\na,2,x\na,1,y\nb,,z\n",
    "dates": "id;Datum;Text\na;02.01.2024;x\na;01.01.2024;y\n",
    "title": "\ufeffStudy;;\nid;by;text\na;A;x\n",
    "empty line": "text\nx\n\ny\n",
    "bad": "id,text\na,\nb,x\n",
    "ragged": "id,text\na,x,y\nb,x\n",
    "roles": "id,role,text\na,System,x\na,user,y\n",
    "control": 'id,by,text\na,"\x01",x\na,\x7f,y\x02\n',
    "hexadecimal": "id,turn,text\na,0x1,x\n",
    "two numbers": "id,turn,text\na,1,x\na,1,y\n",
    "NUL": "text\nx\n\0\n",
    "ends": "id,text\r\na,x\r\na,y",
}


@pytest.mark.parametrize("name", FLAT)
@pytest.mark.parametrize("meant", [{}, {"skip_bad": True, "one_dialogue": True}])
def test_large_files_are_read_as_small_ones_are(name, meant, tmp_path, monkeypatch):
    path = tmp_path / "in.csv"
    path.write_bytes(FLAT[name].encode())

    def found(least):
        monkeypatch.setattr(flat, "LEAST_BYTES", least)
        findings = Findings()
        try:
            tables = list(read_source(path, 2, Selection(**meant), findings))
        except ValueError as error:
            return str(error)
        return [table.to_pylist() for table in tables], findings

    assert found(0) == found(1 << 20)
