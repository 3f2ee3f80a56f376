"""Files of others of many rows are read in time in proportion to them, one for every reader that is registered.

`test_growth` asks the same of books and judgements, `test_linear_time` of expressions and of single texts.
"""

import csv
import io
import json
import zipfile

import openpyxl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from crowd_people import answered, careful, judging, labelling, straight, written
from edos_dataset.commands.crowd_batches import IMPORTS, open_answers, read_import
from edos_dataset.crowd.answers import label_table, read_answers
from edos_dataset.crowd.hit_answers import HitAnswers, write_hit_answers
from edos_dataset.crowd.hits import Hit
from edos_dataset.crowd.judgements import measure_judgements
from edos_dataset.crowd.mturk_columns import TASK_ANSWERS, plain_columns
from edos_dataset.crowd.quality import QualityRules, worker_rows
from edos_dataset.exports.segments import segmented
from edos_dataset.metrics.responses.dialog_eval import evaluate
from edos_dataset.releases.dialogues import read_source
from edos_dataset.releases.formats.forms import TABLE
from edos_dataset.releases.formats.selection import ALL
from edos_dataset.releases.labelled_sets.readers import SOURCES
from edos_dataset.segmentation.books.papers import extract_as_papers
from edos_dataset.sources.formats import BOOK_FORMATS, formats_by_suffix
from edos_dataset.sources.inventory import find_films
from edos_dataset.web.crowd.guideline import guideline_html
from edos_dataset.web.pasted import lines_of
from edos_dataset.web.spaces import read_paste
from tests.support.adversaries import check_growth
from tests.test_growth import BOOKS
from tests.test_linear_time import MANY

ROW = 20  # characters of a size of `check_growth` for one row


def grows_no_faster(make, read, per_character=2e-4):
    """Assert that what `read` does of what `make(rows)` returns takes time in proportion to the rows."""
    made = {}

    def run(text):
        rows = len(text) // ROW
        read(made[rows])

    def text(size):
        rows = size // ROW
        if rows not in made:
            made[rows] = make(rows)
        return " " * size

    assert check_growth(run, [text], per_character=per_character) is None


def rows(number):
    return [
        {"dialogue_id": f"d{place // 4}", "text": f"No {place}, “I” said.", "speaker": f"S{place % 3}", "label": "sad"}
        for place in range(number)
    ]


def table(number):
    return pa.Table.from_pylist(rows(number))


def in_lines(number):
    return "".join(f"No {place}, I said.\n" + "\n" * (place % 4 == 3) for place in range(number)).encode()


def in_csv(values):
    text = io.StringIO()
    writer = csv.DictWriter(text, list(values[0]))
    writer.writeheader()
    writer.writerows(values)
    return text.getvalue().encode()


def in_file(write):
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def workbook(number):
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet()
    for row in (list(rows(1)[0]), *([*row.values()] for row in rows(number))):
        sheet.append(row)
    return in_file(book.save)


TABLES = {
    "jsonl": lambda n: "".join(json.dumps(row) + "\n" for row in rows(n)).encode(),
    "json": lambda n: json.dumps(rows(n)).encode(),
    "csv": lambda n: in_csv(rows(n)),
    "parquet": lambda n: in_file(lambda file: pq.write_table(table(n), file)),
    "arrow": lambda n: in_file(lambda file: feather.write_feather(table(n), file, compression="uncompressed")),
    "xlsx": workbook,
    "text": in_lines,
}


@pytest.mark.parametrize("form", TABLES)
def test_dialogues_in_tables(form, tmp_path):
    suffix = next(one.suffixes[0] for one in TABLE if one.name == form)

    def make(number):
        path = tmp_path / f"{number}{suffix}"
        path.write_bytes(TABLES[form](number))
        return path

    grows_no_faster(make, lambda path: [part.to_pylist() for part in read_source(path, 1_000, ALL)])


EMPTY_LINES = "\n\n".join(["“Will you come?” asked Tom.", "“No,” said Ann, “not I.”"] * 8)


