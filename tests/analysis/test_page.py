"""The page as text: what others wrote never becomes markup or script."""

import json
import re

import pytest

from edos_dataset.analysis.page import in_script, render

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "]]>",
    "&lt;b&gt;",
    "\u2028\u2029",
    "\u202eabc",
    "@@script@@",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_cannot_end_the_script_that_holds_them(text):
    kept = in_script(json.dumps({"text": text}, ensure_ascii=False))
    assert "<" not in kept and ">" not in kept and json.loads(kept) == {"text": text}


def test_the_page_has_every_part_once_and_asks_nobody():
    shown = {"dialogues": [{"id": text} for text in HOSTILE], "examples": {}, "doubtful": {}}
    made = render({"data": []}, shown, [])
    data = re.search(r'<script id="report" type="application/json">(.*?)</script>', made, re.DOTALL)[1]
    assert json.loads(data)["shown"] == shown
    assert made.count("</script>") == 2 and "default-src 'none'" in made
    assert not re.search(r"https?://|\binnerHTML\b|@@", made.replace(in_script("@@script@@"), ""))
    assert len(made) < 80_000, "style and scripts"
