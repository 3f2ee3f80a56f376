"""The audit page: what it shows, that it is harmless and always the same; and the error rates that come of judging."""

import json
from html.parser import HTMLParser

import pytest

from edos_dataset.augmentation.audit import judged, write_audit
from edos_dataset.metrics.resampling import wilson
from edos_dataset.runs.folder import FolderError
from extended_rows import counts, row, self_labelled, spread, step, table, write_extended

VOID = {"meta", "input"}


class Cards(HTMLParser):
    """Reads the examples, the tags and their nesting."""

    def __init__(self, page):
        super().__init__()
        self.cards, self.tags, self.open, self.addresses = [], [], [], []
        self.feed(page)
        assert not self.open, f"tags without an end: {self.open}"

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.tags.append(tag)
        self.addresses += [found[name] for name in ("src", "href", "action", "data") if name in found]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "article":
            self.cards.append({**json.loads(found["data-judge"]), "text": "", "marked": []})
        if self.cards and "article" in self.open and found.get("class") == "labelled":
            self.cards[-1]["marked"].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "article" in self.open:
            self.cards[-1]["text"] += data
            if self.open[-1] == "li" and self.cards[-1]["marked"] and not self.cards[-1]["marked"][-1]:
                self.cards[-1]["marked"][-1] = data.strip()


def page(tmp_path, rows, per_label=5, seed=0, steps=()):
    sizes = {"train": len(rows), "validation": 1, "test": 1}
    rest = {
        "validation": table([row("v", ["Is it late?"], "questioning")]),
        "test": table([row("t", ["Go away!"], "angry")]),
    }
    write_extended(tmp_path / "out", {"train": table(rows), **rest}, counts(sizes, steps))
    write_audit(tmp_path / "out", tmp_path / "audit.html", per_label, seed)
    return (tmp_path / "audit.html").read_text(encoding="utf-8")


def test_each_method_shows_what_its_label_rests_on(tmp_path):
    rows = [
        row("a", ["Where is it?", "I lost it."], "sad", share=0.75),
        spread("b", ["Gone?", "It is lost."], "sad", "a", 0.9312),
        spread("far", ["No luck."], "sad", "elsewhere", 0.92),
        self_labelled("c", ["So we won!"], "joyful", 0.875),
    ]
    text = page(tmp_path, rows, steps=[step(1, "spread", 3196, sad=2)])
    cards = {card["dialogue_id"]: card for card in Cards(text).cards}
    assert set(cards) == {"a", "b", "far", "c", "v", "t"}
    assert (
        cards["a"]["marked"] == ["I lost it."]
        and "sad  0.75" in cards["a"]["text"]
        and "neutral  0.25" in cards["a"]["text"]
    )
    assert cards["b"]["marked"] == ["It is lost.", "I lost it."] and "cosine 0.931" in cards["b"]["text"], (
        "the seed beside it"
    )
    assert "seed elsewhere" in cards["far"]["text"] and "not in this data set" in cards["far"]["text"]
    assert "confidence 0.875" in cards["c"]["text"] and "neutral  0.12" in cards["c"]["text"]
    assert (cards["b"]["step"], cards["b"]["method"], cards["b"]["label"], cards["b"]["rows"], cards["b"]["draw"]) == (
        1,
        "spread",
        "sad",
        2,
        "random",
    )
    assert (
        "12,000 read, 2 labelled (the papers: 3,196). Rejected: not_similar 11,988, conflict 10. With threshold 0.92."
        in text
    )
    assert 'data-step="1" data-label="sad" title="show sad of step 1">2<i style="width:100%"></i>' in text


