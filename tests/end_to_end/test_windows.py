"""What only POSIX has is not needed: in a process without it, every module is imported and a sample goes through."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import edos_dataset

PACKAGE = Path(edos_dataset.__file__).parent
PROGRAM = """
import builtins, importlib, os, pkgutil, signal, sys, types

MODULES = {"fcntl", "resource", "pwd", "grp", "termios"}
MISSING = {
    "os": {"getuid", "geteuid", "getgid", "fork", "killpg", "setsid", "sched_getaffinity", "sysconf", "mkfifo", "uname",
           "getloadavg", "O_NONBLOCK", "posix_fadvise"},
    "signal": {"SIGKILL", "SIGALRM", "SIGHUP", "SIGUSR1", "ITIMER_REAL", "setitimer", "pthread_kill"},
}
genuine = builtins.__import__
stand_ins = {}
for name, missing in MISSING.items():
    module = stand_ins[name] = types.ModuleType(name)
    vars(module).update({key: value for key, value in vars(sys.modules[name]).items() if key not in missing})
stand_ins["os"].name = "nt"


def as_on_windows(name, globals=None, locals=None, fromlist=(), level=0):
    if (globals or {}).get("__name__", "").startswith("edos_dataset"):
        if name in MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        if name in stand_ins:
            return stand_ins[name]
    return genuine(name, globals, locals, fromlist, level)


builtins.__import__ = as_on_windows
import edos_dataset

for module in pkgutil.walk_packages(edos_dataset.__path__, "edos_dataset."):
    if module.name != "edos_dataset.__main__":
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            if error.name in MODULES:
                raise
edos_dataset.sample("films")
given = {"settings": ["turns.scorer=rules"], "weak_model": "fast", "model": "fast", "progress": False}
edos_dataset.curate("films/srt", "edos", **given)
print(edos_dataset.inspect("edos", progress=False)["configs"]["edos"]["splits"]["train"])
print(edos_dataset.load("edos", "edos")["train"].num_rows)
print(edos_dataset.label([["I lost my job.", "Oh no, what happened?"]], "fast")[0]["turns"][0]["label"])
try:
    edos_dataset.inspect("s3://sets/edos")
except edos_dataset.runs.stores.store.StoreError as error:
    print(error)
"""


@pytest.mark.slow
def test_without_what_only_posix_has(tmp_path):
    given = {"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 300}
    done = subprocess.run([sys.executable, "-c", PROGRAM], **given)
    assert done.returncode == 0, done.stderr
    inspected, loaded, label, refused = done.stdout.splitlines()
    assert inspected == loaded and int(loaded) > 10 and label == "devastated"
    assert refused.startswith("s3://sets/edos: stores are read on Linux and macOS only")


def test_text_files_are_opened_with_their_encoding():
    """Without one, Windows takes that of its language, in which most subtitles are damaged."""
    without = [
        f"{path.relative_to(PACKAGE)}:{call.lineno}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and opens_text(call)
    ]
    assert without == []


def opens_text(call):
    """Return whether a call opens a text file, or reads or writes one, without naming an encoding."""
    function, named = call.func, {keyword.arg for keyword in call.keywords}
    if "encoding" in named or None in named:
        return False
    if isinstance(function, ast.Attribute) and function.attr in ("read_text", "write_text"):
        return len(call.args) == (function.attr == "write_text")
    name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
    modes = [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    if name == "fdopen" or isinstance(function, ast.Name):
        return name in ("open", "fdopen") and not any("b" in mode for mode in modes)
    of_bytes = getattr(getattr(function, "value", None), "id", "") in ("archive", "member")
    return name == "open" and not of_bytes and (not call.args or (bool(modes) and set(modes[0]) <= set("rwaxt+")))
