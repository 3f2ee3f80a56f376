"""What a version would change on the Hub: compared with what is there, by content; nothing is written."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

import pyarrow.parquet as pq
from huggingface_hub.hf_api import RepoFile

from edos_dataset.hub.changes import ConfigChange, compare, read_rows
from edos_dataset.hub.composition import versioned
from edos_dataset.hub.content_files import DATA, ContentFile
from edos_dataset.hub.contents import CARD, COUNTS, Contents, configs_of
from edos_dataset.hub.croissant import FILE as CROISSANT
from edos_dataset.hub.croissant import croissant
from edos_dataset.hub.failures import HubError
from edos_dataset.hub.remote import Remote
from edos_dataset.hub.versions import CHANGELOG, Version, changelog, check_step, versions_of
from edos_dataset.publishing.cards.model import PLACEHOLDER

MAIN = "main"
_OURS = {"dataset": (*DATA, ".html"), "model": (".safetensors", ".py"), "space": (".py",)}
"""Suffixes of what a version puts into a repository of each kind, and takes away where a later one has it no more."""
_MADE = (CHANGELOG, CROISSANT)
"""What is made for a version, and by later versions of this package perhaps otherwise."""


@dataclass(frozen=True)
class Plan:
    """What a version would change on the Hub.

    Attributes:
        contents: what is published, with all that is made for it.
        uploads: paths of the files that are not on the branch yet, or not with this content.
        deletions: paths of files on the branch that the contents no longer have.
        head: the commit that the branch is at, or begins at; None where there is no repository.
        new_branch: the branch has to be made.
        private: whether only some may see the repository; None where there is none.
        previous: the version to compare with, or None.
        changes: what changed since, by config.
        published: the commit of the version, where it has been published with this very content.
        unasked: why the Hub could not be asked, in a dry run that could not; then it is the plan of a first version.
    """

    contents: Contents
    uploads: Sequence[str]
    deletions: Sequence[str]
    head: str | None
    new_branch: bool
    private: bool | None
    previous: Version | None
    changes: Sequence[ConfigChange]
    published: str | None = None
    unasked: str = ""

    def missing(self, listing: Mapping[str, RepoFile]) -> list[str]:
        """Return the paths at which a listing of the Hub is not what was wanted, by LFS SHA-256 or git blob id."""
        return [
            *(path for path, file in self.contents.files.items() if not _same(file, listing.get(path))),
            *_stale(listing, self.contents),
        ]


def make_plan(
    contents: Contents,
    remote: Remote,
    version: Version,
    branch: str = MAIN,
    say: Callable[[str], None] = lambda _: None,
    ask: bool = True,
) -> Plan:
    """Return what a version would change; nothing is written anywhere. Errors are those of `publish`.

    Without `ask`, the Hub is not asked, and it is the plan of the first version in a new repository.
    """
    contents = _named(contents, remote, version)
    say("asking what is published" if ask else "comparing with nothing")
    private = remote.private() if ask else None
    versions = versions_of(remote.tags()) if private is not None else {}
    head = remote.head(branch) if private is not None else None
    if version in versions:
        plan = Plan(contents, (), (), head, False, private, None, (), versions[version])
        return _again(plan, remote, version, max(versions))
    previous = max((known for known in versions if known < version), default=None)
    if versions and max(versions) > version and branch == MAIN:
        raise HubError(
            f"{remote.url} is at {max(versions)} already: publish a later version, or give a --branch for the line of "
            f"{version}"
        )
    say("comparing with what is published")
    changes = _changes(contents, remote, previous)
    if previous is not None:
        check_step(version, previous, changes)
    new_branch = head is None and private is not None
    head = head or (remote.head(previous.tag if previous else MAIN) if private is not None else None)
    listing = remote.files(head) if head else {}
    if contents.kind == "dataset":
        existing = remote.read(CHANGELOG, head).decode() if head and CHANGELOG in listing else ""
        contents = _with_history(contents, remote, version, changelog(existing, version, previous, changes))
    uploads = [path for path, file in contents.files.items() if not _same(file, listing.get(path))]
    return Plan(contents, uploads, _stale(listing, contents), head, new_branch, private, previous, changes)


def _again(plan: Plan, remote: Remote, version: Version, latest: Version) -> Plan:
    """Return the plan of a version that is tagged already, if it is what the tag holds.

    Raises:
        HubError: the tag holds something else.
    """
    if wrong := plan.missing(remote.files(version.tag)):
        newer = latest.after("patch")
        others = f"{', '.join(wrong[:3])}{', ...' * (len(wrong) > 3)}"
        raise HubError(
            f"{version.tag} is published at {remote.url} with other content ({others}), and a tag never moves: publish "
            f"this as another version, {newer} or more"
        )
    return plan


def _with_history(contents: Contents, remote: Remote, version: Version, history: str) -> Contents:
    """Return a data set with its changelog, and with its metadata as Croissant."""
    files, configs = contents.files, contents.configs
    described = croissant(remote.repo, remote.url, str(version), files[CARD].content.decode(), files, configs)
    made = {CHANGELOG: ContentFile(history.encode()), CROISSANT: ContentFile(described.encode())}
    return replace(contents, files={**files, **made})


def _named(contents: Contents, remote: Remote, version: Version) -> Contents:
    """Return contents whose card says which version of a data set it is, or under which name a model loads; without
    what is made from the history.
    """
    files = {path: file for path, file in contents.files.items() if contents.kind != "dataset" or path not in _MADE}
    card = files[CARD].content.decode()
    card = versioned(card, str(version)) if contents.kind == "dataset" else card.replace(PLACEHOLDER, remote.repo)
    return replace(contents, files={**files, CARD: ContentFile(card.encode())})


def _changes(contents: Contents, remote: Remote, previous: Version | None) -> list[ConfigChange]:
    files, configs = contents.files, contents.configs
    listing = remote.files(previous.tag) if previous else {}
    before: Mapping[str, Mapping[str, str]] = {}
    if previous and configs and CARD in listing:
        before = configs_of(remote.read(CARD, previous.tag).decode(), list(listing), f"{remote.url} at {previous.tag}")

    def opened(path: str) -> Path | bytes | IO[bytes]:
        """Open a file of the previous version: the one here, where it has the same content, otherwise the Hub's."""
        return (
            files[path].source
            if path in files and _same(files[path], listing[path])
            else remote.opened(path, previous.tag if previous else MAIN)
        )

    changes = []
    for path in (path for of_config in configs.values() for path in of_config):
        files[path].check()
    for config in [*configs, *(name for name in before if name not in configs)]:
        old, new = before.get(config, {}), configs.get(config, {})
        if not old or (old == new and all(_same(files[path], listing[path]) for path in new)):
            rows = sum(pq.read_metadata(files[path].source).num_rows for path in new)
            changes.append(ConfigChange(config, rows if old else 0, rows, added=0 if old else rows))
        else:
            there = remote.reading(f"read {config} of {previous}", lambda old=old: read_rows(old, opened))  # type: ignore[misc]
            changes.append(compare(config, there, read_rows(new, lambda path: files[path].source) if new else None))
    return changes


def _same(file: ContentFile, there: RepoFile | None) -> bool:
    if there is None or file.size != there.size:
        return False
    return file.sha256 == there.lfs.sha256 if there.lfs else file.blob == there.blob_id


def _stale(listing: Mapping[str, RepoFile], contents: Contents) -> list[str]:
    """Return what the Hub has of earlier versions and the contents has not; what people put there otherwise stays."""
    ours = _OURS[contents.kind]
    return [path for path in listing if path not in contents.files and (path.endswith(ours) or path in COUNTS)]
