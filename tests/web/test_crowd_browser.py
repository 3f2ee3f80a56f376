"""Both tasks done from beginning to end in headless Chromium: with a mouse, by keys alone, and by touch on a phone.

`EDOS_AXE=path/to/axe.min.js` (npm pack axe-core) also looks for faults of accessibility.
"""

import os
import socket
from pathlib import Path

import pytest

from benchmarks.crowd_load import PASSWORD, Server
from crowd_batches import HOSTILE, judging, labelling
from edos_dataset.crowd.assignments import answer_lines
from edos_dataset.crowd.store import invite
from visited import CHROMIUM, EDGES, WAIT, watch

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium")]
DESK, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
WORKERS = ("anna", "ben", "cleo")
AXE = os.environ.get("EDOS_AXE")


@pytest.fixture(scope="module")
def browser():
    sync = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    with sync.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


class Study:
    """A batch that is served, and its workers' links."""

    def __init__(self, made, folder):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.batch, self.store = made
        self.items = {item.id: item for item in self.batch.hits[0].items}
        tokens = invite(self.store, WORKERS)
        self.address = f"http://127.0.0.1:{port}"
        self.links = {name: f"{self.address}/w/{token}" for name, token in tokens.items()}
        self.server = Server(folder, port)

    def answers(self, worker):
        """What a worker handed in: item → (value, typed)."""
        alias = self.store.alias(worker)
        lines = [line for line in answer_lines(self.store, self.batch) if line["worker"] == alias]
        assert [line for line in lines if "finished" in line], "nothing was handed in"
        return {line["item"]: (line["value"], line["typed"]) for line in lines if "item" in line}


@pytest.fixture(scope="module")
def label_study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("labelling") / "batch"
    study = Study(labelling(folder, dialogues=3, size=3, quizzes=2), folder)
    yield study
    study.server.kill()


@pytest.fixture(scope="module")
def judge_study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("judging") / "batch"
    study = Study(judging(folder, dialogues=2, size=2, bonus=1, workers=3), folder)
    yield study
    study.server.kill()


@pytest.fixture
def visit(browser):
    """Open pages, which must neither complain nor ask another host; on phones nothing may stick out."""
    contexts = []

    def open_page(study, worker="", viewport=DESK, touch=False, scheme="light"):
        context = browser.new_context(viewport=viewport, has_touch=touch, is_mobile=touch, color_scheme=scheme)
        page = context.new_page()
        page.set_default_timeout(WAIT)
        contexts.append((context, *watch(page), study.address.removeprefix("http://")))
        page.goto(study.links[worker] if worker else study.address)
        return page

    yield open_page
    for context, complaints, hosts, ours in contexts:
        context.close()
        assert complaints == [] and hosts == {ours}


def begun(page):
    page.wait_for_selector("#turns li")


def at(page, number):
    page.locator("#count", has_text=f" {number} of ").wait_for()


def marked(page):
    """The label that Enter takes."""
    return page.locator("#found [aria-selected=true]").inner_text()


def fits(page):
    """Nothing sticks out of the screen at the sides."""
    edges = page.locator("main *:visible, header *:visible").evaluate_all(EDGES)
    assert min(edges) >= 0 and max(edges) <= page.viewport_size["width"]


