"""`edos export`: what it writes is read again by the programs that it is for."""

import csv
import json
import shutil

import pysubs2
import pytest
from datasets import load_dataset
from lxml import etree

import edos_dataset
from command_line import edos
from edos_dataset.exports.dialogues import _certain_parts
from edos_dataset.exports.films import Film
from edos_dataset.exports.records import Dialogue, Turn
from edos_dataset.exports.ssml import Speech, cast_of
from edos_dataset.runs.folder import FolderError
from published_folder import run
from small_models import small_tokenizer

DIALOGUES = [
    ("a", "Ann", "I lost my job.", "sad"),
    ("a", "Ann", "Today.", "sad"),
    ("a", "Ben", 'I am "so" sorry.', "sympathizing"),
    ("a", "Ann", "Thank you & <all>.", "grateful"),
    ("b", "Ann", "Hello?", "questioning"),
]
TEMPLATE = (
    "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('turns') }}"
    "{% endif %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
)
FILM = """\
1
00:00:01,000 --> 00:00:02,000
[door slams]

2
00:00:02,000 --> 00:00:04,000
<i>I lost my job.</i>
Today.

3
00:00:04,500 --> 00:00:06,000
- BEN: I am so sorry.
- Thank you.

4
00:00:09,000 --> 00:00:10,000
♪ la la ♪
"""
SEGMENTS = [
    (1, 2.0, 3.0, "I lost my job.", 0, "Ann"),
    (2, 3.0, 4.0, "Today.", 0, "Ann"),
    (3, 4.5, 5.2, "I am so sorry.", 1, "Ben"),
    (4, 5.2, 6.0, "Thank you.", 2, "Ann"),
]


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """What `edos curate` left; nobody writes into it."""
    return run(tmp_path_factory.mktemp("exported") / "edos")


@pytest.fixture
def table(tmp_path):
    """Labelled turns as `edos label` writes them, with a column of the user's."""
    path = tmp_path / "labelled.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["dialogue_id", "speaker", "text", "mood", "label", "confidence", "label_2", "confidence_2"])
        writer.writerows([*row[:3], 7, row[3], 0.5, "neutral", 0.25] for row in DIALOGUES)
    return path


