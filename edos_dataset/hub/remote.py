"""A repository on the Hub, with patience: calls are repeated after failures that pass, and other failures are told in
plain words.
"""

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import IO, Any, Literal, TypeVar

from huggingface_hub import CommitOperationAdd, CommitOperationCopy, CommitOperationDelete, HfApi, HfFileSystem
from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError
from huggingface_hub.hf_api import RepoFile

from edos_dataset.hub.failures import FAILURES, OVERTAKEN, HubError, asked_wait, failure, passes, status_of

T = TypeVar("T")
Kind = Literal["dataset", "model", "space"]


class Remote:
    """A repository on the Hub.

    Args:
        repo: namespace/name.
        token: that of the user; None for the one that `hf auth login` stored or HF_TOKEN holds.
        endpoint: address of the Hub; None for HF_ENDPOINT or the public one.
        kind: what it holds.
        wait: seconds before the second try; they double with each. Where the Hub says how long to wait, that counts.
        tries: how often a call is made at most.
    """

    def __init__(
        self,
        repo: str,
        token: str | None = None,
        endpoint: str | None = None,
        kind: Kind = "dataset",
        wait: float = 1.0,
        tries: int = 5,
    ) -> None:
        if repo.count("/") != 1 or not all(repo.split("/")):
            raise HubError(f"{repo!r} is no name of a repository: give NAMESPACE/NAME")
        self.api = HfApi(endpoint=endpoint, token=token)
        self.repo, self.kind, self.wait, self.tries = repo, kind, wait, tries
        self._where: dict[str, Any] = {"repo_id": repo, "repo_type": kind}

    @property
    def url(self) -> str:
        """The address of its page."""
        prefix = "" if self.kind == "model" else f"{self.kind}s/"
        return f"{self.api.endpoint}/{prefix}{self.repo}"

    def user(self) -> str:
        """Return the name of the token's user."""
        return str(self._call("ask for the user", self.api.whoami)["name"])

    def private(self) -> bool | None:
        """Return whether only some may see it, or None where it does not exist."""
        return self._or_none("look at the repository", lambda: bool(self.api.repo_info(**self._where).private))

    def head(self, revision: str) -> str | None:
        """Return the commit of a branch, or None where there is no such branch, or no such repository."""
        return self._or_none(
            "look at the repository", lambda: str(self.api.repo_info(**self._where, revision=revision).sha)
        )

    def tags(self) -> dict[str, str]:
        """Return each tag and the commit that it points to."""
        return (
            self._or_none(
                "list the tags",
                lambda: {tag.name: tag.target_commit for tag in self.api.list_repo_refs(**self._where).tags},
            )
            or {}
        )

    def last(self, branch: str) -> tuple[str, datetime]:
        """Return the title and the time of a branch's newest commit."""
        commit = self._call(
            "look at the commits", lambda: self.api.list_repo_commits(**self._where, revision=branch)[0]
        )
        return commit.title, commit.created_at

    def files(self, revision: str) -> dict[str, RepoFile]:
        """Return all files of a commit, branch or tag, by path."""

        def listed() -> dict[str, RepoFile]:
            entries = self.api.list_repo_tree(**self._where, revision=revision, recursive=True)
            return {entry.path: entry for entry in entries if isinstance(entry, RepoFile)}

        return self._call("list the files", listed)

    def read(self, path: str, revision: str) -> bytes:
        """Return the content of a small file."""

        def content() -> bytes:
            with self.opened(path, revision) as file:
                return bytes(file.read())

        return self._call(f"read {path}", content)

    def opened(self, path: str, revision: str) -> IO[bytes]:
        """Return a file open for reading; only what is read of it moves."""
        prefix = "" if self.kind == "model" else f"{self.kind}s/"
        system = HfFileSystem(endpoint=self.api.endpoint, token=self.api.token, skip_instance_cache=True)
        file: IO[bytes] = system.open(
            f"{prefix}{self.repo}@{revision}/{path}", "rb", cache_type="none"
        )  # pyarrow asks for what it needs, and for no more
        return file

    def reading(self, what: str, function: Callable[[], T]) -> T:
        """Return what a function that reads opened files gives, with the same patience."""
        return self._call(what, function)

    def create(self, private: bool, sdk: str | None = None) -> None:
        """Make the repository, unless it is there; a Space needs an `sdk`, such as "gradio"."""
        more: dict[str, Any] = {"space_sdk": sdk} if self.kind == "space" else {}
        self._call(
            "make the repository",
            lambda: self.api.create_repo(self.repo, repo_type=self.kind, private=private, exist_ok=True, **more),
        )

    def create_branch(self, branch: str, start: str) -> None:
        """Make a branch that begins at a commit or tag, unless it is there."""
        self._call(
            f"make the branch {branch}",
            lambda: self.api.create_branch(**self._where, branch=branch, revision=start, exist_ok=True),
        )

    def commit(
        self,
        branch: str,
        parent: str,
        additions: Sequence[CommitOperationAdd],
        deletions: Sequence[str],
        message: str,
        done: Callable[[str], bool],
        check: Callable[[], None] = lambda: None,
    ) -> str:
        """Add and delete files by one commit: the branch moves once, at the end, or not at all.

        Args:
            branch: to move.
            parent: its head; if someone else moved it, nothing is committed.
            additions: files to add or replace.
            deletions: paths to delete.
            message: its title.
            done: tells whether a commit holds what was wanted, by which a commit is found whose answer was lost.
            check: called when all large files are there, before the branch moves; raises where they are not what was
                meant.

        Returns:
            The new commit.
        """
        operations: list[CommitOperationAdd | CommitOperationCopy | CommitOperationDelete] = [*additions]
        operations += [CommitOperationDelete(path) for path in deletions]

        def made_before() -> str | None:
            head = self.head(branch)
            return head if head is not None and head != parent and done(head) else None

        def make() -> str:
            made = self.api.create_commit(
                **self._where, operations=operations, commit_message=message, revision=branch, parent_commit=parent
            )
            return str(made.oid)

        self._call(
            "upload",
            lambda: self.api.preupload_lfs_files(
                **self._where, additions=additions, revision=branch, free_memory=False
            ),
        )
        check()
        return self._call("commit", make, made_before)

    def tag(self, name: str, commit: str) -> None:
        """Tag a commit; a tag of that name stays where it is, and is an error if that is elsewhere."""
        self._call(
            f"make the tag {name}",
            lambda: self.api.create_tag(**self._where, tag=name, revision=commit),
            lambda: True if self.tags().get(name) == commit else None,
        )

    def _or_none(self, what: str, function: Callable[[], T]) -> T | None:
        def existing() -> T | None:
            try:
                return function()
            except (RepositoryNotFoundError, RevisionNotFoundError):
                return None

        return self._call(what, existing)

    def _call(self, what: str, function: Callable[[], T], made_before: Callable[[], T | None] = lambda: None) -> T:
        """Call the Hub until it answers.

        Args:
            what: it is asked to do, for messages.
            function: the call.
            made_before: looks, after a call without an answer, whether it had its effect all the same.
        """
        for attempt in range(self.tries):
            try:
                return function()
            except FAILURES as error:
                cause = (
                    error.__cause__
                    if isinstance(error, RuntimeError) and isinstance(error.__cause__, Exception)
                    else error
                )
                if not isinstance(cause, FAILURES) or type(cause) is RuntimeError:
                    raise
                passing = passes(cause)
                if passing or status_of(cause) in OVERTAKEN:
                    before = made_before()
                    if before is not None:
                        return before
                if not passing or attempt == self.tries - 1:
                    where = (f"{self.kind} {self.repo}", self.url, self.api.endpoint)
                    raise failure(cause, what, *where, self.tries) from error
                asked = asked_wait(cause)
                time.sleep(self.wait * 2**attempt if asked is None else asked)
        raise AssertionError("the last try returns or raises")
