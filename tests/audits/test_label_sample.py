"""The page of labels of a run: which turns it draws, what it shows of them, and that it is harmless."""

import json
import re
from html import unescape

import pytest

from audited import films, labelled_films
from edos_dataset.audits.documents import Line
from edos_dataset.audits.label_page import RANDOM, WORST, Example, LabelPage, render_labels
from edos_dataset.audits.label_sample import label_page
from edos_dataset.runs.folder import FolderError


def drawn(folder, per_label=2, seed=0, around=1, config="edos"):
    return label_page(folder, config, per_label, seed, around)


def test_random_turns_of_every_label_then_the_least_certain_of_the_others(tmp_path):
    page = drawn(labelled_films(tmp_path / "run", ["sad", "joyful", None]))
    assert [one.draw for one in page.examples] == [RANDOM] * 4 + [WORST] * 4
    assert {(one.label, one.rows) for one in page.examples} == {("sad", 8), ("joyful", 8)}
    assert len({one.item for one in page.examples}) == 8, "nothing is drawn twice"
    for label, first in (("sad", 0), ("joyful", 1)):
        own = [one for one in page.examples if one.label == label]
        numbers = {one.item: number_of(one) for one in own}
        random = {numbers[one.item] for one in own if one.draw == RANDOM}
        left = [number for number in range(first, 24, 3) if number not in random]
        assert sorted(numbers[one.item] for one in own if one.draw == WORST) == left[:2]


def number_of(example):
    film, turn = re.search(r"film(\d+).*@(\d+)", example.item).groups()
    return 6 * int(film) + int(turn) - 1


def test_a_turn_is_shown_in_its_dialogue_with_the_model_s_answers(tmp_path):
    page = drawn(labelled_films(tmp_path / "run", ["sad"]), per_label=30)
    assert len(page.examples) == 24, "there are no more"
    one = next(each for each in page.examples if each.item == "show/film3.srt#1@3")
    assert [(line.text, line.judged) for line in one.lines] == [
        ("film 3 turn 1", False),
        ("film 3 turn 2", True),
        ("film 3 turn 3", False),
    ]
    assert (one.earlier, one.later, one.why) == (1, 2, "label by toy@1, confidence 0.200")
    assert [name for name, _ in one.model] == ["sad", "neutral"]
    assert one.facts == {
        "method": "edos",
        "dialogue_id": "show/film3.srt#1",
        "turn": 3,
        "document_id": "show/film3.srt",
        "source": "films/show",
        "language": "en",
        "split": "test",
    }
    html = render_labels(page)
    card = next(text for text in html.split("<article")[1:] if one.item in text)
    assert "1 earlier turn<" in card and "2 later turns<" in card
    before, hidden = card.split('<div class="evidence" data-blind="yes" hidden>')
    assert "toy@1" not in before and "toy@1" in hidden.split("</div>")[0]
    facts = json.loads(unescape(re.search('data-judge="([^"]*)"', card).group(1)))
    assert (facts["label"], facts["rows"], facts["draw"], facts["item"]) == ("sad", 24, "random", one.item)


def test_equal_seeds_give_equal_pages_and_others_do_not(tmp_path):
    folder = labelled_films(tmp_path / "run", ["sad", "joyful"])
    pages = [render_labels(drawn(folder, seed=seed)) for seed in (0, 0, 1)]
    assert pages[0] == pages[1] != pages[2]
    items = {tuple(one.item for one in drawn(folder, 1, seed).examples if one.draw == RANDOM) for seed in range(40)}
    assert {name for each in items for name in each} == {
        f"show/film{film}.srt#1@{turn}" for film in range(4) for turn in range(1, 7)
    }, "every turn may be drawn"


def test_text_of_the_data_stays_text():
    bad = "<script>alert('x')</script> $key ${key} </article>"
    line = Line(bad, bad, 1, (), judged=True, speaker=bad)
    one = Example(bad, "sad", 1, RANDOM, [line], facts={"method": bad, "split": bad}, why=bad, seed=[bad, bad])
    html = render_labels(LabelPage(bad, bad, ("sad", bad), [one], steps=[("1", bad)]))
    assert html.count("<script") == 1 and html.count("</article>") == 1 and "alert(&#x27;x&#x27;)" in html
    assert not re.findall(r"(?:src|href)=", html)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"per_label": 0}, "per_label must be at least 1, got 0"),
        ({"around": -1}, "around must be at least 0, got -1"),
        ({"config": "os"}, "the turns of config 'os' .* have no labels: give --config edos$"),
        ({"config": "gutenberg_en"}, "has no config 'gutenberg_en'"),
    ],
)
def test_what_cannot_be_drawn_from(tmp_path, settings, message):
    films(tmp_path / "run")
    with pytest.raises(ValueError, match=message):
        drawn(labelled_films(tmp_path / "run", ["sad"]), **settings)


def test_a_run_without_labels_and_a_damaged_one(tmp_path):
    with pytest.raises(ValueError, match="no turn of config 'edos' .* has a label"):
        drawn(labelled_films(tmp_path / "none", [None]))
    with pytest.raises(ValueError, match="label it with `edos label` first"):
        drawn(films(tmp_path / "films"), config="os")
    (labelled_films(tmp_path / "run", ["sad"]) / "edos" / "test-00000-of-00001.parquet").write_bytes(b"PAR1")
    with pytest.raises(FolderError, match="cannot read config 'edos'"):
        drawn(tmp_path / "run")
