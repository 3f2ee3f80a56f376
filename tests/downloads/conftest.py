"""A server of files for the tests of this folder."""

import pytest

from file_server import FileServer


@pytest.fixture
def files():
    with FileServer() as server:
        yield server
