"""Settings of all tests."""

import pytest
from hypothesis import settings

# A busy machine is no defect: no example has a time limit.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


@pytest.fixture
def hub(monkeypatch):
    """A local Hub; `huggingface_hub` in this process talks to it where it is given `endpoint=hub.url`, fresh ones by
    `hub.environment(home)`.
    """
    from huggingface_hub import constants

    from local_hub.server import LocalHub

    # Read from the environment when huggingface_hub was imported, so setting that would be too late.
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with LocalHub() as server:
        yield server


@pytest.fixture
def files():
    """A server of files."""
    from file_server import FileServer

    with FileServer() as server:
        yield server
