"""A process that dies at one of the steps by which it changes a folder, played inside of this one."""

import json
import os
from contextlib import contextmanager

import pytest

CHANGES = ("rename", "replace", "unlink", "remove", "rmdir", "mkdir", "link", "symlink")
"""Functions of `os` that change what a folder holds; `pathlib` and `shutil` call them."""


MANIFESTS, MOMENTARY = ("manifest.json",), {"seconds", "per_second", "workers", "made_now"}


class DeathError(BaseException):
    """The process is no more."""


@contextmanager
def dying_at(moment):
    """Let the call number `moment`, from 1, of `CHANGES` fail, and all after it: the dead do nothing more.

    Yields:
        A list to which every call is added.
    """
    calls = []

    def mortal(name, function):
        def call(*arguments, **options):
            calls.append((name, *map(str, arguments)))
            if len(calls) >= moment:
                raise DeathError
            return function(*arguments, **options)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in CHANGES:
            patch.setattr(os, name, mortal(name, getattr(os, name)))
        yield calls


def every_death(start, act, most=200):
    """Yield for every step of `act` what it leaves when it dies there, until it does not die any more.

    Args:
        start: makes what `act` is given, anew each time.
        act: what is to die.
        most: steps that it has at most.

    Yields:
        The number of the step at which it died, 0 where it did not, and what `start` made.
    """
    for moment in range(1, most):
        made = start(moment)
        try:
            with dying_at(moment):
                act(made)
        except DeathError:
            yield moment, made
        else:
            yield 0, made
            assert moment > 5, "nothing was done that could be stopped"
            return
    raise AssertionError(f"more than {most} steps")


def files_in(folder):
    """Return what a folder holds beside `.run`: path → content."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".run" not in path.relative_to(folder).parts
    }


def untimed(folder):
    """Return what a folder holds beside `.run`, but for what its manifest tells of this machine and this moment."""

    def kept(value):
        if isinstance(value, dict):
            return {name: kept(entry) for name, entry in value.items() if name not in MOMENTARY}
        return list(map(kept, value)) if isinstance(value, list) else value

    files = files_in(folder)
    return files | {name: json.dumps(kept(json.loads(files[name]))).encode() for name in files if name in MANIFESTS}
