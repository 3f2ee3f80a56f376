"""The page of labels as a reader has it: opened from the disk in headless Chromium, judged by keys and by touch,
reloaded, downloaded, and counted.
"""

import json

import pytest

from audited import labelled_films
from edos_dataset.audits.label_rates import label_rates
from edos_dataset.commands.audit import write_labels_page
from visited import CHROMIUM, CONTRAST, EDGES, watch

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium")]


@pytest.fixture(scope="module")
def browser():
    sync = pytest.importorskip(
        "playwright.sync_api", reason="needs playwright, which drives the browser: pip install playwright"
    )
    with sync.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def visit(browser, tmp_path):
    """Open a page of six random labels and of the six least certain; it must neither complain nor ask any host."""
    folder = labelled_films(tmp_path / "run", ["sad", "joyful"])
    contexts = []

    def open_page(blind=False, **device):
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **device})
        page = context.new_page()
        contexts.append((context, *watch(page)))
        out = write_labels_page(folder, "edos", 3, blind=blind, out=tmp_path / "labels.html", force=True)
        page.goto(out.as_uri())
        return page

    yield open_page
    for context, complaints, hosts in contexts:
        assert not complaints and not hosts
        context.close()


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def at(page):
    (heading,) = [one for one in page.locator("h2").all() if one.is_visible()]
    return int(heading.inner_text().split()[1])


def said(page):
    return page.locator("#status").inner_text()


def evidence(page):
    return page.locator("article:not([hidden]) .evidence")


def download(page, folder):
    with page.expect_download() as waited:
        page.get_by_role("button", name="download judgements").click()
    path = folder / waited.value.suggested_filename
    waited.value.save_as(path)
    return path


def test_keys_judge_own_labels_are_given_and_the_download_is_counted(visit, tmp_path):
    page = visit()
    assert (at(page), said(page), evidence(page).is_visible()) == (1, "not judged · 0 of 6 random turns judged", False)
    press(page, "r")
    assert (at(page), said(page)) == (2, "not judged · 1 of 6 random turns judged"), "after right comes the next one"
    press(page, "2")
    assert not evidence(page).is_visible(), "nor does the model tell before the reader has"
    press(page, "l", "o", "n")
    assert page.locator("#names .first").inner_text() == "lonely"
    press(page, "Enter")
    assert at(page) == 3
    press(page, "w", "Enter")
    assert at(page) == 4, "Enter alone goes on without a label"
    press(page, "?", "ArrowLeft", "ArrowLeft", "ArrowLeft")
    assert (at(page), said(page)) == (2, "wrong, rather lonely · 4 of 6 random turns judged")
    assert evidence(page).is_visible()
    assert "label by toy@1, confidence" in evidence(page).inner_text()
    press(page, "u")
    assert at(page) == 4 and said(page) == "not judged · 3 of 6 random turns judged", "the last one is taken back"

    page.reload()
    assert at(page) == 4
    page.get_by_label("reader").fill("Ann wru?")
    assert said(page) == "not judged · 3 of 6 random turns judged", "what is typed judges nothing"
    path = download(page, tmp_path)
    saved = json.loads(path.read_text(encoding="utf-8"))
    assert [(one["verdict"], one.get("own")) for one in saved["judgements"]] == [
        ("right", None),
        ("wrong", "lonely"),
        ("wrong", None),
    ]
    assert (saved["reader"], saved["config"], len(saved["labels"])) == ("Ann wru?", "edos", 41)
    rates = label_rates([path])
    assert (rates["overall"]["judged"], rates["overall"]["wrong"], list(rates["readers"])) == (3, 2, ["Ann wru?"])


def test_all_random_ones_judged_is_told_and_the_answers_may_be_shown_first(visit):
    page = visit()
    page.get_by_label("show the answers before going on").check()
    press(page, "1")
    assert (at(page), evidence(page).is_visible()) == (1, True)
    assert page.evaluate("document.activeElement.id") == "on"
    press(page, "Enter")
    assert at(page) == 2
    page.get_by_label("show the answers before going on").uncheck()
    press(page, *"11111")
    assert (
        said(page) == ("not judged · all 6 random ones judged: download the judgements; 0 of 6 least certain ones")
        and at(page) == 7
    )
    page.get_by_text("Judge only some").click()
    page.locator("#verdict").select_option("right")
    assert page.locator("#found").inner_text() == "6 of 12" and at(page) == 1
    page.locator("#label").select_option("lonely")
    assert page.locator("#found").inner_text() == "0 of 12"


def test_a_label_is_hidden_until_the_reader_has_given_one(visit, tmp_path):
    page = visit(blind=True)
    asked = page.locator("#asked")
    assert asked.inner_text() == "Which label fits the marked turn best?"
    assert not page.get_by_role("button", name="right").is_visible() and not evidence(page).is_visible()
    press(page, "s", "a", "Enter")
    assert at(page) == 2
    press(page, "j", "o", "Enter", "Escape", "ArrowLeft")
    assert asked.inner_text().startswith("label in the data: ") and asked.inner_text().endswith("; yours: joyful")
    found = json.loads(download(page, tmp_path).read_text())["judgements"]
    assert [(one["own"], one["verdict"]) for one in found] == [
        (own, "right" if one["label"] == own else "wrong") for one, own in zip(found, ("sad", "joyful"), strict=True)
    ]
    page.get_by_role("button", name="judge again").click()
    assert asked.inner_text() == "Which label fits the marked turn best?"


def test_a_reader_gives_a_name_and_types_labels_without_the_mouse(visit):
    page = visit(blind=True)
    assert page.get_by_text("your label", exact=True).is_visible()
    page.fill("#reader", "ann")
    press(page, "Enter")
    page.evaluate("document.activeElement.blur()")
    press(page, "s", "a", "Enter", "Escape", "j", "o", "y", "Enter")
    assert at(page) == 3, "letters go to the label, wherever the keys went before"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_all_of_it_to_be_read(visit, scheme):
    page = visit(viewport={"width": 390, "height": 844}, color_scheme=scheme, has_touch=True, is_mobile=True)
    page.get_by_role("button", name="wrong").tap()
    page.get_by_text("How to judge, and the keys").tap()
    found = page.locator("body *").evaluate_all(EDGES)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390 and min(found) >= 0 and max(found) <= 390
    page.evaluate("lift()")
    judged, panel = (page.locator(one).bounding_box() for one in ("li.judged >> visible=true", "#judge"))
    assert judged["y"] + judged["height"] <= panel["y"], "the turn can be read while its label is chosen"
    heights = page.locator("#judge button:visible").evaluate_all("(all) => all.map((one) => one.offsetHeight)")
    assert min(heights) >= 36, "big enough for a finger"
    for written in ("li.around", "li.judged", "#status", "#asked", "#wrong", "#names button", "dd"):
        assert page.locator(f"{written} >> visible=true").first.evaluate(CONTRAST) >= 4.5, f"{written} in {scheme}"
    page.get_by_role("button", name="none of them").tap()
    page.get_by_role("button", name="back").tap()
    assert at(page) == 1
    for written in (".evidence p", "#wrong"):
        assert page.locator(f"{written} >> visible=true").first.evaluate(CONTRAST) >= 4.5, f"{written} in {scheme}"