@pytest.fixture
def film(tmp_path):
    """A film and what `edos segment` made of it."""
    source = tmp_path / "films"
    source.mkdir()
    (source / "film.srt").write_text(FILM, encoding="utf-8")
    names = ("sentence_id", "start", "end", "text", "turn_id", "speaker")
    lines = [{"document_id": "films/film.srt", **dict(zip(names, row, strict=True))} for row in SEGMENTS]
    (tmp_path / "turns.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return tmp_path


def lines_in(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_chats_of_a_table(table, tmp_path):
    done = edos("export", table, "--to", "messages", "--out", tmp_path / "chats.jsonl", "--system", "Be {label}.")
    assert done.exit_code == 0 and "left out: 1 last turn that nobody answers" in done.output
    (chat,) = lines_in(tmp_path / "chats.jsonl")
    assert [(message["role"], message["label"]) for message in chat["messages"]] == [
        ("system", None),
        ("user", "sad"),
        ("assistant", "sympathizing"),
    ]
    assert [message["content"] for message in chat["messages"]][:2] == ["Be sympathizing.", "I lost my job.\nToday."]


@pytest.mark.parametrize("name", ["chats.jsonl", "chats.parquet", "chats.jsonl.gz"])
def test_a_chat_template_takes_the_messages(folder, tmp_path, name):
    edos_dataset.export(folder, to="messages", out=tmp_path / name)
    kind = "parquet" if name.endswith("parquet") else "json"
    rows = load_dataset(kind, data_files=str(tmp_path / name), split="train", cache_dir=tmp_path / "cache")
    assert len(rows) == 10 and set(rows["split"]) == {"train", "validation", "test"}
    tokenizer = small_tokenizer()
    tokenizer.chat_template = TEMPLATE
    text = tokenizer.apply_chat_template(rows[0]["messages"], tokenize=False)
    assert text == "user: Don't go... please!\nassistant: I won't.\n"


def test_sharegpt(folder, tmp_path):
    edos_dataset.export(folder, to="sharegpt", out=tmp_path / "chats.jsonl", split="train")
    first = lines_in(tmp_path / "chats.jsonl")[0]["conversations"]
    assert [(turn["from"], turn["value"]) for turn in first] == [("human", "Don't go... please!"), ("gpt", "I won't.")]


def test_files_of_splits(folder, tmp_path):
    done = edos_dataset.export(folder, to="pairs", out=tmp_path / "pairs-{split}.jsonl")
    assert len(done["files"]) == 3
    rows = [row for path in sorted(tmp_path.glob("*.jsonl")) for row in lines_in(path)]
    assert len(rows) == 10 and all(row["context"] == ["Don't go... please!"] for row in rows)
    assert {row["response"] for row in rows} == {"I won't."}


def test_a_table_comes_back_with_its_columns(table, tmp_path):
    edos_dataset.export(table, to="csv", out=tmp_path / "out.csv", out_encoding="utf-8-sig")
    assert (tmp_path / "out.csv").read_bytes().startswith(b"\xef\xbb\xbf")
    edos_dataset.export(table, to="csv", out=tmp_path / "out.csv", force=True)
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["dialogue_id"], row["speaker"], row["text"], row["label"]) for row in rows] == DIALOGUES
    assert rows[0]["mood"] == "7" and (rows[0]["label_2"], rows[0]["turn"]) == ("neutral", "1")
    edos_dataset.export(table, to="parquet", out=tmp_path / "out.parquet")
    read = load_dataset("parquet", data_files=str(tmp_path / "out.parquet"), split="train", cache_dir=tmp_path / "c")
    assert read["text"] == [row[2] for row in DIALOGUES] and read["confidence"] == [0.5] * 5


def test_labelled_lines_keep_their_labels(tmp_path):
    top = [{"label": "sad", "probability": 0.5}, {"label": "angry", "probability": 0.25}]
    turns = [{"text": text, "label": "sad", "confidence": 0.5, "top": top} for text in ("Oh.", "No.")]
    (tmp_path / "l.jsonl").write_text(json.dumps({"dialogue_id": "x", "turns": turns}), encoding="utf-8")
    done = edos("export", tmp_path / "l.jsonl", "--to", "csv", "--out", "-")
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert [(row["text"], row["label"], row["label_2"], row["confidence_2"]) for row in rows] == [
        ("Oh.", "sad", "angry", "0.25"),
        ("No.", "sad", "angry", "0.25"),
    ]


def test_views_are_configs_that_load_alone(folder, tmp_path):
    done = edos_dataset.export(folder, to="flat,messages", out=tmp_path / "views")
    assert done["rows"] == 30 and done["dialogues"] == 10
    assert list(done["counts"].values()) == [{"dialogues": 10, "rows": 20}, {"dialogues": 10, "rows": 10}]
    flat = load_dataset(str(tmp_path / "views"), cache_dir=tmp_path / "cache")
    ours = edos_dataset.load(str(folder), view="flat", cache_dir=str(tmp_path / "cache"))
    assert {split: len(part) for split, part in flat.items()} == {split: len(part) for split, part in ours.items()}
    assert flat["train"].features == ours["train"].features and flat["train"][1] == ours["train"][1]
    chats = load_dataset(str(tmp_path / "views"), "messages", split="train", cache_dir=tmp_path / "cache")
    theirs = edos_dataset.load(str(folder), view="messages", split="train", cache_dir=str(tmp_path / "cache"))
    assert chats.to_list() == theirs.to_list()
    with pytest.raises(FolderError, match="is not empty"):
        edos_dataset.export(folder, to="flat", out=tmp_path / "views")


def test_views_are_counted_by_themselves(folder, tmp_path):
    done = edos("export", folder, "--to", "flat,messages", "--out", tmp_path / "views")
    assert "10 dialogues, 20 rows:" in done.stdout and "10 dialogues, 10 rows:" in done.stdout


