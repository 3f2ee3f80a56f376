"""Commands started without a standard input, as by a scheduler or `<&-`, say so."""

import sys

import pytest

from edos_dataset.cli import dialogues, download
from edos_dataset.runs.untrusted import UntrustedInputError
from edos_dataset.sources.given import sources_of


@pytest.fixture(autouse=True)
def closed(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)


def test_a_chat_needs_input():
    with pytest.raises(UntrustedInputError, match="standard input is closed"):
        next(dialogues._typed_lines())


def test_nobody_can_be_asked():
    assert not download._can_ask()


def test_a_list_of_files_needs_input():
    with pytest.raises(ValueError, match="standard input is closed"):
        list(sources_of([], "-"))
