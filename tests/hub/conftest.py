"""A folder to publish."""

import shutil

import pytest

from published_folder import run


@pytest.fixture(scope="session")
def curated(tmp_path_factory):
    """What `edos curate` left; nobody writes into it."""
    return run(tmp_path_factory.mktemp("curated") / "edos")


@pytest.fixture
def folder(curated, tmp_path):
    """The same, to do with as one likes."""
    return shutil.copytree(curated, tmp_path / "run" / "edos")
