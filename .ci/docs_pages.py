"""Hooks of MkDocs (`mkdocs.yml`): the pages of the reference that are generated from the code, and links.

The command line comes from typer, recipe parameters from the docstrings of the stages, columns, reasons and labels from
`edos_dataset.schema` and `edos_dataset.labels`, so none of these pages can fall behind the code.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
_LINK = re.compile(r"(?<!!)\[([^]]+)\]\((?![a-z]+:|#)([^)#]+)(#[^)]*)?\)")


def on_files(files: Files, config: Any) -> Files:  # noqa: ANN401 - a configuration of MkDocs
    """Add the generated pages."""
    for path, text in {
        "reference/command_line.md": command_line(),
        "reference/recipes.md": recipes(),
        "reference/schema.md": schema(),
        "reference/reasons.md": reasons(),
        "reference/labels.md": labels(),
    }.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:  # noqa: ANN401 - a page of MkDocs
    """Make links to files of the repository outside `docs/`, which the site does not have, plain text; examples keep
    the marks by which the tests run them out of sight.
    """
    docs = ROOT / "docs"

    def fix(link: re.Match[str]) -> str:
        target = (docs / page.file.src_uri).parent / link[2]
        inside = os.path.normpath(target).startswith(str(docs) + os.sep)
        return link[0] if inside else link[1]

    return _LINK.sub(fix, markdown)


def command_line() -> str:
    """Return the reference of `edos`, as typer writes it."""
    made = subprocess.run(
        [sys.executable, "-m", "typer", "edos_dataset.cli.app", "utils", "docs", "--name", "edos"],
        capture_output=True, text=True, check=True, cwd=ROOT, env={**os.environ, "COLUMNS": "200"},
    ).stdout  # fmt: skip
    return with_summaries(made).replace("# `edos`", "# Command line", 1)


def with_summaries(page: str) -> str:
    """Return the reference with a whole sentence for each command, and a link to it, where typer cuts it off."""
    from typer.main import get_command

    from edos_dataset.cli.app import app

    group, lines = get_command(app), []
    above = ["edos"]
    for line in page.split("\n"):
        if heading := re.fullmatch(r"#+ `(edos[^`]*)`", line):
            above = heading[1].split()
            group = get_command(app)
            for name in above[1:]:
                group = group.commands[name]
        if item := re.fullmatch(r"\* `([a-z][a-z-]*)`: .*", line):
            sentence = group.commands[item[1]].get_short_help_str(limit=1000)
            line = f"* [`{item[1]}`](#{'-'.join([*above, item[1]])}): {sentence}"
        lines.append(line)
    return "\n".join(lines)


def recipes() -> str:
    """Return every built-in recipe with the meaning of its parameters, as `edos recipe` prints them."""
    parts = [
        "# Recipes\n\nA recipe is a list of stages. `edos recipe` prints these, to edit and give back by `--recipe`."
    ]
    for title, arguments in {
        "`default`, for subtitles": [],
        "`papers`, for subtitles": ["papers"],
        "`default`, for books": ["--books"],
        "`papers`, for books": ["papers", "--books"],
    }.items():
        made = subprocess.run(
            [sys.executable, "-m", "edos_dataset", "recipe", *arguments],
            capture_output=True, text=True, check=True, cwd=ROOT,
        ).stdout  # fmt: skip
        parts.append(f"## {title}\n\n```yaml\n{made}```")
    return "\n\n".join(parts) + "\n"


def schema() -> str:
    """Return the columns of every published config: name, type and meaning."""
    from edos_dataset.schema import REGISTRY, describe

    parts = ["# Data schema\n\nThe columns of every config, as its Parquet files hold them. Times are seconds."]
    books = [name for name in REGISTRY if name.startswith("gutenberg_")]
    for name in REGISTRY:
        if name in books[1:]:
            continue
        title = "gutenberg_LANGUAGE" if name in books else name
        rows = [(f"`{column.name}`", column.type, column.meaning) for column in describe(name)]
        parts.append(f"## {title}\n\n{table(('column', 'type', 'meaning'), rows)}")
    return "\n\n".join(parts) + "\n"


def reasons() -> str:
    """Return what every reason of a reject means."""
    from edos_dataset.schema import REASONS

    rows = [(f"`{code}`", meaning) for code, meaning in sorted(REASONS.items())]
    head = "# Reasons\n\nWhatever leaves a run is counted under one of these reasons; `edos rejects` shows them."
    return f"{head}\n\n{table(('reason', 'meaning'), rows)}\n"


def labels() -> str:
    """Return the label set with definitions and examples."""
    from edos_dataset.labels import DEFINITIONS, EMOTIONS, EXAMPLES, INTENTS, LABELS, NEUTRAL

    parts = ["# Labels\n\nThe 41 labels of EDOS, with their ids. The examples are invented."]
    for title, names in (("Emotions", EMOTIONS), ("Response intents", INTENTS), ("Neither", (NEUTRAL,))):
        rows = [(str(LABELS.index(name)), f"`{name}`", DEFINITIONS[name], EXAMPLES[name]) for name in names]
        parts.append(f"## {title}\n\n{table(('id', 'label', 'definition', 'example'), rows)}")
    return "\n\n".join(parts) + "\n"


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in lines)
