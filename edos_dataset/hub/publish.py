"""Publish a dataset, a model or a Space as a version on the Hub: one commit, its files verified by hash, then the tag.

Nothing is ever half published: a branch moves by one commit, and a version exists only with its tag, which is created
last and never moves. After any interruption, the same call resumes: large files that are already uploaded are not sent
again, and an existing commit is recognised by its content.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import IO

import pyarrow.parquet as pq
from huggingface_hub import CommitOperationAdd
from huggingface_hub.hf_api import RepoFile

from edos_dataset.hub.composition import versioned
from edos_dataset.hub.contents import CARD, COUNTS, CROISSANT, DATA, ContentFile, Contents, configs_of
from edos_dataset.hub.model_contents import PLACEHOLDER, sdk_of
from edos_dataset.hub.remote import HubError, HubUnreachable, Remote
from edos_dataset.hub.versions import (
    CHANGELOG,
    ConfigChange,
    Version,
    changelog,
    check_step,
    compare,
    read_rows,
    versions_of,
)

MAIN = "main"
_OURS = {"dataset": (*DATA, ".html"), "model": (".safetensors", ".py"), "space": (".py",)}
"""Suffixes of the files of a version, by kind of repository; a later version may delete such files."""
_GENERATED = (CHANGELOG, CROISSANT)
"""Files that are generated for each version; later versions of this package may generate different ones."""

_TITLE = "Release "
_UNFINISHED = timedelta(minutes=10)
"""How long a version without a tag is assumed to be in the process of being published."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """What a version would change on the Hub.

    Attributes:
        contents: What is published, with all generated files.
        uploads: Paths of files that are missing on the branch or differ there.
        deletions: Paths of files on the branch that the contents no longer have.
        head: The branch's current or first commit; None if there is no repository.
        new_branch: Whether the branch must be created.
        private: Whether the repository is private; None if there is no repository.
        previous: The version to compare with, or None.
        changes: The changes since then, by config.
        published: The commit of the version, if it has already been published with exactly this content.
        unasked: Why a dry run could not ask the Hub; the plan is then that of a first version.
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
        """Return the paths where a listing of the Hub differs from the contents by LFS SHA-256 or git blob id."""
        return [*_differing(self.contents, listing), *_stale(listing, self.contents)]


def publish(
    contents: Contents,
    remote: Remote,
    version: Version,
    *,
    private: bool = False,
    branch: str = MAIN,
    dry_run: bool = False,
    say: Say = lambda _: None,
) -> tuple[Plan, str | None]:
    """Publish a dataset, a model or a Space.

    Args:
        contents: The contents from `composition.reading`.
        remote: The repository, of the same kind as the contents; created if it does not exist.
        version: Version of the data; see `versions` for the meaning of a step. For a model or Space, any later version.
        private: Create a new repository as private.
        branch: Branch that gets the commit; created from the previous version if it does not exist.
        dry_run: Only return the plan; without a connection, that of a first version.
        say: Called with each step.

    Returns:
        The plan, and the commit that now has the tag, or None for a dry run.

    Raises:
        HubError: The Hub refused, or cannot be reached.
        ValueError: The version exists with different content, or is too small a step.
    """
    if dry_run:
        plan = _dry_plan(contents, remote, version, branch, say)
    else:
        say("asking for the user")
        remote.user()
        plan = make_plan(contents, remote, version, branch, say)
        if plan.private is None and not plan.published:
            remote.create(private, sdk_of(contents))
            # someone else may have created and filled it in the meantime
            plan = make_plan(contents, remote, version, branch, say)
    if private and plan.private is False:
        raise HubError(
            f"{remote.url} is public, and --private only affects a new repository: change its visibility there first"
        )
    if dry_run or plan.published:
        return plan, plan.published
    _check_finished(plan, remote, version, branch)
    commit = _commit(plan, remote, version, branch, say)
    say("verifying the published files")
    if wrong := plan.missing(remote.files(commit)):
        raise HubError(
            f"{remote.url} at {commit} is not what was sent ({', '.join(wrong[:3])}), so it got no tag: look at it, "
            "and run the command again"
        )
    remote.tag(version.tag, commit)
    return plan, commit


