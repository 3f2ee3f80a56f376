"""The page of labels of `edos extend`: what it shows, that it is harmless and always the same."""

import json
from html.parser import HTMLParser

import pytest

from edos_dataset.augmentation.audit import write_audit
from edos_dataset.runs.folder import FolderError
from extended_rows import counts, row, self_labelled, spread, step, table, write_extended

VOID = {"meta", "input", "br"}


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
        if self.cards and "article" in self.open and found.get("class") == "judged":
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
    assert cards["b"]["marked"] == ["I lost it.", "It is lost."] and "cosine 0.931" in cards["b"]["text"], (
        "the seed above it"
    )
    assert "with elsewhere, which is not in this data set" in cards["far"]["text"]
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
    assert 'data-step="1" data-label="sad" title="judge sad of step 1">2<i style="width:100%"></i>' in text


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
    assert set(worst) == set(sorted(set(range(20)) - set(random), key=lambda number: certainty[number])[:3])
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
    assert sorted(card["marked"] for card in cards) == [[bad], [bad, bad]] and {
        card["dialogue_id"] for card in cards
    } == {
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
        and "13 earlier turns" in cards["long"]["text"]
        and "turn 12 " not in cards["long"]["text"]
        and "turn 13 " in cards["long"]["text"]
    )
    assert len(cards["long"]["text"]) < 8 * 700


def test_what_cannot_be_audited(tmp_path):
    with pytest.raises(ValueError, match="per_label must be at least 1 example, got 0"):
        write_audit(tmp_path, tmp_path / "audit.html", 0)
    with pytest.raises(FolderError, match="no folder that `edos extend` wrote"):
        write_audit(tmp_path, tmp_path / "audit.html")
    assert not (tmp_path / "audit.html").exists()


def test_all_are_shuffled_and_what_a_label_rests_on_is_hidden(tmp_path):
    rows = [row(f"d{number}", ["Oh."], label) for label in ("sad", "joyful", "angry") for number in range(9)]
    rows = [one | {"dialogue_id": f"{one['label']} {one['dialogue_id']}"} for one in rows]
    text = page(tmp_path, rows, per_label=4)
    cards = Cards(text).cards
    draws = [card["draw"] for card in cards]
    assert draws == sorted(draws), "the random ones come first"
    labels = [card["label"] for card in cards if card["draw"] == "random"]
    assert labels != sorted(labels)
    assert text.count('<div class="evidence" data-blind="yes" hidden>') == len(cards)
