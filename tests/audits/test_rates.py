"""Judgements of dialogues as files, the rates that they give, and the agreement of readers."""

import json

import pytest

from edos_dataset.audits.judgements import ANY, dialogue_rates, read_judgements
from edos_dataset.metrics.resampling import wilson


def entry(item, *errors, digest="d", **more):
    facts = {"item": item, "dialogue_id": item, "document_id": f"{item}.txt", "source": "books/en", "language": "en"}
    return {**facts, "split": "train", "digest": digest, "errors": list(errors), **more}


def write(folder, name, entries, kind="books", unit="dialogues", **more):
    path = folder / f"{name}.json"
    about = {"audit": "k", "kind": kind, "unit": unit, "config": "gutenberg_en", "reader": name, **more}
    path.write_text(json.dumps({**about, "judgements": entries}))
    return path


def test_rates_of_one_reader_beside_those_of_the_paper(tmp_path):
    entries = [entry(f"a{number}") for number in range(7)] + [entry("b", "same", "gap_small"), entry("c", "same")]
    found = dialogue_rates([write(tmp_path, "ann", [*entries, entry("d", "speakers")])])
    assert (found["kind"], found["unit"], found["items"], found["agreement"]) == ("books", "dialogues", 10, None)
    right = found["without_error"]
    assert (right["items"], right["share"], right["paper"]) == (10, 0.7, 0.32), "the paper: 16 of 50"
    assert right["interval"] == pytest.approx([0.3968, 0.8922], abs=1e-4), "Wilson's of 7 of 10, as in tables"
    same = found["errors"]["same"]
    assert (same["share"], same["paper"], same["interval"]) == (0.2, 0.14, wilson(0.2, 10))
    assert found["errors"]["gap_small"]["share"] == 0.1 and found["errors"]["delimiter"]["share"] == 0
    assert found["readers"] == {"ann": {"items": 10, "share": 0.7, "interval": wilson(0.7, 10)}}


def test_the_papers_pairs_and_films_without_a_paper(tmp_path):
    pairs = dialogue_rates([write(tmp_path, "ann", [entry("a", "nobody"), entry("b")], unit="pairs")])
    assert pairs["without_error"]["paper"] == 0.89 and pairs["errors"]["nobody"]["paper"] == 0.05
    assert "speakers" not in pairs["errors"] and "gap_small" not in pairs["errors"], "two turns show no such thing"
    films = dialogue_rates([write(tmp_path, "bob", [entry("a", "two")], kind="subtitles")])
    assert list(films["errors"]) == ["two", "border", "scene", "ocr", "other"] and "paper" not in films["without_error"]


def test_groups(tmp_path):
    entries = [entry("a"), entry("b", "same"), entry("c", source="books/hu", language="hu", split="test")]
    path = write(tmp_path, "ann", entries)
    shares = {
        by: {name: (own["items"], own["share"]) for name, own in dialogue_rates([path], by)["groups"].items()}
        for by in ("source", "language", "split", "config")
    }
    assert shares["source"] == {"books/en": (2, 0.5), "books/hu": (1, 1.0)}
    assert shares["language"] == {"en": (2, 0.5), "hu": (1, 1.0)} and shares["config"] == {"gutenberg_en": (3, 0.6667)}
    with pytest.raises(ValueError, match="by is 'mood', expected one of source, document_id"):
        dialogue_rates([path], "mood")