@pytest.mark.parametrize(
    ("make", "method"),
    [
        (lambda n, v: spread(f"d{n}", [f"turn {n}"], "sad", "x", v), "spread"),
        (lambda n, v: self_labelled(f"d{n}", [f"turn {n}"], "sad", v), "self"),
        (lambda n, v: row(f"d{n}", [f"turn {n}"], "sad", share=v), "crowd"),
    ],
)
def test_the_worst_are_the_least_certain_of_those_not_drawn_at_random(tmp_path, make, method):
    certainty = [0.9 + (number * 7 % 20) / 400 for number in range(20)]
    cards = [
        card
        for card in Cards(
            page(tmp_path, [make(number, value) for number, value in enumerate(certainty)], per_label=3)
        ).cards
        if card["label"] == "sad"
    ]
    assert [card["draw"] for card in cards] == ["random"] * 3 + ["worst"] * 3
    random, worst = (
        [int(card["dialogue_id"][1:]) for card in cards if card["draw"] == draw] for draw in ("random", "worst")
    )
    assert worst == sorted(set(range(20)) - set(random), key=lambda number: certainty[number])[:3]
    assert {card["rows"] for card in cards} == {20}


def test_the_random_ones_are_drawn_from_all(tmp_path):
    rows = [spread(f"d{number}", ["Oh no."], "sad", "x", 0.9 + number / 100) for number in range(4)]
    drawn = set()
    for seed in range(40):
        drawn |= {
            card["dialogue_id"]
            for card in Cards(page(tmp_path, rows, 1, seed)).cards
            if card["label"] == "sad" and card["draw"] == "random"
        }
    assert drawn == {"d0", "d1", "d2", "d3"}, "the least certain one too: a sample without it would flatter"


def test_the_same_folder_and_seed_give_the_same_bytes(tmp_path):
    rows = [spread(f"d{number}", ["Oh no."], "sad", "x", 0.95) for number in range(50)]
    first = page(tmp_path, rows)
    assert page(tmp_path, rows) == first and page(tmp_path, rows, seed=1) != first


def test_text_of_the_data_stays_text_and_nothing_is_fetched(tmp_path):
    bad = "<script>alert('x')</script> & \"quoted\" </article><img src=x onerror=alert(1)> $key ${key}"
    found = Cards(
        page(tmp_path, [row('"><script>', [bad, bad], "sad"), spread("b'\"<b>", [bad], "sad", '"><script>', 0.95)])
    )
    assert found.tags.count("script") == 1 and "img" not in found.tags
    cards = [card for card in found.cards if card["label"] == "sad"]
    assert [card["marked"] for card in cards] == [[bad], [bad, bad]] and {card["dialogue_id"] for card in cards} == {
        '"><script>',
        "b'\"<b>",
    }
    assert all(address.startswith("#") for address in found.addresses)


def test_a_long_dialogue_is_cut_and_a_label_of_none_is_left_out(tmp_path):
    nobody = row("n", ["Hm."], "sad")
    nobody["label"] = None
    text = page(tmp_path, [row("long", [f"turn {number} " + "la " * 1000 for number in range(20)], "sad"), nobody])
    cards = {card["dialogue_id"]: card for card in Cards(text).cards}
    assert (
        "n" not in cards
        and "12 earlier turns" in cards["long"]["text"]
        and "turn 11 " not in cards["long"]["text"]
        and "turn 12 " in cards["long"]["text"]
    )
    assert len(cards["long"]["text"]) < 8 * 700


def test_what_cannot_be_audited(tmp_path):
    with pytest.raises(ValueError, match="per_label must be at least 1 example, got 0"):
        write_audit(tmp_path, tmp_path / "audit.html", 0)
    with pytest.raises(FolderError, match="no folder that `edos extend` wrote"):
        write_audit(tmp_path, tmp_path / "audit.html")
    assert not (tmp_path / "audit.html").exists()


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
    return judged(path)


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
        judged(path)
    with pytest.raises(ValueError, match="cannot read"):
        judged(tmp_path / "missing.json")


@pytest.mark.parametrize("entry", [{"rows": 1e400}, {"rows": 10**400}, {"step": 1e400}, {"verdict": "[/x]" * 999}])
def test_numbers_and_words_of_a_file_are_checked(tmp_path, entry):
    path = tmp_path / "judgements.json"
    path.write_text(json.dumps({"judgements": [verdict(1, "sad", 5, "right") | entry]}))
    with pytest.raises(ValueError, match=r"judgement 1 \(from 1\)") as told:
        judged(path)
    assert len(str(told.value)) < 800
