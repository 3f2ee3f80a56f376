"""What `make lint` asks beyond ruff, mypy and import-linter: files and functions that can be read, and plain words.

    python .ci/check_code.py [FILE ...]

Without files, all that git tracks are checked. A file of the package has fewer than 500 lines; a function has a
cyclomatic complexity below 15, where `and` and `or` count as branches too; sources, help and documentation use the
terms of `docs/reference/glossary.md`, not the words that it replaces.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MOST_LINES, MOST_BRANCHES = 500, 15
CODE = ("edos_dataset/", "training/", "evaluation/", "benchmarks/", "spaces/", "loading_scripts/", "model_cards/")
PROSE = (*CODE, "docs/", "README.md", "CONTRIBUTING.md", "BENCHMARKS.md", "SECURITY.md")
UNCHECKED = ("docs/reference/glossary.md", "edos_dataset/sample/", "sample_source/")
"""The glossary has to name the words, and the sample is invented film talk."""

BANNED = {
    r"seams?": "boundary",
    r"borders?(?!-)": "boundary (in CSS: leave it)",
    r"likeness(es)?": "near-duplicates, similarity",
    r"likewise": "also, the same",
    r"(is|are|was|were|be|been) told": "is reported, is printed",
    r"tell(s|ing)? (apart|of)": "distinguish, report",
    r"patiently": "with retries",
    r"settl(e|es|ed|ing)": "resolve, select an independent set",
    r"passages?": "shuffle; paragraph (of a book)",
    r"foreign": "untrusted (input); in another language",
    r"whoever": "a reader, a user",
    r"part(ed|ing)": "split",
    r"crews?": "engine",
    r"at one stroke": "atomically",
    r"go(es)? on where": "resume",
    r"rooms?": "package, module",
    r"nearly the same": "near-duplicate",
    r"come(s)? out": "is returned, is written",
    r"told": "given, stated, printed",
    r"(?-i:Carrying|Carried)": "RunOptions, Run",
}

_BRANCHES = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.IfExp, ast.ExceptHandler, ast.match_case)


def complexity(function: ast.AST) -> int:
    """Return a function's cyclomatic complexity, boolean operators and comprehensions' conditions included; functions
    defined within it count as functions of their own.
    """
    branches, rest = 1, list(ast.iter_child_nodes(function))
    while rest:
        node = rest.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if isinstance(node, _BRANCHES):
            branches += 1
        elif isinstance(node, ast.BoolOp):
            branches += len(node.values) - 1
        elif isinstance(node, ast.comprehension):
            branches += 1 + len(node.ifs)
        rest.extend(ast.iter_child_nodes(node))
    return branches


def faults_of_code(name: str, text: str) -> Iterator[str]:
    """Yield what is too long or too branched in a Python file."""
    lines = text.count("\n")
    if name.startswith("edos_dataset/") and lines >= MOST_LINES:
        yield f"{name}: {lines} lines; a file of the package has fewer than {MOST_LINES}"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (found := complexity(node)) >= MOST_BRANCHES:
            yield f"{name}:{node.lineno}: {node.name} has a complexity of {found}; wanted below {MOST_BRANCHES}"


def faults_of_words(name: str, text: str) -> Iterator[str]:
    """Yield the words of a file that the glossary replaces. Names that users' files hold (recipe keys, reason codes,
    columns) are joined by `_` or quoted, and are not looked at.
    """
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, better in BANNED.items():
            if found := re.search(rf"(?<![\w\"'`=/.-])(?:{pattern})(?![\w\"'`=/-])", line, re.IGNORECASE):
                yield f"{name}:{number}: {found[0]!r}: say {better}"


def main(arguments: list[str]) -> int:
    """Print the faults and return the exit code: 1 where there are any."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names = arguments or [name for name in listed.split("\0") if name and (ROOT / name).is_file()]
    faults: list[str] = []
    for name in names:
        if name.startswith(UNCHECKED) or not name.startswith(PROSE) or not name.endswith((".py", ".md")):
            continue
        if name.startswith("evaluation/") and name.endswith("report.md"):
            continue  # records of measurements, as their scripts wrote them
        text = (ROOT / name).read_text(encoding="utf-8")
        faults += faults_of_words(name, text)
        if name.endswith(".py") and name.startswith(CODE):
            faults += faults_of_code(name, text)
    print("\n".join(faults))
    print(f"{len(faults)} faults" if faults else "code and words as wanted")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