def utterances(number, column, label):
    """Return rows of a table as MELD's."""
    return [
        {"Utterance": f"No {i}.", "Speaker": "Ann", column: label, "Dialogue_ID": i // 9, "Utterance_ID": i % 9}
        for i in range(number)
    ]


OF_SETS = {
    "meld": lambda n: in_csv(utterances(n, "Emotion", "joy")),
    "emotyda": lambda n: in_csv(utterances(n, "Dialogue Act", "q")),
    "mustard": lambda n: in_csv(
        [
            {"SCENE": i // 5, "KEY": i, "SENTENCE": f"No {i}.", "SPEAKER": "ANN", "Implicit_Emotion": "Anger"}
            for i in range(n)
        ]
    ),
    "dailydialog": lambda n: "".join(
        json.dumps({"dialogue": [{"emotion": "joy", "act": "inform", "text": f"No {i} ."}] * 2}) + "\n"
        for i in range(n)
    ).encode(),
    "emorynlp": lambda n: json.dumps(
        {
            "episodes": [
                {
                    "scenes": [
                        {
                            "scene_id": str(i),
                            "utterances": [{"transcript": f"No {i}", "speakers": ["A"], "emotion": "Mad"}],
                        }
                        for i in range(n)
                    ]
                }
            ]
        }
    ).encode(),
    "xed": lambda n: "".join(f"No {i}.\t1\n" for i in range(n)).encode(),
    "goemotions": lambda n: "".join(f"No {i}.\t2\tid{i}\n" for i in range(n)).encode(),
    "esconv": lambda n: "".join(f"1.0 {i % 2} {i} [Question] No {i}. EOS 1.0 1 {i} oh\tx\n" for i in range(n)).encode(),
    "swda": lambda n: "".join(f"A|No {i}, uh.|sd\n" for i in range(n)).encode(),
}


@pytest.mark.parametrize("name", OF_SETS)
def test_labelled_sets(name, tmp_path):
    path = tmp_path / SOURCES[name].files[next(iter(SOURCES[name].files))][0].rpartition("/")[2]

    (tmp_path / "labels.txt").write_text("admiration\namusement\nanger\n")

    def read(data):
        path.write_bytes(data)
        assert list(SOURCES[name].read(path))

    grows_no_faster(OF_SETS[name], read)


def in_hits(batch, number):
    """Return a batch of as many HITs as there are, cut to a number of them."""
    return type(batch)(batch.kind, batch.hits[:number], batch.workers)


LABELLED, JUDGED = labelling(1_500), judging(1_000)


@pytest.mark.parametrize("source", [LABELLED, JUDGED], ids=["labelling", "judging"])
def test_answers_to_a_batch(source, tmp_path):
    def make(number):
        batch = in_hits(source, max(1, number // 40))
        folder = written(tmp_path / str(number), batch)
        given = answered(batch, {"ann": (careful, 3.0), "bob": (straight, 1.0)})
        write_hit_answers(folder / "answers.jsonl", HitAnswers(given.given, given.finished))
        return folder

    def read(folder):
        given = open_answers(folder)
        rules = QualityRules()
        worker_rows(given.batch.hits, given.answers, rules)
        if source.kind == "judging":
            measure_judgements(given.batch.hits, given.answers, rules, resamples=1)
        else:
            label_table(given.batch.hits, given.answers)

    grows_no_faster(make, read, per_character=1e-3)


def of_tools(hits: list[Hit], people: int):
    """Return an export of each tool in which people answer the items to label of some HITs."""
    asked = [(hit.id, item) for hit in hits for item in hit.items if item.kind == "label"]
    region = [{"type": "choices", "from_name": "label", "value": {"choices": ["sad"]}}]
    tasks = [
        {
            "data": {"hit": hit, "item": item.id},
            "annotations": [{"completed_by": who, "result": region, "lead_time": 2} for who in range(people)],
        }
        for hit, item in asked
    ]
    responses = {"label": [{"value": "sad", "user_id": str(who)} for who in range(people)]}
    records = [{"metadata": {"hit": hit, "item": item.id}, "responses": responses} for hit, item in asked]
    cells = [
        {"META_hit": hit, "META_item": item.id, "participant_id": who, "label": "sad", "seconds": 2}
        for hit, item in asked
        for who in range(people)
    ]
    turk = [
        {"Input.hit": hit.id, "WorkerId": who, "Answer.label1": "sad", "WorkTimeInSeconds": 9}
        for hit in hits
        for who in range(people)
    ]
    return {
        "argilla": json.dumps(records).encode(),
        "label-studio": json.dumps(tasks).encode(),
        "prolific-csv": in_csv(cells),
        "mturk-csv": in_csv(turk),
    }


@pytest.mark.parametrize("tool", IMPORTS)
def test_answers_of_other_tools(tool, tmp_path):
    batch = in_hits(LABELLED, 10)
    folder, path = written(tmp_path / "batch", batch), tmp_path / "export"

    def read(data):
        path.write_bytes(data)
        assert read_import(path, tool, folder)

    grows_no_faster(lambda number: of_tools(batch.hits, max(1, number // 20))[tool], read, per_character=1e-3)


SEGMENT = {"document_id": "a", "sentence_id": 1, "start": 1.0, "end": 2.0, "text": "x", "turn_id": 1, "speaker": "A"}
TURK = {"HITId": "h", "WorkerId": "w", "Answer.label1": "sad", "Input.task1": "t", "Input.dialogue1": "- a\n- b"}
FILES = {
    "segments": (
        "x.jsonl",
        lambda n: "".join(json.dumps(SEGMENT | {"sentence_id": i, "turn_id": i, "start": i}) + "\n" for i in range(n)),
        lambda path: list(segmented(path)),
    ),
    "answers of Mechanical Turk": (
        "x.csv",
        lambda n: in_csv([TURK | {"HITId": f"h{i // 3}", "WorkerId": f"w{i % 3}"} for i in range(n)]).decode(),
        read_answers,
    ),
    "answers": (
        "x.jsonl",
        lambda n: "".join(
            json.dumps({"task": f"t{i // 3}", "worker": f"w{i}", "label": "sad"}) + "\n" for i in range(n)
        ),
        read_answers,
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_files_of_many_lines(name, tmp_path):
    file, make, read = FILES[name]

    def run(text):
        (tmp_path / file).write_text(text)
        read(tmp_path / file)

    grows_no_faster(make, run)


TEXTS = {
    "pasted lines": (lambda n: "A: No, not I.\n" * n, lambda text: read_paste(text, most=1_000, cut=True)),
    "pasted dashes": (lambda n: "- No. " * n, lines_of),
    "pasted subtitles": (
        lambda n: "".join(f"{i}\n00:00:{i % 60:02},000 --> 00:00:{i % 60:02},900\nNo.\n\n" for i in range(n)),
        lines_of,
    ),
    "guideline": (lambda n: "# A\n\n- *b* `c` [d](e)\n\nf\n" * n, guideline_html),
    "books by the papers' rules": (lambda n: EMPTY_LINES * (n // 8 + 1), lambda text: extract_as_papers(text, "en")),
    "answers in columns": (
        lambda n: [(i, {TASK_ANSWERS: json.dumps([{"q1": {"a": True, "b": False}}])}) for i in range(n)],
        plain_columns,
    ),
    "one answer of many columns": (
        lambda n: [(1, {f"Answer.q{i}.a": "true" for i in range(n)})],
        plain_columns,
    ),
    "responses": (
        lambda n: [f"No {i % 50}, I said so." for i in range(n)],
        lambda texts: evaluate(texts, contexts=texts, references=texts),
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts_of_many_parts(name):
    make, read = TEXTS[name]
    grows_no_faster(make, read)


@pytest.mark.parametrize("packed", [False, True])
def test_names_of_files(packed, tmp_path):
    def make(number):
        folder = tmp_path / str(number)
        folder.mkdir()
        names = [f"film {place} (19{place % 90 + 10}).en.srt" for place in range(number)]
        if packed:
            with zipfile.ZipFile(folder / "x.zip", "w") as archive:
                for name in names:
                    archive.writestr(name, "x")
        else:
            for name in names:
                (folder / name).touch()
        return folder

    grows_no_faster(make, lambda folder: find_films([folder], "en"))


def test_every_reader_is_asked():
    """A reader that is added is found here to be missing."""
    assert TABLES.keys() == {form.name for form in TABLE}
    assert OF_SETS.keys() == SOURCES.keys()
    assert {"tei", "html", "text", "epub"} == {format.kind for format in BOOK_FORMATS.values()} <= BOOKS.keys()
    assert {format.kind for format in formats_by_suffix().values()} <= SUBTITLES.keys() | {"opus", "subtitle"}
    assert {name for names in SUBTITLES.values() for name in names} <= MANY.keys()


SUBTITLES = {
    "transcript": ("transcript", "telegram", "slack", "messenger"),
    "chat": ("whatsapp", "discord"),
    "script": ("screenplay",),
    "fountain": ("fountain",),
    "fdx": ("final draft",),
    "ttml": ("ttml",),
    "timedtext": ("youtube xml", "youtube json"),
    "subtitle": ("voices", "rolling", "sbv", "microdvd", "sami", "lrc"),
}
"""Kind of format → those of `MANY` that are of it."""
