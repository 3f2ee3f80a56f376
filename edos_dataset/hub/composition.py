"""From folders to the contents of one repository; several data sets become one, their files side by side under a card
whose YAML names all of their configs.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from edos_dataset.hub.content_files import ContentFile, check_no_link
from edos_dataset.hub.contents import CARD, Contents, held, read_data
from edos_dataset.hub.model_contents import read_model, read_shipped, read_space
from edos_dataset.publishing.cards.markdown import code
from edos_dataset.publishing.front_matter import join_card, split_card
from edos_dataset.runs.folder import FolderError


@contextmanager
def reading(folders: Sequence[Path]) -> Iterator[Contents]:
    """Read what is to be published, and keep other commands of this package from writing there meanwhile.

    Args:
        folders: of data sets, of which each config is in one only, and the first has the default one; or one folder of
            a model, or the name of one that ships, or one folder of a Space.

    Raises:
        FolderError: a folder is unfinished, damaged, has data that no config names, or does not go with the others; or
            a command is at work in it.
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
    """Return the contents of several folders as one; of a single folder they are its own.

    Args:
        parts: each folder and its contents. The first has the default config and the card to which those of the others
            are added.

    Raises:
        FolderError: two folders have a config or a file of the same name.
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
    """Return the card of several data sets together: the first one's, then a section for each of the others, with its
    own flaws at its head.

    What several of them say in the same words stands there once, in the first.
    """
    heads, bodies = zip(*map(split_card, cards), strict=True)
    header = dict(heads[0])
    for head in heads[1:]:
        for key in ("tags", "task_categories", "task_ids", "language", "annotations_creators", "language_creators"):
            if more := [value for value in head.get(key) or [] if value not in (header.get(key) or [])]:
                header[key] = [*(header.get(key) or []), *more]
        header["configs"] = [
            *header["configs"],
            *({key: value for key, value in entry.items() if key != "default"} for entry in head["configs"]),
        ]
        header["dataset_info"] = [*header["dataset_info"], *head["dataset_info"]]
    names = [[entry["config_name"] for entry in head["configs"]] for head in heads]
    sections, said = [bodies[0].rstrip()], set(_sections(bodies[0]))
    for configs, body in zip(names[1:], bodies[1:], strict=True):
        new = "\n\n".join(section for section in _sections(body) if section not in said)
        said |= set(_sections(body))
        sections.append(f"# Config {' and '.join(map(code, configs))}\n\n" + _demoted(new))
    return join_card(header, "\n\n".join(sections) + "\n")


def versioned(card: str, version: str) -> str:
    """Return a card whose configs name a version, which `datasets` shows as `info.version`."""
    header, body = split_card(card)
    header["configs"] = [entry | {"version": version} for entry in header["configs"]]
    return join_card(header, body)


def _sections(body: str) -> list[str]:
    return [section.strip() for section in re.split(r"(?m)^(?=## )", body) if section.strip()]


def _demoted(body: str) -> str:
    """Return Markdown with every heading one level lower; lines inside of fenced code are none."""
    lines, fence = [], ""
    for line in body.split("\n"):
        if ticks := re.match("`{3,}", line):
            closes = line.startswith(fence) and not line.strip("`")
            fence = ticks[0] if not fence else "" if closes else fence
        lines.append(f"#{line}" if line.startswith("#") and not fence else line)
    return "\n".join(lines)
