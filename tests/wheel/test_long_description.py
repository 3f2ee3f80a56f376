"""The long description of the package: what its links become (`.ci/readme.py`)."""

import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[2]
HOOK = ROOT / ".ci" / "readme.py"


@pytest.fixture
def hook(monkeypatch):
    """The module, without the tool that builds, which only a build has."""
    interface = SimpleNamespace(MetadataHookInterface=object)
    for name in ("hatchling", "hatchling.metadata", "hatchling.metadata.plugin"):
        monkeypatch.setitem(sys.modules, name, SimpleNamespace())
    monkeypatch.setitem(sys.modules, "hatchling.metadata.plugin.interface", interface)
    spec = spec_from_file_location("readme_hook", HOOK)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("urls", [None, "https://example.org/us/edos-dataset/"])
def test_no_link_of_the_readme_is_relative(hook, urls):
    metadata = {"urls": {"Repository": urls}} if urls else {}
    made = hook.LongDescription()
    made.root = str(ROOT)
    made.update(metadata)
    text = metadata["readme"]["text"]
    given = (ROOT / "README.md").read_text("utf-8")
    assert "](docs/index.md)" in given
    assert metadata["readme"]["content-type"] == "text/markdown"
    assert not re.findall(r"\]\((?![a-z]+:)[^)]*\)", text)
    assert ("[docs](https://example.org/us/edos-dataset/blob/main/docs/index.md)" in text) is bool(urls)
    assert text.count("\n") == given.count("\n")


def test_other_links_stay(hook):
    text = "see [a](https://a.example/x) and [`b`](b/c.md#d)"
    assert hook.absolute(text, None) == "see [a](https://a.example/x) and `b`"
    assert hook.absolute(text, "https://r.example").endswith("[`b`](https://r.example/blob/main/b/c.md#d)")
