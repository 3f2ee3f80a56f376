"""The shares of right labels that come of judging, and files of judgements that are none."""

import json

import pytest

from edos_dataset.audits.label_rates import label_rates
from edos_dataset.metrics.resampling import wilson


def verdict(step, label, rows, verdict, draw="random", method="spread"):
    return {
        "step": step,
        "method": method,
        "label": label,
        "rows": rows,
        "dialogue_id": "d",
        "draw": draw,
        "verdict": verdict,
    }


def rates(tmp_path, judgements):
    path = tmp_path / "judgements.json"
    path.write_text(json.dumps({"audit": "key", "judgements": judgements}))
    return label_rates([path])


def test_error_rates_of_each_step_and_of_all(tmp_path):
    judgements = [verdict(1, "sad", 50, "wrong" if number < 2 else "right") for number in range(10)] + [
        verdict(1, "sad", 50, "unsure")
    ]
    judgements += [verdict(1, "sad", 50, "wrong", "worst")] * 3 + [
        verdict(2, "sad", 150, "right", method="self-label")
    ] * 10
    found = rates(tmp_path, judgements)
    assert list(found["steps"]) == ["1 spread", "2 self-label"]
    first = found["steps"]["1 spread"]
    assert (first["judged"], first["wrong"], first["unsure"], first["error_rate"]) == (10, 2, 1, 0.2)
    assert first["interval"] == pytest.approx([0.0567, 0.5098], abs=1e-4), "Wilson's of 2 of 10, as in tables"
    assert first["worst"] == {"judged": 3, "wrong": 3, "unsure": 0}
    assert found["steps"]["2 self-label"]["error_rate"] == 0 and found["steps"]["2 self-label"][
        "interval"
    ] == pytest.approx([0, 0.2775], abs=1e-4)
    assert (found["overall"]["judged"], found["overall"]["wrong"], found["overall"]["error_rate"]) == (20, 2, 0.05), (
        "0.2 of 50 and 0 of 150"
    )


def test_a_frequent_label_counts_for_as_many_as_it_has(tmp_path):
    found = rates(tmp_path, [verdict(1, "sad", 900, "right")] * 5 + [verdict(1, "jealous", 100, "wrong")] * 5)["steps"][
        "1 spread"
    ]
    assert found["error_rate"] == 0.1
    assert found["interval"] == wilson(0.1, 1000**2 / (5 * 180**2 + 5 * 20**2))


def test_nothing_judged_and_only_unsure(tmp_path):
    assert rates(tmp_path, [])["overall"]["interval"] is None
    found = rates(tmp_path, [verdict(1, "sad", 5, "unsure")])["overall"]
    assert (found["judged"], found["unsure"], found["error_rate"], found["interval"]) == (0, 1, None, None)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "has no list 'judgements'"),
        ("{", "is no JSON"),
        (json.dumps({"judgements": [{"step": 1}]}), r"judgement 1 \(from 1\).*expected step, method"),
        (json.dumps({"judgements": [verdict(1, "sad", 5, "right"), verdict(1, "sad", 5, "maybe")]}), (
            r"judgement 2 "
            r"\(from 1\): verdict is 'maybe', expected one of right, wrong, unsure"
        )),
        (json.dumps({"judgements": [verdict(1, "glad", 5, "right")]}), "label is 'glad'"),
        (json.dumps({"judgements": [verdict(1, ["sad"], 5, "right")]}), "label is"),
        (json.dumps({"judgements": [verdict(1, "sad", 0, "right")]}), "rows is 0"),
    ],
)  # fmt: skip
def test_a_file_that_is_none(tmp_path, content, message):
    path = tmp_path / "judgements.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=message):
        label_rates([path])
    with pytest.raises(ValueError, match="cannot read"):
        label_rates([tmp_path / "missing.json"])


@pytest.mark.parametrize("entry", [{"rows": 1e400}, {"rows": 10**400}, {"step": 1e400}, {"verdict": "[/x]" * 999}])
def test_numbers_and_words_of_a_file_are_checked(tmp_path, entry):
    path = tmp_path / "judgements.json"
    path.write_text(json.dumps({"judgements": [verdict(1, "sad", 5, "right") | entry]}))
    with pytest.raises(ValueError, match=r"judgement 1 \(from 1\)") as told:
        label_rates([path])
    assert len(str(told.value)) < 800


def told(item, verdict, label="sad", rows=10, **more):
    entry = {"item": item, "digest": "d", "method": "edos", "label": label, "rows": rows, "draw": "random"}
    facts = {"dialogue_id": item, "turn": 1, "source": "a", "language": "en", "split": "train", "document_id": "x"}
    return {**entry, **facts, "verdict": verdict, **more}


def saved(folder, reader, judgements):
    path = folder / f"{reader}.json"
    path.write_text(json.dumps({"audit": "k", "config": "edos", "reader": reader, "judgements": judgements}))
    return path


def test_labels_and_what_the_reader_would_say(tmp_path):
    judgements = [
        *(told(f"s{number}", "right", rows=90) for number in range(3)),
        told("s3", "wrong", rows=90, own="lonely"),
        told("s4", "wrong", rows=90, own=None),
        told("j0", "wrong", "joyful", own="content", split="test"),
        told("j1", "unsure", "joyful"),
        told("j2", "wrong", "joyful", draw="worst", own="excited"),
    ]
    found = label_rates([saved(tmp_path, "ann", judgements)], by="split")
    assert list(found["steps"]) == ["edos"] and found["agreement"] is None
    assert found["labels"]["sad"]["right"] == 0.6 and found["labels"]["joyful"]["right"] == 0
    assert found["overall"]["right"] == 0.54, "sad counts nine times as much"
    low, high = found["overall"]["interval"]
    assert found["overall"]["right_interval"] == pytest.approx([1 - high, 1 - low], abs=1e-4)
    assert found["confusion"] == {"joyful": {"content": 1}, "sad": {"sad": 3, "lonely": 1}}, "the worst do not count"
    assert found["groups"]["test"]["judged"] == 1 and list(found["readers"]) == ["ann"]


def test_two_readers_count_a_turn_once_and_agree_or_not(tmp_path):
    ann = saved(tmp_path, "ann", [told("a", "right"), told("b", "wrong"), told("c", "right")])
    bob = saved(tmp_path, "bob", [told("a", "wrong"), told("b", "wrong"), told("c", "unsure")])
    found = label_rates([ann, bob])
    assert (found["overall"]["judged"], found["overall"]["error_rate"]) == (5, 0.5)
    assert found["overall"]["interval"] == wilson(0.5, 3)
    assert (found["agreement"]["items"], found["agreement"]["of"]["wrong"]["agreed"]) == (2, 0.5)
    with pytest.raises(ValueError, match=r"again.json: reader 'ann' judges 'a', as in .*ann.json"):
        (tmp_path / "again.json").write_bytes(ann.read_bytes())
        label_rates([ann, tmp_path / "again.json"])
    with pytest.raises(ValueError, match="by is 'mood'"):
        label_rates([ann], by="mood")


@pytest.mark.parametrize("own", ["glad", 3, ["sad"], ""])
def test_a_label_of_the_reader_that_is_none(tmp_path, own):
    with pytest.raises(ValueError, match=r"judgement 1 \(from 1\): own is .*expected one of afraid"):
        label_rates([saved(tmp_path, "ann", [told("a", "wrong", own=own)])])