def test_books_of_all_languages_are_exported(folder, tmp_path):
    for language in ("de", "en"):
        shutil.copytree(folder / "os", tmp_path / "books" / f"gutenberg_{language}")
    both = edos_dataset.export(tmp_path / "books", to="flat", out=tmp_path / "both.jsonl")
    [one] = {
        edos_dataset.export(tmp_path / "books", to="flat", out=tmp_path / f"{name}.jsonl", config=name)["rows"]
        for name in ("gutenberg_de", "gutenberg_en")
    }
    assert both["rows"] == 2 * one and "gutenberg_en, gutenberg_de" in both["source"]
    with pytest.raises(ValueError, match="no split 'dev' in gutenberg_en, gutenberg_de; it has train, validation"):
        edos_dataset.export(tmp_path / "books", to="flat", out=tmp_path / "x.jsonl", split="dev")


def test_subtitles_that_came_in_are_marked(film):
    done = edos("export", film / "turns.jsonl", "--to", "srt", "--source", film / "films", "--out", film / "out.srt")
    assert done.exit_code == 0, done.output
    assert (film / "out.srt").read_text(encoding="utf-8") == FILM.replace("<i>I", "<i>Ann: I").replace(
        "- Thank", "- Ann: Thank"
    )


def test_subtitles_in_other_forms(film):
    for to in ("vtt", "ass"):
        edos_dataset.export(film / "turns.jsonl", to=to, source=film / "films", out=film / f"out.{to}")
    text = (film / "out.vtt").read_text(encoding="utf-8")
    assert text.startswith("WEBVTT") and "<v Ben>- BEN: I am so sorry.</v>" in text
    events = pysubs2.load(str(film / "out.ass"))
    assert [event.name for event in events] == ["", "Ann", "Ben / Ann", ""]
    assert [event.start for event in events] == [1000, 2000, 4500, 9000]


def test_labels_have_styles_and_classes(tmp_path):
    turns = [{"text": "Oh, Ben.", "start": 1.0, "end": 2.0, "label": "sad", "speaker": "A & B"}]
    (tmp_path / "l.jsonl").write_text(json.dumps({"dialogue_id": "f.srt#1", "turns": turns}), encoding="utf-8")
    (tmp_path / "f.vtt").write_text("WEBVTT\n\nNOTE kept\n\nid\n00:01.000 --> 00:02.000 line:0\nOh, Ben.\n")
    for to in ("vtt", "ass"):
        edos_dataset.export(tmp_path / "l.jsonl", to=to, out=tmp_path / f"turns.{to}")
    assert "<v.sad A &amp; B>Oh, Ben.</v>" in (tmp_path / "turns.vtt").read_text(encoding="utf-8")
    assert "::cue(.sad)" in (tmp_path / "turns.vtt").read_text(encoding="utf-8")
    made = pysubs2.load(str(tmp_path / "turns.ass"))
    assert made[0].style == "sad" and made.styles["sad"].primarycolor != made.styles["Default"].primarycolor


