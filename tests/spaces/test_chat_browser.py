"""The chat as a visitor has it: started as the Hub starts it, with a small model, and used in headless Chromium."""

import re
import subprocess
from importlib.util import find_spec

import pytest

from edos_dataset.generation.responder import Responder
from edos_dataset.labels import LABELS
from small_responders import EMPATHETIC, save_responder
from visited import CHROMIUM, CONTRAST, EDGES, SPACES, WAIT, started_space, watch

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("gradio") is None, reason='needs gradio: pip install "edos-dataset[space]"'),
]
TURN = "the dog ran <b>home</b>"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("responder")
    save_responder(folder, **EMPATHETIC)
    return folder


@pytest.fixture(scope="module")
def started(commands, model, tmp_path_factory):
    """The app with a small model, started in an empty folder: its address once it answers, and the folder."""
    folder = tmp_path_factory.mktemp("chat")
    settings = {"EDOS_RESPONDER": str(model), "EDOS_LABELER": "fast", "EDOS_BEAMS": "4"}
    with started_space("chat", commands / "python", folder, **settings) as address:
        yield address, folder


@pytest.fixture
def browser():
    sync = pytest.importorskip(
        "playwright.sync_api", reason="needs playwright, which drives the browser: pip install playwright"
    )
    if CHROMIUM is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    with sync.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


def ask(page, text, answers):
    """Write a turn, press the button, and wait until it stands there with new answers."""
    page.evaluate("document.querySelectorAll('#answers article').forEach((one) => one.remove())")
    page.fill("#turn textarea", text)
    page.click("#ask")
    page.wait_for_function(f"document.querySelectorAll('#answers article').length == {answers}", timeout=WAIT)


def check_talk(page, model):
    """A turn is answered as the model answers it; an answer is used, a label forced, a turn taken back."""
    responder = Responder.load(model, labeler="fast")
    known = responder.history_labels([[TURN]])
    expected = responder.respond([[TURN]], None, 3, 4, history_labels=known)[0]
    ask(page, TURN, len(expected))
    assert page.locator("#said li .text").inner_text().endswith(TURN)  # a written <b> is text
    assert LABELS[known[0][0]] in page.locator("#said li .chip").inner_text()
    texts = page.locator("#answers article .text").all_inner_texts()
    assert [text.split() for text in texts] == [one.text.split() for one in expected]
    page.evaluate("document.querySelectorAll('#answers details').forEach((one) => { one.open = true })")
    for card, one in zip(page.locator("#answers article").all(), expected, strict=True):
        assert re.search(rf"written as\W+{one.label} {100 * one.probability:.1f} %", card.inner_text())
        assert f"{one.score:.2f}" in card.inner_text() and "reads as" in card.inner_text()
    rows = page.locator("#predicted table").first.locator("tr").all_inner_texts()
    best = responder.predict([[TURN]], known)[0].argsort()[::-1][:10]
    assert [re.search(r"[a-z]+", row)[0] for row in rows] == [LABELS[label] for label in best]

    page.click("#use-2")
    page.wait_for_selector("#said li.other", timeout=WAIT)
    assert page.locator("#said li.other .text").inner_text().split()[4:] == texts[1].split()
    assert page.locator("#answers article").count() == 0
    page.click("#ask")
    page.wait_for_selector("#error [role=alert]", timeout=WAIT)
    assert "your turn" in page.locator("#error").inner_text()

    page.click("#label input")
    page.get_by_role("option", name="consoling", exact=False).click()
    page.fill("#turn textarea", "where is the dog")
    page.press("#turn textarea", "Enter")  # sends
    page.wait_for_function("document.querySelectorAll('#answers article').length == 3", timeout=WAIT)
    assert page.locator("#error [role=alert]").count() == 0
    assert "You chose" in page.locator("#predicted").inner_text()
    assert all("consoling" in card for card in page.locator("#answers article").all_inner_texts())
    page.click("#back")
    page.wait_for_function("document.querySelectorAll('#said li').length == 2", timeout=WAIT)
    assert page.locator("#turn textarea").input_value() == "where is the dog"
    page.fill("#turn textarea", "I want to kill myself")
    page.click("#ask")
    page.locator("#error [role=alert]", has_text="will not answer").wait_for(timeout=WAIT)
    page.click("#over")
    page.wait_for_selector("#said .empty", timeout=WAIT)


