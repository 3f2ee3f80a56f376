"""Combines folders into the contents of one repository; several datasets become one, whose card lists all configs."""

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from edos_dataset.hub.contents import CARD, ContentFile, Contents, check_no_link, held, read_data
from edos_dataset.hub.model_contents import read_model, read_shipped, read_space
from edos_dataset.publishing.cards.markdown import code
from edos_dataset.publishing.front_matter import join_card, split_card
from edos_dataset.runs.folder import FolderError

_LISTS = ("tags", "task_categories", "task_ids", "language", "annotations_creators", "language_creators")
"""Keys in a card's YAML whose values are lists."""


@contextmanager
def reading(folders: Sequence[Path]) -> Iterator[Contents]:
    """Read the contents to publish, and keep other commands of this package from writing there meanwhile.

    Args:
        folders: Folders of datasets with different configs, the first with the default config; or the folder of one
            model, the name of a shipped model, or the folder of a Space.

    Raises:
        FolderError: A folder is unfinished or damaged, has data that belong to no config, or cannot be combined with
            the others; or a command is writing to it.
    """
    with ExitStack() as stack:
        for folder in folders:
            check_no_link(folder)
            stack.enter_context(held(folder))
        readers = (read_shipped, read_model, read_space)
        others = [contents for folder in folders for read in readers if (contents := read(folder))]
        if others and len(folders) > 1:
            raise FolderError(
                f"a {others[0].kind} has a repository of its own: publish {', '.join(map(str, folders))} one by one"
            )
        yield others[0] if others else compose([(folder, read_data(folder)) for folder in folders])


def compose(parts: Sequence[tuple[Path, Contents]]) -> Contents:
    """Return the contents of several folders as one.

    Args:
        parts: Each folder and its contents. The first has the default config, and its card is extended by the others.

    Raises:
        FolderError: Two folders have a config or a file with the same name.
    """
    if len(parts) == 1:
        return parts[0][1]
    files: dict[str, ContentFile] = {}
    configs: dict[str, Any] = {}
    owners: dict[str, Path] = {}
    left_out: list[str] = []
    for folder, contents in parts:
        if both := sorted(contents.configs.keys() & configs.keys()):
            raise FolderError(
                f"{owners[both[0]]} and {folder} both have the config {both[0]!r}: publish them in repositories of "
                "their own"
            )
        if both := sorted((contents.files.keys() & files.keys()) - {CARD}):
            raise FolderError(
                f"{owners[both[0]]} and {folder} both have a file {both[0]}: rename one, or publish them in "
                "repositories of their own"
            )
        files |= contents.files
        configs |= contents.configs
        left_out += [str(folder / name) for name in contents.left_out]
        owners |= dict.fromkeys([*contents.files, *contents.configs], folder)
    files[CARD] = ContentFile(compose_cards([contents.files[CARD].content.decode() for _, contents in parts]).encode())
    return Contents("dataset", files, configs, left_out)


def compose_cards(cards: Sequence[str]) -> str:
    """Return the card of several datasets: the first card, then a section for each other one, with its flaws first.
    Sections that several cards share are kept only in the first.
    """
    heads, bodies = zip(*map(split_card, cards), strict=True)
    sections, known = [bodies[0].rstrip()], set(_sections(bodies[0]))
    for head, body in zip(heads[1:], bodies[1:], strict=True):
        names = " and ".join(code(entry["config_name"]) for entry in head["configs"])
        new = "\n\n".join(section for section in _sections(body) if section not in known)
        known |= set(_sections(body))
        sections.append(f"# Config {names}\n\n" + _demoted(new))
    return join_card(_compose_headers(heads), "\n\n".join(sections) + "\n")


def _compose_headers(heads: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the first header with the values, configs and features of the others."""
    header = dict(heads[0])
    for key in _LISTS:
        if values := list(dict.fromkeys(value for head in heads for value in head.get(key) or [])):
            header[key] = values
    for head in heads[1:]:
        configs = [{key: value for key, value in entry.items() if key != "default"} for entry in head["configs"]]
        header["configs"] = [*header["configs"], *configs]
        header["dataset_info"] = [*header["dataset_info"], *head["dataset_info"]]
    return header


def versioned(card: str, version: str) -> str:
    """Return a card whose configs state a version, which `datasets` shows as `info.version`."""
    header, body = split_card(card)
    header["configs"] = [entry | {"version": version} for entry in header["configs"]]
    return join_card(header, body)


def _sections(body: str) -> list[str]:
    return [section.strip() for section in re.split(r"(?m)^(?=## )", body) if section.strip()]


def _demoted(body: str) -> str:
    """Return Markdown with every heading one level lower; lines in fenced code stay."""
    lines, fence = [], ""
    for line in body.split("\n"):
        if ticks := re.match("`{3,}", line):
            closes = line.startswith(fence) and not line.strip("`")
            fence = ticks[0] if not fence else "" if closes else fence
        lines.append(f"#{line}" if line.startswith("#") and not fence else line)
    return "\n".join(lines)
