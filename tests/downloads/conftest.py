"""A server of files for the tests of this folder."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from file_server import FileServer


@pytest.fixture
def files():
    with FileServer() as server:
        yield server