def check_phone(browser, address, scheme):
    """On a narrow screen nothing sticks out, and everything written can be read."""
    page = browser.new_page(viewport={"width": 390, "height": 844}, color_scheme=scheme)
    page.goto(address)
    page.wait_for_selector("#turn textarea", timeout=WAIT)
    page.locator("#count input[type=number]").fill("6")
    ask(page, "Why? " + "x" * 300 + "\nwhere is the dog\nI am so terribly sad and alone.", 6)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    found = page.locator("#said *, #answers *, #predicted *, #warning *, #about *, #buttons *").evaluate_all(EDGES)
    assert len(found) > 200 and min(found) >= 0 and max(found) <= 390
    for card in page.locator("#answers .card").all():
        box = card.bounding_box()
        edges = card.locator("dd, .chip, .text").evaluate_all(EDGES)
        assert box["x"] <= min(edges) and max(edges) <= box["x"] + box["width"]
    parts = "#said .chip|#said .who|#answers dt|#answers .text|#warning .warning|#about li|#ask|#back|#use-1"
    for written in parts.split("|"):
        assert page.locator(written).first.evaluate(CONTRAST) >= 4.5, f"{written} in {scheme}"
    page.close()


def test_a_visitor_talks(started, model, browser):
    address, folder = started
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    complaints, hosts = watch(page)
    page.goto(address)
    page.wait_for_selector("#turn textarea", timeout=WAIT)
    warning = page.locator("#warning").bounding_box()
    assert warning["y"] + warning["height"] < 900, "what to beware of is seen before anything is pressed"
    assert "What to know about its answers" in page.locator("#about").inner_text()
    check_talk(page, model)
    kept = page.evaluate("indexedDB.databases().then((all) => JSON.stringify([all, localStorage, document.cookie]))")
    assert "dog" not in kept and '"name"' not in kept, kept
    for scheme in ("light", "dark"):
        check_phone(browser, address, scheme)
    assert complaints == []
    assert hosts == {address.removeprefix("http://")}
    assert [path.name for path in folder.iterdir()] == ["log"]
    assert "dog" not in (folder / "log").read_text(), "texts are not logged"


def test_a_narrow_column_holds_every_card(started, browser):
    """Three answers stand side by side on a desktop, and what is in a card stays in it."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(started[0])
    page.wait_for_selector("#turn textarea", timeout=WAIT)
    ask(page, TURN, 3)
    cards = [card.bounding_box() for card in page.locator("#answers .card").all()]
    assert len({round(card["y"]) for card in cards}) == 1
    for box, card in zip(cards, page.locator("#answers .card").all(), strict=True):
        edges = card.locator("dd, .chip").evaluate_all(EDGES)
        assert box["x"] <= min(edges) and max(edges) <= box["x"] + box["width"]


def test_a_program_asks_for_answers(started, model):
    from gradio_client import Client
    from gradio_client.exceptions import AppError

    client = Client(started[0], verbose=False, download_files=False)
    found = client.predict("where is the dog\nI am happy", "consoling", 2, api_name="/respond")
    assert found["model"] == model.name and [turn["text"] for turn in found["turns"]][1] == "I am happy"
    assert len(found["predicted"]) == 10 and {one["label"] for one in found["candidates"]} == {"consoling"}
    for arguments, said in ((("",), "nothing to read yet"), (("Hi.", "glad"), "glad"), (("Hi.", "sad", 9), "1 to 6")):
        with pytest.raises(AppError, match=said):
            client.predict(*arguments, api_name="/respond")
    assert list(client.view_api(return_format="dict")["named_endpoints"]) == ["/respond"]


def test_a_model_that_cannot_be_loaded_is_said_before_the_page_opens(environment, tmp_path):
    environment["EDOS_RESPONDER"] = "no/model"
    done = subprocess.run(
        ["python", SPACES / "chat" / "app.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 1
    assert "\nerror: 'no/model' is neither a folder" in done.stderr and "Traceback" not in done.stderr
