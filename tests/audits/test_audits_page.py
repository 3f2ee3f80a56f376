"""The page of dialogues to judge: what it shows, that it is harmless and always the same."""

import json
import re
from html.parser import HTMLParser

import pytest

from audited import BOOK_ROWS, book_row, film_row, films, write_config
from edos_dataset.audits.documents import Excerpt, Paragraph, draw_items
from edos_dataset.audits.judgements import BOOKS, DIALOGUES, KINDS, PAIRS, SUBTITLES, UNITS, error_types
from edos_dataset.audits.page import Page, render

VOID = {"meta", "input"}


class Items(HTMLParser):
    """Reads the items, their lines by class, the buttons, and the nesting of the tags."""

    def __init__(self, page):
        super().__init__()
        self.items, self.buttons, self.tags, self.open, self.addresses = [], [], [], [], []
        self.feed(page)
        assert not self.open, f"tags without an end: {self.open}"

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.tags.append(tag)
        self.addresses += [found[name] for name in ("src", "href", "action", "data") if name in found]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "article":
            self.items.append({**json.loads(found["data-judge"]), "lines": [], "told": ""})
        if tag == "li" and "article" in self.open:
            self.items[-1]["lines"].append((found["class"], ""))
        if tag == "button" and "data-error" in found:
            self.buttons.append((found["data-error"], found["data-keys"]))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "article" in self.open and "li" in self.open:
            kind, text = self.items[-1]["lines"].pop()
            self.items[-1]["lines"].append((kind, text + data))
        elif "article" in self.open:
            self.items[-1]["told"] += data


def page(folder, config="os", unit=DIALOGUES, number=9, seed=0, around=2, blind=False, excerpts=None):
    config, kind, items = draw_items(folder, config, unit, number, seed, around)
    return render(Page(config, kind, unit, items, excerpts or {}, blind))


def test_turns_of_a_film_with_pauses_and_what_is_left_out(tmp_path):
    rows = [
        film_row("a/b.srt", ["Is it late?", "It is."], 1),
        film_row("a/b.srt", ["Then go.", "I will.", "Now!"], 6, 20.0),
        film_row("a/b.srt", ["Hello."], 9, 26.0),
    ]
    text = page(write_config(tmp_path, "os", {"train": rows}), around=1)
    item = next(item for item in Items(text).items if item["item"] == "a/b.srt#6")
    assert item["lines"] == [
        ("around", "2It is."),
        ("cut", "next dialogue, 3 sentences left out before it, 16.5 s later"),
        ("judged", "1Then go."),
        ("judged", "2 [0.5 s]I will."),
        ("judged", "3 [0.5 s]Now!"),
        ("cut", "next dialogue, 0.5 s later"),
        ("around", "1Hello."),
    ]
    assert {key: item[key] for key in ("source", "split", "language", "certainty", "document_id")} == {
        "source": "films/a",
        "split": "train",
        "language": "en",
        "certainty": 0.75,
        "document_id": "a/b.srt",
    }
    assert "Dialogue" in item["told"] and "certainty 0.75" in item["told"]


def test_turns_of_a_book_with_speakers_narration_and_its_paragraphs(tmp_path):
    rows = [book_row("b.txt", [("Hm?", [4], "Ann", "said Ann, and <sat>."), ("Oh.", [6])])]
    write_config(tmp_path, "gutenberg_en", {"train": rows}, BOOK_ROWS)
    told = (Paragraph(3, "It rained.", (), True), Paragraph(4, "“Hm?” said Ann", (1,), False))
    item = Items(page(tmp_path, "gutenberg_en", excerpts={"b.txt#4": Excerpt(told)})).items[0]
    assert item["lines"] == [
        ("judged", "1Ann: Hm?said Ann, and <sat>."),
        ("judged", "2Oh."),
        ("around", "¶ 3, another dialogueIt rained."),
        ("judged", "¶ 4, turn 1“Hm?” said Ann"),
    ]
    assert "In the book" in item["told"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("unit", UNITS)
def test_every_error_type_has_a_number_and_a_letter_of_its_own(kind, unit):
    types = error_types(kind, unit)
    letters, codes = [one.key for one in types], [one.code for one in types]
    assert len(set(letters)) == len(set(codes)) == len(types) <= 9, "the numbers are 1 to 9"
    assert all(re.fullmatch("[a-z]", letter) and letter != "u" for letter in letters), "u is undo"
    assert all(one.name and one.meaning and re.fullmatch("[a-z_]+", one.code) for one in types)


def test_the_paper_read_50_dialogues_and_100_pairs():
    """Section 4: of pairs, 89 without error, and each of the other 11 with one type; two types are not told."""
    assert sum(one.paper["dialogues"] for one in error_types(BOOKS)) == 17 + 5 + 14 + 7 + 4 + 1 + 1
    assert sum(one.paper.get("pairs", 0) for one in error_types(BOOKS, PAIRS)) == 11 - 2
    for kind, unit in (("songs", DIALOGUES), (BOOKS, "lines")):
        with pytest.raises(ValueError, match="expected one of"):
            error_types(kind, unit)


def test_the_buttons(tmp_path):
    films(tmp_path)
    for unit in UNITS:
        expected = [(one.code, f"{number} {one.key}") for number, one in enumerate(error_types(SUBTITLES, unit), 1)]
        assert Items(page(tmp_path, unit=unit)).buttons == expected


def test_text_of_the_data_stays_text_and_nothing_is_fetched(tmp_path):
    bad = "<script>alert('x')</script> & \"quoted\" </article><img src=x onerror=alert(1)> $key ${key}"
    rows = [film_row("\">'<script>", [bad, bad])]
    found = Items(text := page(write_config(tmp_path, "os", {"train": rows})))
    assert found.tags.count("script") == 1 and "img" not in found.tags and found.addresses == []
    assert [line for _, line in found.items[0]["lines"]] == [f"1{bad}", f"2 [0.5 s]{bad}"]
    assert found.items[0]["document_id"] == "\">'<script>" and "default-src 'none'" in text


def test_monstrous_dialogues_are_cut(tmp_path):
    rows = [film_row("a.srt", ["la " * 10_000] * 2), film_row("b.srt", ["hm"] * 300)]
    items = {item["item"]: item for item in Items(page(write_config(tmp_path, "os", {"train": rows}))).items}
    assert len(items["a.srt#1"]["lines"][0][1]) < 700 and len(items["b.srt#1"]["lines"]) == 81
    assert items["b.srt#1"]["lines"][-1] == ("cut", "220 more turns of this dialogue")


def test_the_same_folder_and_seed_give_the_same_bytes_and_another_page_has_another_key(tmp_path):
    films(tmp_path)
    first = page(tmp_path, number=5)
    assert page(tmp_path, number=5) == first
    keys = [
        re.search('data-key="([0-9a-f]{16})"', text)[1]
        for text in (first, page(tmp_path, number=5, around=1), page(tmp_path, number=5, seed=1))
    ]
    assert keys[0] == keys[1] != keys[2], "what was judged is kept, though more of the film is shown"


def test_blind_hides_the_source_of_every_item(tmp_path):
    films(tmp_path)
    assert page(tmp_path, blind=True).count('data-blind="yes"') == 9 and 'data-blind="yes"' not in page(tmp_path)