def test_speech_is_valid_xml(table, tmp_path):
    edos_dataset.export(table, to="ssml", out=tmp_path / "a.ssml", voice=["Ava", "Guy"])
    tree = etree.parse(str(tmp_path / "a.ssml"))
    spoken = [(voice.get("name"), "".join(voice.itertext())) for voice in tree.iter("{*}voice")]
    assert spoken == [("Ava" if speaker == "Ann" else "Guy", text) for _, speaker, text, _ in DIALOGUES]
    edos_dataset.export(table, to="ssml", out=tmp_path / "b.ssml", emotion="none")
    assert not list(etree.parse(str(tmp_path / "b.ssml")).iter("{*}express-as"))


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--to", "mp3"], 2, "expected one of messages"),
        (["--to", "messages", "--out", "x.csv"], 1, "is written as .jsonl, .json, .parquet"),
        (["--to", "srt", "--out", "x", "--out-encoding", "utf-8"], 1, "--out-encoding is for CSV and TSV"),
        (["--to", "srt", "--system", "x"], 2, "--system is for --to messages, sharegpt"),
        (["--to", "messages", "--system", "{mood}"], 1, "expected {label} or {speaker}"),
        (["--to", "messages", "--config", "os", "--system", "{label}"], 1, "has no labels"),
        (["--to", "messages", "--split", "dev"], 1, "it has train, validation, test"),
        (["--to", "messages", "--min-certainty", "0.9"], 5, "nothing came out"),
        (["--to", "flat,csv"], 2, "several are for"),
    ],
)
def test_mistakes_are_explained_and_leave_nothing(folder, tmp_path, monkeypatch, options, code, message):
    monkeypatch.chdir(tmp_path)
    given = options if "--out" in options else [*options, "--out", "x.jsonl"]
    done = edos("export", folder, *given)
    assert done.exit_code == code and message in " ".join(done.output.replace("│", " ").split())
    assert not list(tmp_path.iterdir())


def test_dialogues_are_cut_at_uncertain_boundaries():
    """The first part keeps the id; a turn that is alone leaves."""
    certainties = [None, 0.9, 0.5, 0.9, 0.4, None, 0.9]
    turns = [Turn(str(place), certainty=certainty) for place, certainty in enumerate(certainties)]
    parts = list(_certain_parts([Dialogue("d", turns)], 0.8))
    assert [(part.id, [turn.text for turn in part.turns]) for part in parts] == [
        ("d", ["0", "1"]),
        ("d+2", ["2", "3"]),
        ("d+5", ["5", "6"]),
    ]


@pytest.mark.parametrize(("first", "kept"), [(0.5, [("d+1", ["1", "2"])]), (0.9, [("d", ["0", "1", "2"])])])
def test_a_first_turn_that_may_be_no_speech_leaves(first, kept):
    """In books it has a certainty, too."""
    turns = [Turn(str(place), certainty=certainty) for place, certainty in enumerate([first, 0.9, 0.9])]
    parts = _certain_parts([Dialogue("d", turns)], 0.8)
    assert [(part.id, [turn.text for turn in part.turns]) for part in parts] == kept


def test_a_book_becomes_a_script_for_a_full_cast(tmp_path):
    turns = [
        {"text": "Come!", "speaker": "Ann", "manner": "whispered", "addressee": "Tom", "narration": "She rose."},
        {"text": "No.", "speaker": "Tom"},
    ]
    (tmp_path / "a.jsonl").write_text(json.dumps({"id": "a", "turns": turns}))
    edos_dataset.export(tmp_path / "a.jsonl", to="ssml", out=tmp_path / "a.ssml")
    voices = list(etree.parse(str(tmp_path / "a.ssml")).iter("{*}voice"))
    assert [voice.get("name") for voice in voices] == ["Ann", "narrator", "Tom"]
    assert [each.get("style") for each in voices[0].iter("{*}express-as")] == ["whispering"]
    cast = ["narrator=Guy", "tom=Ryan", "Ava"]
    edos_dataset.export(tmp_path / "a.jsonl", to="ssml", out=tmp_path / "b.ssml", voice=cast, emotion="prosody")
    voices = list(etree.parse(str(tmp_path / "b.ssml")).iter("{*}voice"))
    assert [voice.get("name") for voice in voices] == ["Ava", "Guy", "Ryan"]
    assert [each.get("volume") for each in voices[0].iter("{*}prosody")] == ["-40%"]
    edos_dataset.export(tmp_path / "a.jsonl", to="csv", out=tmp_path / "a.csv")
    rows = list(csv.DictReader((tmp_path / "a.csv").open()))
    assert (rows[0]["manner"], rows[0]["addressee"], rows[0]["narration"]) == ("whispered", "Tom", "She rose.")


_NARRATED = {"text": "Sit, Mr. Hill. It is late.", "speaker": "Ann", "label": "sad"}


