"""`edos report --language`: the page names labels in another language, and the figures are the same."""

import json
import re

import pytest

import edos_dataset
from edos_dataset.analysis.translated import in_language
from edos_dataset.labels import EXAMPLES, LABELS
from visited import CHROMIUM


def talk(path, labels):
    """Dialogues in which `sad` always follows `joyful`, so that the pair surprises."""
    rows = []
    for number in range(120):
        own = ["joyful", "sad"] if number % 3 == 0 else [labels[number % len(labels)], "neutral"]
        turns = [{"text": EXAMPLES[name], "label": name, "confidence": 0.3 + number % 7 / 10} for name in own]
        rows.append({"dialogue_id": f"d{number}", "turns": turns})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """The folder of a report in English and one in German, on the same data."""
    folder = tmp_path_factory.mktemp("reports")
    source = talk(folder / "talk.jsonl", LABELS[:12])
    for language in ("en", "de"):
        edos_dataset.report(
            str(source), str(source), folder / f"{language}.html", pictures=False, language=language, workers=1
        )
    return folder


def in_page(path):
    found = re.search(r'<script id="report" type="application/json">(.*?)</script>', path.read_text(), re.DOTALL)
    return json.loads(found[1])


def test_figures_are_equal_and_only_the_page_is_translated(reports):
    english, german = (json.loads((reports / f"{name}.json").read_text()) for name in ("en", "de"))
    assert english == german == in_page(reports / "en.html")["figures"]
    page = in_page(reports / "de.html")
    labels = page["figures"]["data"][0]["labels"]
    assert labels["english"] == list(LABELS) and labels["names"][LABELS.index("sad")] == "traurig"
    assert page["figures"]["comparisons"][0]["names"] == labels["names"]
    assert {one["after"] for one in page["figures"]["data"][0]["surprising"]} <= set(labels["names"])
    assert any(pair.startswith("überglücklich traurig") for pair in page["shown"]["examples"])
    assert set(page["shown"]["doubtful"]) <= set(labels["names"])
    names = {name for name in LABELS if name not in labels["names"]}
    for found in (page["figures"]["data"][0]["words"]["by_label"], page["shown"]["doubtful"]):
        assert found and not names & set(found)
    assert page["shown"]["dialogues"] == in_page(reports / "en.html")["shown"]["dialogues"]


def test_doubted_labels_are_named_too_and_sets_of_ones_own_are_not(reports):
    made = in_page(reports / "en.html")
    figures, shown = made["figures"], made["shown"]
    doubts = {"turns": 1, "by_label": [{"label": "sad", "turns": 1}], "pairs": [{"given": "sad", "likely": "lonely"}]}
    shown = {**shown, "doubted": {"sad": [{"id": "d0", "turn": ["x"], "likely": "lonely"}]}}
    found, told = in_language({**figures, "doubts": doubts}, shown, "es")
    assert found["doubts"]["by_label"] == [{"label": "tristeza", "turns": 1}]
    assert found["doubts"]["pairs"] == [{"given": "tristeza", "likely": "soledad"}]
    assert told["doubted"] == {"tristeza": [{"id": "d0", "turn": ["x"], "likely": "soledad"}]}
    own = [{**one, "labels": {**one["labels"], "of": "moods"}} for one in figures["data"]]
    compared = [{**one, "labels_of": "moods"} for one in figures["comparisons"]]
    figures = {**figures, "data": own, "comparisons": compared, "doubts": doubts}
    assert in_language(figures, shown, "es") == (figures, shown)


def test_an_unknown_language_is_refused_before_anything_is_read(tmp_path):
    with pytest.raises(ValueError, match="not translated into 'fi'"):
        edos_dataset.report(tmp_path / "none.jsonl", language="fi")


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium")
def test_the_page_draws_german_names(reports):
    sync = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    with sync.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for width in (1280, 390):
            page = opened.new_page(viewport={"width": width, "height": 900})
            errors = []
            page.on("pageerror", lambda error, errors=errors: errors.append(str(error)))
            page.goto(f"file://{reports}/de.html")
            page.wait_for_selector("#browser .chip")
            assert errors == [] and page.evaluate("document.documentElement.scrollWidth") <= width
            assert "traurig" in page.locator("#labels svg text").all_text_contents()
            page.locator("#labels summary", has_text="As a table").first.click()
            page.locator("#labels th", has_text="traurig (sad)").wait_for(state="attached")  # drawn once it is open
            chip = page.locator("#browser .chip", has_text="traurig").first
            assert chip.get_attribute("title") == "sad"
        opened.close()
