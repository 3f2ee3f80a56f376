"""Reads the examples of a page of documentation and carries them out, as somebody would who types them one after the
other.

    ```console      every line that begins with `$ ` is a command; what stands below it, up to the next one, is what
        it must print
    ```python       runs in one interpreter for the whole page; a block ```text right behind it is what it must print
    <!-- file: NAME -->      above a block of any language: the block is written to that file
    <!-- not run: REASON --> above a block: it is only shown

Where output varies, `...` stands for any part of a line, and alone on a line for any lines. Other blocks (yaml, text)
are only shown.
"""

import json
import re
import subprocess
from dataclasses import dataclass

_BLOCK = re.compile(
    r"^(?:<!-- (?P<mark>file|not run): (?P<value>.+?) -->\n)?```(?P<language>\w+)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_CHILD = """
import contextlib, io, json, sys, traceback
namespace = {"__name__": "__page__"}
for line in sys.stdin:
    printed, error = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(json.loads(line), "<page>", "exec"), namespace)
        except Exception:
            error = traceback.format_exc()
    print(json.dumps([printed.getvalue(), error]), flush=True)
"""


@dataclass(frozen=True)
class Block:
    """A fenced block of a page: the line it begins on, its text, and what the mark above it says."""

    line: int
    language: str
    text: str
    file: str | None = None
    not_run: str | None = None
    shown: str | None = None


def blocks_of(page):
    """Return the blocks of a page's text, in order; a text block right behind a python block becomes what that one has
    to print.
    """
    found, end = [], None
    for match in _BLOCK.finditer(page):
        between = "" if end is None else page[end : match.start()]
        if match["language"] == "text" and found and found[-1].language == "python" and not between.strip():
            found[-1] = Block(**{**vars(found[-1]), "shown": match["text"]})
            continue
        line = page.count("\n", 0, match.start("language")) + 1
        mark = {match["mark"].replace(" ", "_"): match["value"]} if match["mark"] else {}
        found.append(Block(line, match["language"], match["text"], **mark))
        end = match.end()
    return found


def commands_of(text):
    r"""Return (command, shown output or None) of a console block; a command goes on behind a `\` at the end of its
    line.
    """
    commands = []
    for line in text.splitlines():
        if line.startswith("$ "):
            commands.append([line[2:], None])
        elif commands and commands[-1][1] is None and commands[-1][0].endswith("\\"):
            commands[-1][0] += "\n" + line
        else:
            assert commands, f"a console block begins with a command, not with {line!r}"
            commands[-1][1] = (commands[-1][1] or "") + line + "\n"
    return commands


def differences(shown, printed):
    """Return what of a shown output is not what was printed, as a sentence, or None."""
    lines = [line.rstrip() for line in printed.strip("\n").splitlines()]
    at, free = 0, False
    for wanted in (line.rstrip() for line in shown.strip("\n").splitlines()):
        if wanted == "...":
            free = True
            continue
        pattern = re.compile(".*".join(map(re.escape, wanted.split("..."))))
        found = next((place for place in range(at, len(lines)) if pattern.fullmatch(lines[place])), None)
        if found is None or (found > at and not free):
            return f"the page shows {wanted!r}; printed was\n{printed}"
        at, free = found + 1, False
    return f"the page does not show all that was printed:\n{printed}" if at < len(lines) and not free else None


class Reader:
    """Somebody who reads a page and types its examples, in a folder; use it as a context manager.

    Args:
        folder: where they work.
        environment: variables of their shell; `python` and `edos` are those in its PATH.
    """

    def __init__(self, folder, environment):
        """Start with an empty interpreter and a wide screen."""
        self._settings = {"cwd": folder, "env": {"COLUMNS": "120", **environment}, "text": True}
        self.folder = folder
        self._python = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._python:
            self._python.communicate()

    def follow(self, block):
        """Carry out a block; what goes wrong raises an AssertionError."""
        if block.file:
            file = self.folder / block.file
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text, encoding="utf-8")
        elif block.language == "console" and not block.not_run:
            for command, shown in commands_of(block.text):
                self._type(command, shown)
        elif block.language == "python" and not block.not_run:
            self._evaluate(block)

    def _type(self, command, shown):
        done = subprocess.run(
            ["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600, **self._settings
        )
        assert done.returncode == 0, f"$ {command}\nended with {done.returncode}:\n{done.stdout}"
        wrong = shown and differences(shown, done.stdout)
        assert not wrong, f"$ {command}\n{wrong}"

    def _evaluate(self, block):
        if self._python is None:
            self._python = subprocess.Popen(
                ["python", "-c", _CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, **self._settings
            )
        self._python.stdin.write(json.dumps(block.text) + "\n")
        self._python.stdin.flush()
        answer = self._python.stdout.readline()
        assert answer, f"the interpreter died at\n{block.text}"
        printed, error = json.loads(answer)
        assert error is None, f"{block.text}\nfailed:\n{error}"
        wrong = block.shown and differences(block.shown, printed)
        assert not wrong, f"{block.text}\n{wrong}"
