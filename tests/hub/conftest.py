"""A folder to publish."""

import pytest

from published_folder import run


@pytest.fixture
def folder(tmp_path):
    """What `edos curate` left."""
    return run(tmp_path / "run" / "edos")