def _dry_plan(contents: Contents, remote: Remote, version: Version, branch: str, say: Say) -> Plan:
    try:
        return make_plan(contents, remote, version, branch, say)
    except HubUnreachable as error:
        say("comparing with nothing")
        return replace(_first_plan(contents, remote, version), unasked=str(error))


def make_plan(
    contents: Contents, remote: Remote, version: Version, branch: str = MAIN, say: Say = lambda _: None
) -> Plan:
    """Return what a version would change, without writing anything. Errors are those of `publish`."""
    say("asking for the published versions")
    private = remote.private()
    if private is None:
        return _first_plan(contents, remote, version)
    contents = _named(contents, remote, version)
    versions, head = versions_of(remote.tags()), remote.head(branch)
    if version in versions:
        plan = Plan(contents, (), (), head, False, private, None, (), versions[version])
        _check_same(plan, remote, version, max(versions))
        return plan
    if versions and max(versions) > version and branch == MAIN:
        raise HubError(
            f"{remote.url} is at {max(versions)} already: publish a later version, or give a --branch for the line of "
            f"{version}"
        )
    previous = max((known for known in versions if known < version), default=None)
    say("comparing with the published version")
    changes = _changes(contents, remote, previous)
    if previous is not None:
        check_step(version, previous, changes)
    start = head or remote.head(previous.tag if previous else MAIN)
    listing = remote.files(start) if start else {}
    existing = remote.read(CHANGELOG, start).decode() if start and CHANGELOG in listing else ""
    contents = _with_generated(contents, remote, version, previous, changes, existing)
    uploads, deletions = _differing(contents, listing), _stale(listing, contents)
    return Plan(contents, uploads, deletions, start, head is None, private, previous, changes)


def _first_plan(contents: Contents, remote: Remote, version: Version) -> Plan:
    """Return the plan of the first version in a new repository."""
    contents = _named(contents, remote, version)
    changes = _changes(contents, remote, None)
    contents = _with_generated(contents, remote, version, None, changes)
    return Plan(contents, list(contents.files), (), None, False, None, None, changes)


def _check_same(plan: Plan, remote: Remote, version: Version, latest: Version) -> None:
    """Raise HubError if a version is already tagged with different content."""
    if wrong := plan.missing(remote.files(version.tag)):
        newer = latest.after("patch")
        others = f"{', '.join(wrong[:3])}{', ...' * (len(wrong) > 3)}"
        raise HubError(
            f"{version.tag} is published at {remote.url} with other content ({others}), and a tag never moves: publish "
            f"this as another version, {newer} or later"
        )


def _named(contents: Contents, remote: Remote, version: Version) -> Contents:
    """Return contents with a card that states the dataset's version or the name under which the model loads, and
    without the files that are generated for each version.
    """
    of_data = contents.kind == "dataset"
    files = {path: file for path, file in contents.files.items() if not (of_data and path in _GENERATED)}
    card = files[CARD].content.decode()
    card = versioned(card, str(version)) if of_data else card.replace(PLACEHOLDER, remote.repo)
    return replace(contents, files={**files, CARD: ContentFile(card.encode())})


def _with_generated(
    contents: Contents,
    remote: Remote,
    version: Version,
    previous: Version | None,
    changes: Sequence[ConfigChange],
    existing: str = "",
) -> Contents:
    """Return a dataset with its Croissant metadata and its changelog, which extends the existing one, if any."""
    if contents.kind != "dataset":
        return contents
    from edos_dataset.hub.croissant import croissant  # mlcroissant takes a second to import

    files, configs = contents.files, contents.configs
    history = changelog(existing, version, previous, changes)
    described = croissant(remote.repo, remote.url, str(version), files[CARD].content.decode(), files, configs)
    generated = {CHANGELOG: ContentFile(history.encode()), CROISSANT: ContentFile(described.encode())}
    return replace(contents, files={**files, **generated})


