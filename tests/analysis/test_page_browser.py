"""The page as a reader has it, in headless Chromium: at a desk and on a phone, light and dark, with harmful texts."""

import json
import math
import re
from pathlib import Path
from urllib.parse import quote

import pytest

from edos_dataset.commands.report import report
from edos_dataset.releases.reported import Asked
from reported_folder import dialogues, write_folder
from visited import CHROMIUM, CONTRAST, WAIT, watch

pytestmark = pytest.mark.slow
HOSTILE = "</script><script>window.harmed = 1</script><img src=x onerror='window.harmed = 2'><b>bold</b>"
RIGHT_TO_LEFT = "שלום \u202e world"
LONG_WORD = "w" * 10_000


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    home = tmp_path_factory.mktemp("report")
    rows = dialogues(120)
    for row, text in zip(rows, (HOSTILE, RIGHT_TO_LEFT, LONG_WORD), strict=False):
        row["turns"][0]["text"] = text
    rows[0]["dialogue_id"] = rows[0]["document_id"] = f"{HOSTILE}#1"
    source = write_folder(home / "a <b>name<b>", {"train": rows[:90], "test": rows[90:]})
    other = write_folder(home / "other", {"train": dialogues(90, seed=4)})
    report(Asked(str(source)), [Asked(str(other))], home / "report.html", pictures=False)
    return home / "report.html"


@pytest.fixture(scope="module")
def browser():
    sync = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    if CHROMIUM is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    with sync.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


def opened(browser, file, hash="", width=1280, scheme="light"):
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.set_default_timeout(WAIT)
    complaints, hosts = watch(page)
    page.goto(f"file://{quote(str(file))}{hash}")
    page.wait_for_selector("html[data-ready=yes]")
    return page, complaints, hosts


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_every_picture_is_drawn_and_fits(browser, page_file, width, scheme):
    page, complaints, hosts = opened(browser, page_file, "", width, scheme)
    figures = page.query_selector_all("figure")
    assert len(figures) > 9
    for figure in figures:
        assert figure.query_selector("svg *")
        assert figure.query_selector("[role=img]").get_attribute("aria-label") and figure.query_selector("details")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    for wanted in ("h2", ".soft", "nav a", "th", "article .chip small"):
        assert page.eval_on_selector(wanted, CONTRAST) >= 4.5, wanted
    assert complaints == [] and hosts == set()
    page.close()


def test_hostile_texts_are_shown_as_text(browser, page_file):
    page, complaints, _ = opened(browser, page_file)
    assert page.text_content("h1") == "a <b>name<b> (edos)"
    page.fill("[name=text]", "window.harmed")
    assert page.text_content("#browser article li span") == HOSTILE
    assert page.evaluate("window.harmed") is None and page.query_selector("#main script, #main img, #main b b") is None
    page.fill("[name=text]", "שלום")
    assert page.text_content("#browser article li span") == RIGHT_TO_LEFT
    page.fill("[name=text]", "w" * 500)
    assert len(page.text_content("#browser article li span")) == 600
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280 and complaints == []
    page.close()


def test_the_flow_shows_three_groups_first_and_follows_keys_and_clicks(browser, page_file):
    page, _, _ = opened(browser, page_file)
    names = page.locator("#flow svg text")
    assert set(names.all_text_contents()) == {"emotions", "intents", "neutral"}
    flow = json.loads(page_file.with_suffix(".json").read_text())["data"][0]["flow"]["all"]
    dialogues = sum(number for step, _, _, number in flow if step == 0)
    said = page.locator("#flow .node[x='5']").evaluate_all("all => all.map((one) => one.dataset.say)")
    assert sum(int(one.split(": ")[1].split()[0].replace(",", "")) for one in said) == dialogues
    whole = page.text_content("#flow .status")
    page.locator("#flow .node").first.click()
    assert page.input_value("#flow-nodes") == "labels" and "other emotions" in names.all_text_contents()
    page.focus("#flow-label")
    page.keyboard.press("ArrowDown")
    chosen = page.text_content("#flow .status")
    assert chosen != whole and "that begin with afraid" in chosen
    page.select_option("#flow-data", label="other (edos)")
    assert page.text_content("#flow .status").startswith("other (edos), all dialogues")
    page.locator("#flow .node:not([data-label='-1'])").first.click()
    assert "that begin with" in page.text_content("#flow .status")
    page.close()


def test_labels_are_drawn_as_they_are_counted_as_shares_and_as_ratios(browser, page_file):
    page, _, _ = opened(browser, page_file)
    mine, theirs = (one["label_turns"] for one in json.loads(page_file.with_suffix(".json").read_text())["data"])
    dots = page.locator("#labels circle[data-say]")
    said = dict(
        one.split(" in a <b>name<b> (edos): ") for one in dots.evaluate_all("all => all.map((one) => one.dataset.say)")
    )
    assert {name: float(share.rstrip("%")) for name, share in said.items()} == {
        row["label"]: round(100 * row["share"], 2) for row in mine
    }
    by_share = sorted(mine, key=lambda row: row["share"])
    places = dict(zip(said, dots.evaluate_all("all => all.map((one) => Number(one.getAttribute('cx')))"), strict=True))
    low, middle, high = (by_share[place] for place in (0, 20, 40))
    far, near = (places[one["label"]] - places[low["label"]] for one in (high, middle))
    on_log = math.log(middle["share"] / low["share"]) / math.log(high["share"] / low["share"])
    assert near / far == pytest.approx(on_log, abs=0.01)
    page.select_option("#labels select", "0")
    said = page.locator("#labels rect[data-say*=' times, ']").evaluate_all("all => all.map((one) => one.dataset.say)")
    shares = {row["label"]: (row["share"], other["share"]) for row, other in zip(mine, theirs, strict=True)}
    assert len(said) == 41
    for one in said:
        name, ratio = re.match(r"(.*): ([\d.]+) times", one).groups()
        assert float(ratio) == pytest.approx(shares[name][0] / shares[name][1], abs=0.006)
    page.close()


