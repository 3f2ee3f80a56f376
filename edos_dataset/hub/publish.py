"""Publish a data set, a model or a Space as a version on the Hub: one commit, its listing verified by hash, then the
tag.

Nothing is ever half published: a branch moves by one commit, and a version exists only with its tag, which is made last
and never moved. After a stop anywhere the same call goes on: large files that are already there are not sent again, and
a commit that was made is found by its content.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta, timezone

from huggingface_hub import CommitOperationAdd

from edos_dataset.hub.content_files import ContentFile
from edos_dataset.hub.contents import Contents
from edos_dataset.hub.failures import HubError, HubUnreachable
from edos_dataset.hub.model_contents import sdk_of
from edos_dataset.hub.plan import MAIN, Plan, make_plan
from edos_dataset.hub.remote import Remote
from edos_dataset.hub.versions import Version

_TITLE = "Release "
_UNFINISHED = timedelta(minutes=10)
"""For so long a version without its tag counts as one that is being published."""


def publish(
    contents: Contents,
    remote: Remote,
    version: Version,
    *,
    private: bool = False,
    branch: str = MAIN,
    dry_run: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> tuple[Plan, str | None]:
    """Publish a data set, a model or a Space.

    Args:
        contents: what `composition.reading` gives.
        remote: the repository, of the contents' kind; made if it is not there.
        version: of the data; see `versions` for what a step means. Of a model or Space, any that is later than the
            last.
        private: make a new repository private.
        branch: that gets the commit; made if it is not there, from the previous version.
        dry_run: only return the plan; without a connection, that of a first version.
        say: called with what is going on.

    Returns:
        The plan, and the commit that has the tag now, or None for a dry run.

    Raises:
        HubError: the Hub refused, or cannot be reached.
        ValueError: the version exists with other content, or is too small a step.
    """
    if not dry_run:
        say("asking for the user")
        remote.user()
    plan = _planned(contents, remote, version, branch, say, dry_run)
    if not (dry_run or plan.published) and plan.private is None:
        remote.create(private, sdk_of(contents))
        plan = make_plan(contents, remote, version, branch, say)  # somebody else may have made it, and filled it
    if private and plan.private is False:
        raise HubError(
            f"{remote.url} is public, and --private only makes a new repository private: change it there first"
        )
    if dry_run or plan.published:
        return plan, plan.published
    _check_finished(plan, remote, version, branch)
    commit = _commit(plan, remote, version, branch, say)
    say("verifying what is there")
    if wrong := plan.missing(remote.files(commit)):
        raise HubError(
            f"{remote.url} at {commit} is not what was sent ({', '.join(wrong[:3])}), so it got no tag: look at it, "
            "and give the command again"
        )
    remote.tag(version.tag, commit)
    return plan, commit


def _planned(
    contents: Contents, remote: Remote, version: Version, branch: str, say: Callable[[str], None], dry_run: bool
) -> Plan:
    try:
        return make_plan(contents, remote, version, branch, say)
    except HubUnreachable as error:
        if not dry_run:
            raise
        return replace(make_plan(contents, remote, version, branch, say, ask=False), unasked=str(error))


def _check_finished(plan: Plan, remote: Remote, version: Version, branch: str) -> None:
    """Refuse to go on top of a version that somebody else is just publishing: its tag would be left behind.

    Two commits at once cannot be, as each names its parent; but between another's commit and its tag there is a moment.
    Who was cut off in it gives the same command again, and finds nothing to upload but the tag to set.

    Raises:
        HubError: the branch's newest commit is a version without its tag, and not old.
    """
    if plan.new_branch or not (plan.uploads or plan.deletions):
        return
    title, when = remote.last(branch)
    tags = remote.tags()
    if version.tag in tags:
        raise HubError(f"somebody else just published {version.tag} at {remote.url}: look at it, and give a later one")
    age = datetime.now(timezone.utc) - when
    if title.startswith(_TITLE) and plan.head not in tags.values() and age < _UNFINISHED:
        raise HubError(
            f"the newest commit at {remote.url}, {title!r}, has no tag yet: another `edos publish` is at work there or "
            "was cut off. Wait for it; the same command with the same folders finishes one that was cut off; and "
            f"{int(_UNFINISHED.total_seconds()) // 60} minutes after that commit another version goes on top of it"
        )


def _commit(plan: Plan, remote: Remote, version: Version, branch: str, say: Callable[[str], None]) -> str:
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