def _changes(contents: Contents, remote: Remote, previous: Version | None) -> list[ConfigChange]:
    _check_unchanged(contents.files[path] for paths in contents.configs.values() for path in paths)
    rows = {
        config: sum(pq.read_metadata(contents.files[path].source).num_rows for path in paths)
        for config, paths in contents.configs.items()
    }
    if previous is None:
        return [ConfigChange(config, 0, number, added=number) for config, number in rows.items()]
    listing = remote.files(previous.tag)
    before: Mapping[str, Mapping[str, str]] = {}
    if rows and CARD in listing:
        card = remote.read(CARD, previous.tag).decode()
        before = configs_of(card, list(listing), f"{remote.url} at {previous.tag}")
    changes = []
    for config in dict.fromkeys([*rows, *before]):
        old, new = before.get(config, {}), contents.configs.get(config, {})
        if not old:
            changes.append(ConfigChange(config, 0, rows[config], added=rows[config]))
        elif old == new and all(_same(contents.files[path], listing[path]) for path in new):
            changes.append(ConfigChange(config, rows[config], rows[config]))
        else:
            changes.append(_compare(config, old, new, contents.files, remote, previous, listing))
    return changes


def _compare(
    config: str,
    old: Mapping[str, str],
    new: Mapping[str, str],
    files: Mapping[str, ContentFile],
    remote: Remote,
    previous: Version,
    listing: Mapping[str, RepoFile],
) -> ConfigChange:
    """Compare the dialogues of a config with those of the previous version. Its files are read from the Hub unless a
    local file has the same content.
    """

    def opened(path: str) -> Path | bytes | IO[bytes]:
        same = path in files and _same(files[path], listing[path])
        return files[path].source if same else remote.opened(path, previous.tag)

    there = remote.reading(f"read {config} of {previous}", lambda: read_rows(old, opened))
    return compare(config, there, read_rows(new, lambda path: files[path].source) if new else None)


def _same(file: ContentFile, there: RepoFile | None) -> bool:
    if there is None or file.size != there.size:
        return False
    return file.sha256 == there.lfs.sha256 if there.lfs else file.blob == there.blob_id


def _differing(contents: Contents, listing: Mapping[str, RepoFile]) -> list[str]:
    return [path for path, file in contents.files.items() if not _same(file, listing.get(path))]


def _stale(listing: Mapping[str, RepoFile], contents: Contents) -> list[str]:
    """Return the files of earlier versions that the contents no longer have; files that users added are left out."""
    ours = _OURS[contents.kind]
    return [path for path in listing if path not in contents.files and (path.endswith(ours) or path in COUNTS)]


def _check_finished(plan: Plan, remote: Remote, version: Version, branch: str) -> None:
    """Refuse to commit on top of a version that someone else is still publishing, as its tag would then point to an
    older commit.

    Two simultaneous commits are impossible, as each names its parent, but another process may be between its commit and
    its tag. If it was interrupted there, repeating its command finds nothing to upload and sets the tag.

    Raises:
        HubError: The branch's newest commit is a recent version without a tag.
    """
    if plan.new_branch or not (plan.uploads or plan.deletions):
        return
    title, when = remote.last(branch)
    tags = remote.tags()
    if version.tag in tags:
        raise HubError(f"someone else just published {version.tag} at {remote.url}: look at it, and give a later one")
    age = datetime.now(timezone.utc) - when
    if title.startswith(_TITLE) and plan.head not in tags.values() and age < _UNFINISHED:
        raise HubError(
            f"the newest commit at {remote.url}, {title!r}, has no tag yet: another `edos publish` is running there or "
            "was interrupted. Wait for it; the same command with the same folders finishes an interrupted one; and "
            f"{int(_UNFINISHED.total_seconds()) // 60} minutes after that commit another version may be published"
        )


def _commit(plan: Plan, remote: Remote, version: Version, branch: str, say: Say) -> str:
    head = plan.head
    assert head is not None, "a repository has a branch main"
    if plan.new_branch:
        remote.create_branch(branch, head)
    if not plan.uploads and not plan.deletions:
        return head
    files = {path: plan.contents.files[path] for path in plan.uploads}
    additions = [CommitOperationAdd(path, file.source) for path, file in files.items()]
    say(f"uploading {len(additions)} files, {sum(file.size for file in files.values()):,} bytes")
    return remote.commit(
        branch,
        head,
        additions,
        plan.deletions,
        f"{_TITLE}{version}",
        lambda commit: not plan.missing(remote.files(commit)),
        lambda: _check_unchanged(files.values()),
    )


def _check_unchanged(files: Iterable[ContentFile]) -> None:
    for file in files:
        file.check()
