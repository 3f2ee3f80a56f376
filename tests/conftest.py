"""Settings of all tests, and what several rooms of them start: a local Hub, and processes that need not import."""

import gc
import os
import shutil
import socket
import sys
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
import typer.main
import typer.testing
from hypothesis import settings

from slow_tests import is_slow, is_thorough

# A busy machine is no defect: no example has a time limit. The examples are the same in each run, so that a defect
# shows where it is made; `make fuzz` draws others, and more.
settings.register_profile("patient", deadline=None, derandomize=True, max_examples=25)
settings.register_profile("fuzz", deadline=None, max_examples=500)
settings.load_profile("fuzz" if "EDOS_FUZZ_SECONDS" in os.environ else "patient")

# `CliRunner` makes the command line from its functions at each call, which takes longer than most refused commands.
typer.testing._get_command = cache(typer.main.get_command)

# Several processes share the cores already; read when numpy and torch are imported, so before that.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
# Ray's workers give way to all other processes, so beside other tests they would hardly get on.
os.environ.setdefault("RAY_worker_niceness", "0")

# A Hugging Face home of this process's own: what somebody has loaded or is logged in to is neither read nor changed.
for name in [name for name in os.environ if name.startswith(("HF_", "HUGGING", "TRANSFORMERS_"))]:
    if name != "HF_HUB_OFFLINE":
        del os.environ[name]
os.environ["HF_HOME"] = tempfile.mkdtemp(prefix="edos-tests-")


def pytest_unconfigure():
    """Remove that home."""
    shutil.rmtree(os.environ["HF_HOME"], ignore_errors=True)


def pytest_collection():
    """Modules that are imported leave hardly any garbage to look for."""
    gc.disable()


def pytest_collection_finish():
    """What the modules hold stays to the end: whoever looks for garbage later need not look at it again."""
    gc.enable()
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items):
    """Tests that start processes or a Hub are slow; `slow_tests` names the other slow ones and the thorough."""
    for item in items:
        if is_thorough(item.nodeid.removeprefix("tests/")):
            item.add_marker(pytest.mark.thorough)
        if {"commands", "hub"} & set(item.fixturenames) or is_slow(item.nodeid.removeprefix("tests/")):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session", autouse=True)
def one_worker():
    """A command in this process that is told no number of workers starts none, which over the few films of a test only
    takes time; what several of them make, and on which engine, is asked where `workers` is given.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("edos_dataset.runs.engines.available_cores", lambda: 1)
        yield


@pytest.fixture(scope="session")
def hub_port():
    """A port of this machine at which all local Hubs of this process listen, one after the other: clients read the
    address once, when they are imported. Between two Hubs it is free, so it is none that the system gives to others.
    """
    for port in range(15_000 + os.getpid() % 8_000, 32_000):
        with socket.socket() as free, suppress(OSError):
            free.bind(("127.0.0.1", port))
            return port
    raise OSError("no port is free for the local Hub")


@pytest.fixture
def hub(monkeypatch, hub_port):
    """A local Hub; `huggingface_hub` in this process talks to it where it is given `endpoint=hub.url`, fresh ones by
    the fixture `environment`.
    """
    from huggingface_hub import constants

    from local_hub.server import LocalHub

    # Read from the environment when huggingface_hub was imported, so setting that would be too late.
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with LocalHub(port=hub_port) as server:
        yield server


@pytest.fixture
def files():
    """A server of files."""
    from file_server import FileServer

    with FileServer() as server:
        yield server


@pytest.fixture(scope="session")
def commands(tmp_path_factory, hub_port):
    """The folder of `python`, `edos`, `accelerate` and `hf`, to put first in PATH. They start at once (`warm_python`),
    except in an installed wheel, where what starts is what a user starts.
    """
    if not hasattr(os, "pidfd_open") or os.environ.get("EDOS_WHEEL"):
        yield Path(sys.executable).parent
        return
    from local_hub.server import client_environment
    from warm_python import warm_python

    folder = tmp_path_factory.mktemp("warm")
    lead(folder / "home", tmp_path_factory.mktemp("home"))
    with warm_python(folder, client_environment(f"http://127.0.0.1:{hub_port}", folder / "home")) as commands:
        yield commands


def lead(link, folder):
    """Let a symbolic link lead to another folder."""
    link.unlink(missing_ok=True)
    link.symlink_to(folder)


@pytest.fixture
def environment(hub, commands, tmp_path):
    """The variables of somebody who works with the local Hub, with caches of their own, and `commands` at hand."""
    home = tmp_path / "home"
    home.mkdir()
    link = commands.with_name("home")  # what imported modules have read stays; where it leads does not
    before = link.readlink() if link.is_symlink() else None
    if before:
        lead(link, home)
    path = os.pathsep.join([str(commands), str(Path(sys.executable).parent), os.environ["PATH"]])
    yield {**os.environ, **hub.environment(link if before else home), "PATH": path}
    if before:
        lead(link, before)