def test_two_readers(tmp_path):
    """20 items: both find `same` in 4 and nothing in 12, ann alone in 3, bob alone in 1."""
    found = [(True, True)] * 4 + [(False, False)] * 12 + [(True, False)] * 3 + [(False, True)]
    paths = [
        write(tmp_path, name, [entry(f"i{n}", *["same"] * each[reader]) for n, each in enumerate(found)])
        for reader, name in enumerate(("ann", "bob"))
    ]
    rates = dialogue_rates(paths)
    assert rates["items"] == 20, "what two read counts once"
    assert rates["errors"]["same"]["share"] == 0.3 and rates["errors"]["same"]["interval"] == wilson(0.3, 20)
    assert (rates["readers"]["ann"]["share"], rates["readers"]["bob"]["share"]) == (0.65, 0.75)
    agreed = rates["agreement"]["of"]["same"]
    by_chance = 0.35 * 0.25 + 0.65 * 0.75
    assert agreed["agreed"] == 0.8 and agreed["cohen_kappa"] == round((0.8 - by_chance) / (1 - by_chance), 4)
    assert agreed["fleiss_kappa"] == round((0.8 - 0.58) / 0.42, 4), "chance 0.3² + 0.7²"
    assert rates["agreement"]["of"][ANY] == agreed, "there is no other error"
    assert rates["agreement"]["of"]["delimiter"] == {"agreed": 1.0, "fleiss_kappa": None, "cohen_kappa": None}


def test_three_readers_of_whom_one_read_a_part(tmp_path):
    paths = [
        write(tmp_path, "ann", [entry("a", "same"), entry("b"), entry("c")]),
        write(tmp_path, "bob", [entry("a", "same"), entry("b")]),
        write(tmp_path, "cid", [entry("a"), entry("b", digest="another text")]),
    ]
    agreement = (rates := dialogue_rates(paths))["agreement"]
    assert (agreement["items"], agreement["readers"]) == (2, ["ann", "bob", "cid"])
    assert "cohen_kappa" not in agreement["of"]["same"]
    assert agreement["of"]["same"]["agreed"] == round((1 / 3 + 1) / 2, 4)
    assert rates["items"] == 4, "the same name with another text is another item"
    assert rates["errors"]["same"]["share"] == round(2 / 3 / 4, 4)


def test_a_reader_without_a_name_is_called_as_the_file(tmp_path):
    path = write(tmp_path, "someone", [entry("a")], reader="")
    assert list(dialogue_rates([path])["readers"]) == ["someone"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "has no list 'judgements'"),
        ("{", "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ({"judgements": []}, "judges labels, not dialogues"),
        ({"unit": "dialogues", "kind": "songs", "judgements": []}, "kind is 'songs', expected one of subtitles, books"),
        ({"unit": [], "kind": "books", "judgements": []}, r"unit is '\[\]', expected one of dialogues, pairs"),
        ({"judgements": [entry("a", "two")]}, "judgement 1 .* error is 'two', expected one of gap_small"),
        ({"judgements": [entry("a", ["same"])]}, "error is"),
        ({"judgements": [entry("a"), {"item": "a"}]}, r"judgement 2 \(from 1\): KeyError.*expected item, digest"),
        ({"judgements": ["a"]}, "judgement 1"),
        ({"judgements": [entry("a") | {"errors": None}]}, "a list of errors"),
        ({"judgements": [entry("a"), entry("a", "same")]}, "reader 'f' judges 'a', as in"),
        ({"judgements": []}, "no judgement in"),
    ],
)
def test_a_file_that_is_none(tmp_path, content, message):
    path = tmp_path / "f.json"
    if isinstance(content, dict) and content["judgements"]:
        content = {"unit": "dialogues", "kind": "books", **content}
    elif content == {"judgements": []} and message.startswith("no"):
        content = {"unit": "dialogues", "kind": "books", "judgements": []}
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(ValueError, match=message):
        dialogue_rates([path])


def test_files_that_do_not_go_together(tmp_path):
    books = write(tmp_path, "ann", [entry("a")])
    films = write(tmp_path, "bob", [entry("b")], kind="subtitles")
    with pytest.raises(ValueError, match="bob.json has dialogues of subtitles, and .*ann.json dialogues of books"):
        dialogue_rates([books, films])
    with pytest.raises(ValueError, match="reader 'ann' judges 'a', as in .*ann.json"):
        dialogue_rates([books, write(tmp_path, "copy", [entry("a")], reader="ann")])
    with pytest.raises(ValueError, match="cannot read"):
        read_judgements(tmp_path / "missing.json")
