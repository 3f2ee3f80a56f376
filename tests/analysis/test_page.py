"""The page as text: what others wrote never becomes markup or script."""

import json
import re

import pytest

from edos_dataset.analysis import page
from edos_dataset.analysis.page import in_script, render

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "]]>",
    "&lt;b&gt;",
    "\u2028\u2029",
    "\u202eabc",
    "@@plotly@@",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_cannot_end_the_script_that_holds_them(text):
    kept = in_script(json.dumps({"text": text}, ensure_ascii=False))
    assert "<" not in kept and ">" not in kept and json.loads(kept) == {"text": text}


def test_the_page_has_every_part_once_and_asks_nobody():
    shown = {"dialogues": [{"id": text} for text in HOSTILE], "examples": {}, "doubtful": {}}
    made = render({"data": []}, shown, [], "/* drawn by </script> this */")
    data = re.search(r'<script id="report" type="application/json">(.*?)</script>', made, re.DOTALL)[1]
    assert json.loads(data)["shown"] == shown and made.count("/* drawn by <\\/script> this */") == 1
    assert made.count("</script>") == 3 and "default-src 'none'" in made
    assert not re.search(r"https?://|\binnerHTML\b|@@", made.replace(in_script("@@plotly@@"), ""))


def test_without_plotly_the_message_says_what_to_install(monkeypatch):
    def files(name):
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(page, "files", files)
    with pytest.raises(ModuleNotFoundError, match=r"pip install \"edos-dataset\[report\]\""):
        page.plotly_script()