def test_a_click_in_the_matrix_filters_the_dialogues(browser, page_file):
    page, complaints, _ = opened(browser, page_file)
    cell = page.locator("#transitions .cell").first
    cell.hover()
    after, before, times = re.match(r"(.+) after (.+): ([\d,]+) time", page.text_content(".hint")).groups()
    cell.click()
    page.locator("#browser .status", has_text=f"{after} comes {times} time").wait_for()
    assert page.input_value("[name=label]") == after and page.input_value("[name=after]") == before
    for wanted in page.query_selector_all("#browser article .wanted"):
        assert wanted.inner_text().split("\n")[-1].startswith(after)
        assert before in wanted.evaluate("one => one.previousElementSibling.querySelector('.chip').textContent")
    page.locator("#transitions details").first.evaluate("one => one.open = true")
    assert page.locator("#transitions td a").first.get_attribute("href").startswith("#after=")
    assert complaints == []
    page.close()


def test_dialogues_are_found_by_certainty_and_split(browser, page_file):
    page, _, _ = opened(browser, page_file)
    page.fill("[name=certainty]", "0.7")
    facts = page.locator("#browser article header").all_text_contents()
    assert facts and all(float(re.search(r"certainty ([\d.]+)", one)[1]) >= 0.7 for one in facts)
    page.select_option("[name=split]", "test")
    facts = page.locator("#browser article header").all_text_contents()
    assert facts and all("test" in one for one in facts) and "split=test" in page.evaluate("location.hash")
    page.close()


def test_the_page_prints_whole_and_light(browser, page_file):
    page, _, _ = opened(browser, page_file, "", 1280, "dark")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 703, "height": 1030})  # A4
    cut = "one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 1"
    assert page.locator(".scroll, .drawing, figure").evaluate_all(f"all => all.filter((one) => {cut}).length") == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 703
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(250, 250, 248)"
    page.close()


def test_what_is_looked_for_stands_in_the_address(browser, page_file):
    page, _, _ = opened(browser, page_file)
    assert page.evaluate("document.querySelector('#browser form').elements.film.list.options.length") > 9
    page.select_option("[name=label]", "sad")
    page.fill("[name=from]", "0.5")
    number = page.text_content("#browser .status")
    hash = page.evaluate("location.hash")
    assert "label=sad" in hash and re.match(r"\d+ dialogues? of", number)
    for chip in page.query_selector_all("#browser article .wanted .chip"):
        label, sure = chip.text_content().split()
        assert label == "sad" and float(sure) >= 0.5
    again, _, _ = opened(browser, page_file, hash)
    assert again.text_content("#browser .status") == number
    again.click("#browser article header a")
    again.locator("#browser .status", has_text="One dialogue").wait_for()
    again.go_back()
    again.locator("#browser .status", has_text=number).wait_for()
    nowhere, _, _ = opened(browser, page_file, "#dialogue=none")
    assert "no dialogue none" in nowhere.text_content("#browser .status")
    for each in (page, again, nowhere):
        each.close()


def test_a_picture_is_saved_by_key_on_the_ground_of_the_page(browser, page_file):
    page, complaints, _ = opened(browser, page_file, "", 1280, "dark")
    for form, begin in (("PNG", b"\x89PNG"), ("SVG", b"<svg")):
        page.locator(f"#flow button[aria-label^={form}]").focus()
        with page.expect_download() as saved:
            page.keyboard.press("Enter")
        content = Path(saved.value.path()).read_bytes()
        assert content.startswith(begin) and saved.value.suggested_filename == f"picture.{form.lower()}"
    assert b'fill="#20201f"' in content and b"var(" not in content and complaints == []
    page.close()


def test_what_is_doubted_leads_to_its_dialogue(browser, page_file):
    page, _, _ = opened(browser, page_file)
    page.locator("#doubtful .folds details").first.evaluate("one => one.open = true")
    row = page.locator("#doubtful .folds details").first.locator("tbody tr").first
    wanted = row.locator("a").text_content()
    row.locator("a").click()
    page.locator("#browser .status", has_text=f"One dialogue, {wanted}.").wait_for()
    page.close()


def test_the_button_turns_the_light(browser, page_file):
    page, _, _ = opened(browser, page_file)
    page.click("#theme")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.get_attribute("#theme", "aria-pressed") == "true"
    page.close()


def test_the_page_opens_with_what_matters(browser, page_file):
    page, complaints, _ = opened(browser, page_file)
    lines = page.locator("#main > section:first-child li").all_inner_texts()
    assert re.search(r"^Check: [\d,]+ of [\d,]+ turns \([\d.]+\s%\) have no label", lines[0]), (
        "what to mend stands first"
    )
    assert any("of the turns are neutral; in other" in line for line in lines)
    assert any("No dialogue is a copy or near-copy of one in other" in line for line in lines)
    page.locator("#matters a").first.click()
    assert "#" in page.url and complaints == []
    page.close()
