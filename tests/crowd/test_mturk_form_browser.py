"""The forms for Mechanical Turk in a real browser: a preview cannot be sent, and what is sent is read back."""

from urllib.parse import parse_qsl

import pytest

from crowd_people import judging, labelling
from edos_dataset.crowd.mturk.questions import form_page, value_of
from visited import CHROMIUM

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium")]
HOST = "https://workersandbox.mturk.com"


@pytest.mark.parametrize("batch", [labelling(15), judging(10)], ids=["labelling", "judging"])
def test_a_form_is_filled_in_and_sent(batch, tmp_path):
    api = pytest.importorskip("playwright.sync_api")
    (hit,) = batch.hits
    (tmp_path / "form.html").write_text(form_page(hit), encoding="utf-8")
    sent, asked, errors = [], [], []
    with api.sync_playwright() as driver:
        page = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"]).new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.route(f"{HOST}/**", lambda route: (sent.append(route.request.post_data), route.fulfill(body="done")))
        page.goto(f"file://{tmp_path}/form.html?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE")
        assert page.is_disabled("button")
        page.goto(f"file://{tmp_path}/form.html?assignmentId=A1&turkSubmitTo={HOST}")
        for group in page.query_selector_all(".reply") or page.query_selector_all("fieldset"):
            group.query_selector("input[type=radio]").check()
        if batch.kind == "labelling":
            page.query_selector("fieldset input[list]").fill("smug")
            page.keyboard.press("Tab")
        page.click("button")
        page.wait_for_url(f"{HOST}/mturk/externalSubmit")
    fields = dict(parse_qsl(sent[0], keep_blank_values=True))
    given = [value_of(item, number, fields) for number, item in enumerate(hit.items, 1)]
    first = [(("good",) * len(item.choices) if batch.kind == "judging" else item.choices[0], "") for item in hit.items]
    assert given[1:] == first[1:]
    assert given[0] == (first[0] if batch.kind == "judging" else (None, "smug"))
    assert fields["assignmentId"] == "A1" and errors == []
    assert all(url.startswith(("file:", HOST)) for url in asked)
