"""The page of dialogues as a reader has it: opened from the disk in headless Chromium, judged by keys and by buttons,
reloaded, downloaded, and counted.
"""

import json

import pytest

from audited import films
from edos_dataset.audits.judgements import DIALOGUES, dialogue_rates
from edos_dataset.commands.audit import write_dialogues_page
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
def audit(tmp_path):
    out = tmp_path / "audit.html"
    write_dialogues_page(films(tmp_path / "films"), "os", DIALOGUES, 5, around=3, blind=True, out=out)
    return out


@pytest.fixture
def page(browser, audit):
    """The page, opened anew, which must not complain or ask any host."""
    opened = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    complaints, hosts = watch(opened)
    opened.goto(audit.as_uri())
    yield opened
    assert not complaints and not hosts
    opened.context.close()


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def at(page):
    """The number of the item that is shown, the only one."""
    (heading,) = [one for one in page.locator("h2").all() if one.is_visible()]
    return int(heading.inner_text().split()[1])


def said(page):
    return page.locator("#status").inner_text()


def pressed(page):
    return page.locator("#judge [aria-pressed=true]").evaluate_all(
        "(found) => found.map((one) => one.textContent.trim())"
    )


def download(page, folder):
    with page.expect_download() as waited:
        page.get_by_role("button", name="download judgements").click()
    path = folder / waited.value.suggested_filename
    waited.value.save_as(path)
    return path


def test_keys_judge_reloading_keeps_and_the_download_is_counted(page, tmp_path):
    assert (at(page), said(page)) == (1, "not judged · 0 of 5 judged")
    press(page, "1", "s")
    assert said(page) == "two speakers in a turn, change of scene inside · 1 of 5 judged"
    press(page, "ArrowRight", "0")
    assert (at(page), said(page)) == (3, "not judged · 2 of 5 judged"), "after no error comes the next one"
    press(page, "o", "5", "b", "ArrowRight", "ArrowLeft", "ArrowLeft")
    assert (at(page), pressed(page)) == (2, ["0 no error"])
    press(page, "2")
    assert pressed(page) == ["2 b false border"], "an error takes the place of no error"

    page.reload()
    assert (at(page), pressed(page)) == (2, ["2 b false border"])
    page.get_by_label("reader").fill("Ann 2b")
    assert pressed(page) == ["2 b false border"], "what is typed judges nothing"
    path = download(page, tmp_path)
    saved = json.loads(path.read_text(encoding="utf-8"))
    assert (saved["kind"], saved["unit"], saved["config"], saved["reader"]) == (
        "subtitles",
        "dialogues",
        "os",
        "Ann 2b",
    )
    assert [one["errors"] for one in saved["judgements"]] == [["two", "scene"], ["border"], ["border"]]
    rates = dialogue_rates([path])
    assert (rates["items"], rates["without_error"]["share"], rates["errors"]["border"]["share"]) == (3, 0, 0.6667)
    assert list(rates["readers"]) == ["Ann 2b"] and set(rates["groups"]) <= {"films/show0", "films/show1"}


def test_buttons_do_what_keys_do_and_undo_takes_back(page):
    page.get_by_role("button", name="damaged text").click()
    assert said(page).startswith("damaged text · 1 of 5")
    page.get_by_role("button", name="on").click()
    page.get_by_role("button", name="no error").click()
    assert at(page) == 3
    page.get_by_role("button", name="undo").click()
    assert (at(page), said(page)) == (2, "not judged · 1 of 5 judged")
    press(page, "u")
    assert (at(page), said(page)) == (1, "not judged · 0 of 5 judged")
    assert (
        page.get_by_role("button", name="undo").is_disabled() and page.get_by_role("button", name="back").is_disabled()
    )
    press(page, "u", "ArrowLeft")
    assert at(page) == 1
    press(page, "d", "d")
    assert said(page) == "not judged · 0 of 5 judged", "pressed again it is taken away"
    press(page, "0", "0", "0", "0", "0")
    assert said(page) == "no error · 5 of 5 judged: download the judgements"
    press(page, "0")
    assert said(page) == "not judged · 4 of 5 judged"


def test_keys_can_be_turned_off_and_those_of_the_browser_stay(page):
    page.get_by_label("keys on").uncheck()
    press(page, "1", "0", "ArrowRight")
    assert (at(page), said(page)) == (1, "not judged · 0 of 5 judged")
    page.get_by_label("keys on").check()
    press(page, "Control+1", "Alt+2", "9", "x")
    assert said(page) == "not judged · 0 of 5 judged"
    press(page, "ArrowRight")
    assert page.evaluate("document.activeElement.textContent") == "Dialogue 2 of 5", "who listens hears which one"


def test_the_source_shows_once_it_is_judged(page):
    source = page.locator("article:not([hidden]) .source")
    assert not source.is_visible()
    press(page, "1")
    assert source.is_visible() and "source films/show" in source.inner_text()


def test_a_reader_without_storage_can_judge_and_download(browser, audit, tmp_path):
    context = browser.new_context()
    context.add_init_script("Object.defineProperty(window, 'localStorage', { get() { throw new Error('none') } })")
    page = context.new_page()
    page.goto(audit.as_uri())
    press(page, "1", "ArrowRight", "0")
    assert len(json.loads(download(page, tmp_path).read_text())["judgements"]) == 2
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_all_of_it_to_be_read(browser, audit, scheme):
    context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme=scheme, has_touch=True)
    page = context.new_page()
    page.goto(audit.as_uri())
    page.get_by_role("button", name="false border").tap()
    page.get_by_text("What the keys mean").tap()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    found = page.locator("body *").evaluate_all(EDGES)
    assert len(found) > 100 and min(found) >= 0 and max(found) <= 390
    assert page.locator("#judge").bounding_box()["height"] < 844 / 2, "half of it is left to read"
    heights = page.locator("#judge button").evaluate_all(
        "(all) => all.map((one) => one.getBoundingClientRect().height)"
    )
    assert min(heights) >= 36, "big enough for a finger"
    for written in ("li.around", "li.cut", "li.judged", "#status", ".source", "[data-error=border]", "#right", "dd"):
        assert page.locator(f"{written} >> visible=true").first.evaluate(CONTRAST) >= 4.5, f"{written} in {scheme}"
    page.get_by_role("button", name="no error").tap()
    page.get_by_role("button", name="back").tap()
    if at(page) == 1:
        assert page.locator("#right").evaluate(CONTRAST) >= 4.5, f"no error, pressed, in {scheme}"
    context.close()


def test_every_part_has_a_name(page):
    for one in page.locator("button:visible, input:visible, progress:visible").all():
        name = one.evaluate(
            "(e) => (e.labels && e.labels.length && e.labels[0].textContent) || e.ariaLabel || e.textContent"
        )
        assert name.strip(), one.evaluate("(e) => e.outerHTML")
    assert page.locator("article:visible").evaluate(
        "(e) => document.getElementById(e.getAttribute('aria-labelledby')).textContent"
    )
    press(page, "Tab", "Tab", "Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
