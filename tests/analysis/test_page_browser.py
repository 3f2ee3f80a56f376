"""The page as a reader has it, in headless Chromium: at a desk and on a phone, light and dark, with harmful texts."""

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
    pytest.importorskip("plotly", reason='needs plotly: pip install "edos-dataset[report]"')
    home = tmp_path_factory.mktemp("report")
    rows = dialogues(120)
    for row, text in zip(rows, (HOSTILE, RIGHT_TO_LEFT, LONG_WORD), strict=False):
        row["turns"][0]["text"] = text
    rows[0]["dialogue_id"] = rows[0]["document_id"] = f"{HOSTILE}#1"
    source = write_folder(home / "a <b>name<b>", {"train": rows})
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
        figure.scroll_into_view_if_needed()
        figure.wait_for_selector(".main-svg")
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


def test_the_flow_follows_keys_and_clicks(browser, page_file):
    page, _, _ = opened(browser, page_file)
    page.locator("#flow").scroll_into_view_if_needed()
    page.wait_for_selector("#flow .sankey-node")
    whole = page.text_content("#flow .status")
    page.focus("#flow-label")
    page.keyboard.press("ArrowDown")
    chosen = page.text_content("#flow .status")
    assert chosen != whole and "that begin with afraid" in chosen
    page.select_option("#flow-data", label="other (edos)")
    assert page.text_content("#flow .status").startswith("other (edos), all dialogues")
    node = page.locator("#flow .sankey-node").filter(has_not_text="other").locator(".node-rect").first
    node.scroll_into_view_if_needed()
    page.wait_for_timeout(1_000)  # plotly draws anew
    box = node.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_timeout(500)  # plotly takes for clicked what it has found under the mouse before
    page.mouse.down()
    page.mouse.up()
    page.locator("#flow .status", has_text="that begin with").wait_for()
    page.close()


def test_what_is_looked_for_stands_in_the_address(browser, page_file):
    page, _, _ = opened(browser, page_file)
    assert page.evaluate("document.forms[1].elements.film.list.options.length") > 9
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
    assert b"rgb(32, 32, 31)" in content and complaints == []
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