@pytest.mark.parametrize(
    ("narration", "places", "heard"),
    [
        ("She rose.", [0], ["narrator: She rose.", "Ann: Sit, Mr. Hill.|It is late."]),
        ("she said,", [14], ["Ann: Sit, Mr. Hill.", "narrator: she said,", "Ann: It is late."]),
        ("So.\nshe said.", [0, 26], ["narrator: So.", "Ann: Sit, Mr. Hill.|It is late.", "narrator: she said."]),
        (
            "said Ann.\nShe sat.",
            [4, 4],
            ["Ann: Sit,", "narrator: said Ann.", "narrator: She sat.", "Ann: Mr. Hill.|It is late."],
        ),
        (".", [4], ["Ann: Sit,", "Ann: Mr. Hill.|It is late."]),
        ("said Ann.", None, ["Ann: Sit, Mr. Hill.|It is late.", "narrator: said Ann."]),
        ("said Ann.", [4, "5"], ["Ann: Sit, Mr. Hill.|It is late.", "narrator: said Ann."]),
    ],
)
def test_narration_stands_where_the_book_has_it(tmp_path, narration, places, heard):
    turns = [{**_NARRATED, "narration": narration, "narration_at": places}]
    (tmp_path / "a.jsonl").write_text(json.dumps({"id": "a", "turns": turns}))
    edos_dataset.export(tmp_path / "a.jsonl", to="ssml", out=tmp_path / "a.ssml")
    voices = etree.parse(str(tmp_path / "a.ssml")).iter("{*}voice")
    spoken = [(voice.get("name"), "|".join(sentence.text for sentence in voice.iter("{*}s"))) for voice in voices]
    assert [f"{name}: {text}" for name, text in spoken] == heard
    edos_dataset.export(tmp_path / "a.jsonl", to="script", out=tmp_path / "a.csv")
    rows = list(csv.DictReader((tmp_path / "a.csv").open()))
    assert [f"{row['speaker']}: {row['text']}" for row in rows if row["text"] != "."] == [
        line.replace("|", " ") for line in heard
    ]
    assert {(row["speaker"], row["label"]) for row in rows} <= {("narrator", ""), ("Ann", "sad")}
    assert "narration" not in rows[0]


@pytest.mark.parametrize("voice", ["=Ava", "Ann=", " "])
def test_a_voice_needs_its_name(voice):
    with pytest.raises(ValueError, match="expected VOICE or SPEAKER=VOICE"):
        cast_of([voice])


def test_sentences_keep_what_closes_them():
    film = Film("x", "x.txt", [Dialogue("d", [Turn("(She “knew.”) Go!")])])
    spoken = "".join(Speech().body(film))
    assert "<s>(She “knew.”)</s><s>Go!</s>" in spoken


def test_turns_of_books_have_their_book_in_a_table(tmp_path):
    told = "“Will you come?” asked Tom.\n\n“I will,” said Ann.\n\n“Now?”\n\n“Now.”\n\n" + "He walked on. " * 30 + "\n\n"
    head = "Title: The Inn\n\nAuthor: Ann Hill\n\n*** START OF THE PROJECT GUTENBERG EBOOK ***\n\n"
    text = head + "".join(f"CHAPTER {number}\n\n{told}" for number in ("I", "II", "III"))
    (tmp_path / "inn.txt").write_text(text, encoding="utf-8")
    settings = ["books.min_words=0", "books.divergence=null", "rare_words.share=null", "duplicates.share=null"]
    edos_dataset.books(tmp_path / "inn.txt", tmp_path / "out", labels=False, settings=settings)
    edos_dataset.export(tmp_path / "out", to="csv", out=tmp_path / "a.csv")
    rows = list(csv.DictReader((tmp_path / "a.csv").open()))
    assert {(row["title"], row["author"]) for row in rows} == {("The Inn", "Ann Hill")}
    assert "CHAPTER III" in {row["chapter"] for row in rows}
    assert all(0 < float(row["certainty"]) < 1 for row in rows[:2])
    assert rows[0]["speaker"] == "Tom" and rows[0]["speaker_id"] != rows[1]["speaker_id"] != ""