def sound(page):
    """No serious fault of accessibility, where axe-core is at hand."""
    if not AXE:
        return
    page.evaluate(Path(AXE).read_text(encoding="utf-8"))
    found = page.evaluate("axe.run().then((found) => found.violations)")
    assert [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")] == []


def items_in_order(study):
    return list(study.batch.hits[0].items)


def test_labelling_by_keys_alone_with_a_break_in_the_middle(label_study, visit):
    page = visit(label_study, "anna", scheme="dark")
    sound(page)
    for key in ("Tab", "Tab", "Enter"):  # past the language
        page.keyboard.press(key)
    begun(page)
    items, wanted = items_in_order(label_study), {}
    labelled, asked = ([item for item in items if (item.kind == "quiz") == quiz] for quiz in (False, True))
    for number, item in enumerate(items, 1):
        at(page, number)
        chosen = next(place for place, name in enumerate(item.choices) if name != item.truth)
        if item is asked[0]:  # a mistake, which cannot be mended
            page.keyboard.press(str(chosen + 1))
            page.keyboard.press("Enter")
            page.locator("#told", has_text="right label is “sad”").wait_for()
            page.locator(".choice.wrong .verdict", has_text="✗ your answer").wait_for()
            sound(page)
            page.keyboard.press("1")
        elif item is asked[1]:
            chosen = item.choices.index(item.truth)
            page.keyboard.press(str(chosen + 1))
        elif item is labelled[0]:  # another label of the 41, after a reload
            page.reload()
            begun(page)
            at(page, number)
            page.keyboard.press("o")
            page.keyboard.type("hap")  # begins a word of the meaning of joyful, and of no label's name
            assert marked(page).startswith("joyful ")
            page.keyboard.press("ArrowUp")
            assert marked(page) == "Use “hap” as my own word"
            for _ in "hap":
                page.keyboard.press("Backspace")
            page.keyboard.type("gratef")
            sound(page)
            page.keyboard.press("Enter")
            assert page.locator("#typed").input_value() == "grateful"
        elif item is labelled[1]:  # a label of one's own
            page.keyboard.press("4")
            page.keyboard.type(HOSTILE)
        else:  # changed after going on, or where that is the last, before
            page.keyboard.press("1")
            if number < len(items):
                page.keyboard.press("Enter")
                at(page, number + 1)
                page.keyboard.press("Backspace")
                at(page, number)
            chosen = 2
            page.keyboard.press("3")
        page.keyboard.press("Enter")
        wanted[item.id] = (item.choices[chosen], None)
    wanted |= {labelled[0].id: ("grateful", None), labelled[1].id: (None, HOSTILE)}
    page.wait_for_url("**/done/*")
    sound(page)
    assert label_study.answers("anna") == wanted


def test_labelling_with_a_mouse(label_study, visit):
    page = visit(label_study, "ben")
    page.get_by_role("button", name="I agree").click()
    begun(page)
    page.get_by_role("button", name="Tutorial").click()
    assert page.locator("dialog#tutorial dt").count() == 41
    sound(page)
    page.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Next").click()
    assert page.locator("#told").inner_text() == "Choose a label first."
    wanted = {}
    for number, item in enumerate(items_in_order(label_study), 1):
        at(page, number)
        sound(page)
        assert page.locator("#turns li").all_inner_texts()[-1].endswith(item.turns[-1])
        if number == 1 and item.kind == "label":
            page.get_by_role("radio", name="Other").click()
            page.locator("#typed").fill("lone")
            page.locator("#next").click()  # neither the label nor a word of one's own
            assert page.locator("#told").inner_text().startswith("Choose a label from the list")
            page.get_by_role("option", name="lonely").click()
            wanted[item.id] = ("lonely", None)
        elif item.kind == "label" and (None, "hap") not in wanted.values():
            page.get_by_role("radio", name="Other").click()
            page.locator("#typed").fill("hap")
            page.get_by_role("option", name="as my own word").click()
            wanted[item.id] = (None, "hap")
        else:
            name = item.truth or item.choices[0]
            page.locator(f".choice[data-name={name}]").click()
            wanted[item.id] = (name, None)
        page.locator("#next").click()
    page.wait_for_url("**/done/*")
    told = page.locator("main").inner_text()
    assert "2 of 2 quiz questions were right. You have earned the bonus of 0.10 US dollars." in told
    assert "nothing more is waiting for you" in told
    page.get_by_role("button", name="Copy").click()
    page.locator("#told", has_text="Copied.").wait_for()
    assert label_study.answers("ben") == wanted


def test_labelling_by_touch_on_a_phone(label_study, visit):
    page = visit(label_study, "cleo", PHONE, touch=True, scheme="dark")
    fits(page)
    page.get_by_role("button", name="I agree").tap()
    begun(page)
    for number, item in enumerate(items_in_order(label_study), 1):
        at(page, number)
        fits(page)
        sound(page)
        page.locator(f".choice[data-name={item.truth or item.choices[2]}]").tap()
        box = page.locator("#next").bounding_box()  # stays on the screen, however long the question
        assert box["y"] + box["height"] <= PHONE["height"]
        page.locator("#next").tap()
    page.wait_for_url("**/done/*")
    assert [value for value, _ in label_study.answers("cleo").values()] == [
        item.truth or item.choices[2] for item in items_in_order(label_study)
    ]


def test_judging_by_keys_alone(judge_study, visit):
    page = visit(judge_study, "anna")
    for key in ("Tab", "Tab", "Enter"):  # past the language
        page.keyboard.press(key)
    begun(page)
    wanted = {}
    for number, item in enumerate(items_in_order(judge_study), 1):
        at(page, number)
        for key in "gobgo"[: len(item.choices)]:
            page.keyboard.press(key)
        value = ["good", "okay", "bad", "good", "okay"][: len(item.choices)]
        if item.kind == "bonus":
            place = item.choices.index(item.truth)
            for key, told in (("b", "No bonus point yet"), ("g", "You have the bonus point")):
                page.keyboard.press(str(place + 1))
                page.keyboard.press(key)
                page.keyboard.press("v")
                page.locator("#told", has_text=told).wait_for()
                sound(page)
            value[place] = "good"
        wanted[item.id] = (value, None)
        page.keyboard.press("Enter")
    page.wait_for_url("**/done/*")
    assert "1 of 1 bonus points earned" in page.locator("main").inner_text()
    assert judge_study.answers("anna") == wanted


def middle(box):
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_judging_by_dragging_with_a_mouse(judge_study, visit):
    page = visit(judge_study, "ben", {"width": 1280, "height": 1000}, scheme="dark")
    page.get_by_role("button", name="I agree").click()
    begun(page)
    wanted = {}
    for number, item in enumerate(items_in_order(judge_study), 1):
        at(page, number)
        sound(page)
        page.locator("#next").click()
        assert page.locator("#told").inner_text() == f"{len(item.choices)} replies are not sorted yet."
        value = [("bad", "okay", "good")[place % 3] for place in range(len(item.choices))]
        for place, rating in enumerate(value, 1):
            card = page.locator(f".card[data-number='{place}']")
            x, y = middle(card.locator("p").bounding_box())
            page.mouse.move(x, y)
            page.mouse.down()
            page.mouse.move(*middle(page.locator(f"#form .zone[data-rating={rating}]").bounding_box()), steps=5)
            page.mouse.up()
            assert page.locator(f"#form .zone[data-rating={rating}] .card[data-number='{place}']").count() == 1
        wanted[item.id] = (value, None)
        page.locator("#next").click()
    page.wait_for_url("**/done/*")
    assert judge_study.answers("ben") == wanted


def test_judging_by_touch_on_a_phone(judge_study, visit):
    """Some replies are dragged by a finger, some put by their buttons."""
    page = visit(judge_study, "cleo", PHONE, touch=True)
    page.get_by_role("button", name="I agree").tap()
    begun(page)
    fingers = page.context.new_cdp_session(page)

    def touch(kind, *points):
        told = [{"x": x, "y": y} for x, y in points]
        fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": told})

    wanted = {}
    for number, item in enumerate(items_in_order(judge_study), 1):
        at(page, number)
        fits(page)
        sound(page)
        value = ["okay"] * len(item.choices)
        for place in range(1, len(item.choices)):
            page.get_by_role("button", name=f"Okay, reply {place}", exact=True).tap()
            # a tap is told before the page has its click, which moves what is below
            page.locator(f".zone[data-rating=okay] .card[data-number='{place}']").wait_for()
        last = page.locator(f".card[data-number='{len(item.choices)}']")
        last.scroll_into_view_if_needed()
        page.evaluate("window.scrollTo(0, document.querySelector('.zones').offsetTop - 350)")
        x, y = middle(last.locator(".grip").bounding_box())
        goal = middle(page.locator("#form .zone[data-rating=good] h2").bounding_box())
        touch("touchStart", (x, y))
        for step in range(1, 9):
            touch("touchMove", (x + (goal[0] - x) * step / 8, y + (goal[1] - y) * step / 8))
        touch("touchEnd")
        page.locator(f".zone[data-rating=good] .card[data-number='{len(item.choices)}']").wait_for()
        page.wait_for_timeout(500)  # no tap counts in the moment in which another finger goes
        value[-1] = "good"
        wanted[item.id] = (value, None)
        page.locator("#next").tap()
    page.wait_for_url("**/done/*")
    assert judge_study.answers("cleo") == wanted


@pytest.fixture(scope="module")
def german_study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("german") / "batch"
    study = Study(labelling(folder, dialogues=3, size=3, quizzes=1, language="de"), folder)
    yield study
    study.server.kill()


def test_labels_are_searched_in_german_and_english_and_stored_in_english(german_study, visit):
    page = visit(german_study, "anna", PHONE, touch=True)
    page.get_by_role("button", name="Ich stimme zu").click()
    begun(page)
    wanted = {}
    searches = iter(
        [("traur", "traurig", "sad"), ("grate", "dankbar", "grateful"), ("uberr", "überrascht", "surprised")]
    )
    for number, item in enumerate(items_in_order(german_study), 1):
        page.locator("#count", has_text=f"Dialog {number} von 4").wait_for()
        fits(page)
        sound(page)
        if item.kind == "quiz":
            page.locator(f".choice[data-name={item.truth}]").tap()
            wanted[item.id] = (item.truth, None)
        else:
            typing, shown, label = next(searches)
            page.keyboard.press("o")
            page.keyboard.type(typing)
            page.keyboard.press("Enter")
            assert page.locator("#typed").input_value() == shown
            fits(page)
            wanted[item.id] = (label, None)
        if number == 2:  # another language, and back to the question
            page.locator("#language").select_option("hu")
            page.locator("#count", has_text="Párbeszéd: 2 / 4").wait_for()
            fits(page)
            page.locator("#language").select_option("de")
            page.locator("#count", has_text="Dialog 2 von 4").wait_for()
            page.locator(f".choice[data-name={item.choices[0]}]").tap()
            wanted[item.id] = (item.choices[0], None)
        page.locator("#next").tap()
    page.wait_for_url("**/done/*")
    fits(page)
    assert "1 von 1 Quizfragen waren richtig." in page.locator("main").inner_text()
    assert german_study.answers("anna") == wanted


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_live_page(judge_study, visit, scheme):
    page = visit(judge_study, viewport=PHONE, scheme=scheme)
    sound(page)
    page.goto(f"{judge_study.address}/admin")
    sound(page)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Open").click()
    page.wait_for_selector("#figures dd")
    sound(page)
    assert "of 3" in page.locator("#figures").inner_text()
    assert "3 invited" in page.locator("#came").inner_text()
