"""A recipe for people: a pipeline as YAML in which every parameter has its meaning above it, out of the docstrings."""

import inspect
import re
import textwrap
from collections.abc import Iterator

from edos_dataset.runs.pipeline import Output, Pipeline
from edos_dataset.runs.recipes import Item, dump_recipe
from edos_dataset.schema import REGISTRY

WIDTH = 120

_SECTION = re.compile(r"^(?:Args|Attributes):\n((?:(?: {4}.*)?(?:\n|$))*)", re.MULTILINE)
_ENTRY = re.compile(r"^ {4}(\w+): *(.+(?:\n {8,}.*)*)", re.MULTILINE)


def parameter_docs(kind: type) -> dict[str, str]:
    """Return what a class's Google-style docstring says of its parameters, by name, each on one line.

    Args:
        kind: the class; `Args:` and `Attributes:` are read. One without a docstring of its own has that of its base.
    """
    sections = _SECTION.findall(inspect.getdoc(kind) or "")
    return {name: " ".join(text.split()) for section in sections for name, text in _ENTRY.findall(section)}


def described_recipe(pipeline: Pipeline) -> str:
    """Return a pipeline as YAML, as `dump_recipe` does, with comments: what each stage does and each parameter means.

    Without the lines that begin with `#` it is what `dump_recipe` gives.
    """
    return "stages:\n" + "".join(line for item in pipeline for line in _described(item))


def _described(item: Item) -> Iterator[str]:
    """Yield the lines of one stage."""
    kind = type(item)
    if isinstance(item, Output):
        summary, meanings = f"The dialogues that arrive here are a config: {REGISTRY[item.config].description}.", {}
    else:
        summary, meanings = " ".join((inspect.getdoc(kind) or "").partition("\n\n")[0].split()), parameter_docs(kind)
    yield from _comment(summary, "")
    for line in dump_recipe([item]).splitlines(keepends=True)[1:]:
        parameter = re.match(r" {4}(\w+):", line)
        yield from _comment(meanings.get(parameter[1], "") if parameter else "", "    ")
        yield line


def _comment(text: str, indent: str) -> Iterator[str]:
    for line in textwrap.wrap(text, WIDTH - len(indent) - 2, break_long_words=False, break_on_hyphens=False):
        yield f"{indent}# {line}\n"
