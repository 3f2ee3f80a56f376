"""Turns of books and sentences are drawn, shown without labels, judged and counted beside plain answers."""

import json
import shutil
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from edos_dataset.labeling.priors import Priors
from edos_dataset.labels import LABEL_IDS, LABELS
from evaluation import judged_languages, judged_turns
from evaluation.judged_languages import READING, Answer, Judged, tally

main = READING.main


class Labeler:
    """Says that every turn is annoyed."""

    source, record, context, identity = "one", {}, None, "one@0123456789abcdef"

    def __init__(self, name):
        pass

    def predict_proba(self, dialogues):
        rows = np.zeros((sum(map(len, dialogues)), len(LABELS)), np.float32)
        rows[:, LABEL_IDS["annoyed"]] = 0.5
        return rows


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder with a run of two German books, and held-out sentences."""
    monkeypatch.setattr(judged_turns, "load_labeler", Labeler)
    monkeypatch.setattr(judged_turns, "limit_threads", nullcontext)  # which imports libraries for seconds
    rows = [
        {
            "dialogue_id": f"{book}#{at}",
            "document_id": book,
            "turns": [{"text": f"{word} Nummer {at}.{turn}"} for turn in range(3)],
        }
        for book, word in (("a.txt", "Regenschirm"), ("b.txt", "Teekanne"))
        for at in range(4)
    ]
    (tmp_path / "run/gutenberg_de").mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "run/gutenberg_de/train-00000-of-00001.parquet")
    held = [{"language": code, "text": f"Leiter {at}"} for code in ("de", "es") for at in range(5)]
    (tmp_path / "held_out.jsonl").write_text("".join(json.dumps(each) + "\n" for each in held))
    return tmp_path


def sample(folder: Path) -> list[Judged]:
    main(
        ["sample", "--language", "de", "--books", str(folder / "run"), "--turns", "4", "--of-sentences", "2"]
        + ["--sentences", str(folder / "held_out.jsonl"), "--answers", str(folder / "answers.json")]
        + ["--out", str(folder / "read")]
    )
    return READING.read(folder / "read/key.jsonl")


def test_from_books_to_figures(folder):
    key = sample(folder)
    assert sorted((each.pool, each.document) for each in key) == [
        ("books", "a.txt"),
        ("books", "a.txt"),
        ("books", "b.txt"),
        ("books", "b.txt"),
        ("subtitles", ""),
        ("subtitles", ""),
    ], "as evenly from the books as possible"
    assert {each.source for each in key} == {"one@01234567"}
    sheet = (folder / "read/sheet.txt").read_text(encoding="utf-8")
    assert "annoyed" not in sheet.split("\n## 1\n")[1] and ".txt" not in sheet, "neither answer nor source is seen"
    assert sheet.count("\n> ") == 6

    judged = folder / "judged.jsonl"
    lines = ["1 annoyed", "2 neutral annoyed", *(f"{number} neutral" for number in range(3, 7))]
    (folder / "verdicts.txt").write_text("\n".join(lines))
    judging = ["tally", "--judged", str(judged), "--key", str(folder / "read/key.jsonl")]
    main([*judging, "--verdicts", str(folder / "verdicts.txt")])
    figures = json.loads(judged.with_suffix(".json").read_text())["de"]
    shares = [figures[name]["share"] for name in ("acceptable", "as_own", "of_others", "stands")]
    assert shares == [0.3333, 0.1667, 0.3333, 0.3333]
    assert figures["of_neutral"]["share"] is None and figures["answers"] == {"annoyed": 6}
    assert figures["always"]["most_frequent"]["label"] == "neutral"
    assert figures["always"]["neutral"]["acceptable"]["share"] == 0.8333
    assert not any(word in judged.read_text() for word in ("Regenschirm", "Teekanne", "Leiter")), "no text is kept"

    (folder / "reasons.txt").write_text("3 stands\n4 emotion_in_plain_fact\n5 other\n6 other\n")
    main(["reasons", "--language", "de", "--given", str(folder / "reasons.txt"), "--judged", str(judged)])
    figures = json.loads(judged.with_suffix(".json").read_text())["de"]
    assert figures["reasons"] == {"other": 2, "stands": 1, "emotion_in_plain_fact": 1}
    assert (figures["stands"]["share"], figures["acceptable"]["share"]) == (0.5, 0.3333)


def test_a_language_is_replaced_and_others_are_kept():
    old, new = (
        Judged(1, code, "books", "a", "a#1", 1, "0", "m", Answer("sad", 0.1), [label])
        for code, label in (("es", "sad"), ("de", "sad"))
    )
    again = Judged(1, "de", "books", "a", "a#1", 1, "0", "m", Answer("sad", 0.1), ["angry"])
    assert READING.keep([old, new], [again]) == [old, again]
    assert [tally([old, again])[code]["acceptable"]["share"] for code in ("es", "de")] == [1.0, 0.0]


@pytest.mark.parametrize(
    ("reasons", "message"),
    [("1 other", "no turn 1"), ("2 because", "'because' is no reason"), ("", "not read")],
)
def test_reasons_are_for_answers_that_the_reader_did_not_name(folder, reasons, message):
    sample(folder)
    (folder / "verdicts.txt").write_text("1 annoyed\n" + "".join(f"{number} sad\n" for number in range(2, 7)))
    judged = str(folder / "judged.jsonl")
    key = ["--key", str(folder / "read/key.jsonl"), "--verdicts", str(folder / "verdicts.txt")]
    main(["tally", "--judged", judged, *key])
    (folder / "reasons.txt").write_text(reasons)
    with pytest.raises(SystemExit, match=message):
        main(["reasons", "--language", "de", "--given", str(folder / "reasons.txt"), "--judged", judged])


def test_the_judged_file_is_whole_and_its_figures_are_those_of_it():
    records = READING.read(READING.judged)
    assert all(each.labels and (each.answer.label in each.labels) == (not each.reason) for each in records)
    figures = json.loads(READING.judged.with_suffix(".json").read_text(encoding="utf-8"))
    weighed = [row.pop("books") for row in figures.values()]
    assert tally(records) == figures
    assert all(row["films"]["acceptable"]["share"] > row["as it is"]["acceptable"]["share"] for row in weighed)


def test_judged_turns_of_books_are_labelled_again_with_priors(folder, monkeypatch):
    key = sample(folder)
    judged = folder / "judged.jsonl"
    verdicts = [f"{each.number} {'neutral' if each.pool == 'books' else 'sad'} annoyed" for each in key]
    (folder / "verdicts.txt").write_text("\n".join(verdicts) + "\n")
    files = ["--key", str(folder / "read/key.jsonl"), "--verdicts", str(folder / "verdicts.txt")]
    main(["tally", *files, "--judged", str(judged)])
    neutral = np.full(len(LABELS), 1e-6)
    neutral[LABEL_IDS["neutral"]] = 1.0

    class Unsure(Labeler):
        def predict_proba(self, dialogues):
            rows = super().predict_proba(dialogues)
            rows[:, LABEL_IDS["neutral"]] = 0.4
            return rows

    monkeypatch.setattr(judged_languages, "load_labeler", Unsure)
    monkeypatch.setattr(judged_languages, "priors_of", lambda *_: Priors("films", neutral))
    command = ["weigh", "--language", "de", "--books", str(folder / "run"), "--judged", str(judged)]
    main(command)
    figures = json.loads(judged.with_suffix(".json").read_text())["de"]["books"]
    assert {name: row["as_own"]["share"] for name, row in figures.items()} == {"as it is": 0.0, "films": 1.0}
    assert {name: row["acceptable"]["share"] for name, row in figures.items()} == {"as it is": 1.0, "films": 1.0}
    assert [row["neutral"] for row in figures.values()] == [0.0, 1.0] and figures["films"]["turns"] == 4
    shutil.rmtree(folder / "run/gutenberg_de")
    with pytest.raises(SystemExit, match="lacks 4 of 4 judged turns: run the same books"):
        main(command)
