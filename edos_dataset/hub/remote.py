"""A repository on the Hub: calls are retried after transient failures; other failures are reported in plain words."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import IO, Any, Literal, TypeVar

from huggingface_hub import CommitOperationAdd, CommitOperationCopy, CommitOperationDelete, HfApi, HfFileSystem
from huggingface_hub.errors import (
    HfHubHTTPError,
    LocalTokenNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.hf_api import RepoFile

from edos_dataset.runs.http import asked_wait
from edos_dataset.runs.retries import TransientError, call_with_retries
from edos_dataset.wording import counted

T = TypeVar("T")
Kind = Literal["dataset", "model", "space"]

_TEMPORARY = (408, 429, 500, 502, 503, 504)
_CONFLICT = (409, 412)
_STORAGE_FULL = (402, 413, 507)
_FULL_WORDS = ("storage", "quota", "too large", "exceeded")
# The base class of the HTTP library's errors; the library depends on the version of huggingface_hub.
_HTTP_ERROR: type[Exception] = next(base for base in HfHubHTTPError.__mro__ if base.__module__.startswith("httpx"))
_FAILURES = (_HTTP_ERROR, LocalTokenNotFoundError, OfflineModeIsEnabled)


class HubError(ValueError):
    """The Hub refused a request; the message says why and what to do."""


class HubUnreachable(HubError):
    """The Hub did not answer, or offline mode forbids requests."""


class Remote:
    """A repository on the Hub.

    Args:
        repo: namespace/name.
        token: The user's token; None for the one that `hf auth login` stored or HF_TOKEN holds.
        endpoint: Address of the Hub; None for HF_ENDPOINT or the public one.
        kind: Kind of the repository.
        wait: Seconds before the second attempt; they double with each further one, unless the Hub states a wait.
        tries: Most attempts for a call.
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
            raise HubError(f"{repo!r} is not the name of a repository: give NAMESPACE/NAME")
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
        """Return whether the repository is private, or None if it does not exist."""
        return self._or_none("look at the repository", lambda: bool(self.api.repo_info(**self._where).private))

    def head(self, revision: str) -> str | None:
        """Return the commit of a branch, or None if the branch or the repository does not exist."""
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
        """Return a file open for reading; only the parts that are read are downloaded."""
        prefix = "" if self.kind == "model" else f"{self.kind}s/"
        system = HfFileSystem(endpoint=self.api.endpoint, token=self.api.token, skip_instance_cache=True)
        file: IO[bytes] = system.open(
            f"{prefix}{self.repo}@{revision}/{path}", "rb", cache_type="none"
        )  # pyarrow requests exactly what it needs
        return file

    def reading(self, what: str, function: Callable[[], T]) -> T:
        """Return the result of a function that reads files from `opened`, with the same retries."""
        return self._call(what, function)

    def create(self, private: bool, sdk: str | None = None) -> None:
        """Create the repository unless it exists; a Space needs an `sdk`, such as "gradio"."""
        more: dict[str, Any] = {"space_sdk": sdk} if self.kind == "space" else {}
        self._call(
            "create the repository",
            lambda: self.api.create_repo(self.repo, repo_type=self.kind, private=private, exist_ok=True, **more),
        )

    def create_branch(self, branch: str, start: str) -> None:
        """Create a branch that begins at a commit or tag, unless it exists."""
        self._call(
            f"create the branch {branch}",
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
            branch: Branch to move.
            parent: Its head; if someone else has moved it, nothing is committed.
            additions: Files to add or replace.
            deletions: Paths to delete.
            message: Title of the commit.
            done: Whether a commit has the wanted content; finds a commit whose answer was lost.
            check: Called when all large files are uploaded, before the branch moves; raises if they are not the
                intended ones.

        Returns:
            The new commit.
        """
        operations: list[CommitOperationAdd | CommitOperationCopy | CommitOperationDelete] = [*additions]
        operations += [CommitOperationDelete(path) for path in deletions]

        def found() -> str | None:
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
        return self._call("commit", make, found)

    def tag(self, name: str, commit: str) -> None:
        """Tag a commit; an existing tag never moves, and it is an error if it points elsewhere."""
        self._call(
            f"create the tag {name}",
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

    def _call(self, what: str, function: Callable[[], T], found: Callable[[], T | None] = lambda: None) -> T:
        """Call the Hub until it answers.

        Args:
            what: The request, for messages.
            function: The call.
            found: Returns the result of a call that took effect but whose answer was lost; otherwise None.
        """
        failed: HubError | None = None

        def call() -> T:
            try:
                return function()
            except (*_FAILURES, RuntimeError) as error:
                cause = _cause(error)
                lost = cause is not None and (_is_temporary(cause) or _status(cause) in _CONFLICT)
                if lost and (result := found()) is not None:
                    return result
                raise

        def transient(error: Exception) -> TransientError | None:
            nonlocal failed
            cause = _cause(error)
            if cause is None:
                return None
            failed = self._failure(cause, what)
            if not _is_temporary(cause):
                raise failed from error
            requested = cause.response.headers.get("Retry-After", "") if isinstance(cause, HfHubHTTPError) else ""
            return TransientError(str(failed), asked_wait(requested))

        return call_with_retries(call, transient, lambda failure: failed or failure, self.tries, self.wait)

    def _failure(self, error: Exception, what: str) -> HubError:
        """Return one of _FAILURES as an error whose message is a sentence, with what to do."""
        begin = f"could not {what} at {self.url}"
        token = "create one with write access, and give it as --token or HF_TOKEN, or log in by `hf auth login`"
        if isinstance(error, LocalTokenNotFoundError):
            return HubError(f"there is no token for the Hub: {token}")
        if isinstance(error, OfflineModeIsEnabled):
            return HubUnreachable("HF_HUB_OFFLINE is set, so the Hub cannot be reached: unset it")
        if not isinstance(error, HfHubHTTPError):
            return HubUnreachable(
                f"the Hub at {self.api.endpoint} cannot be reached ({error}); nothing is lost: run the same command "
                "again"
            )
        status, said = _status(error), error.server_message or str(error).strip().split("\n")[0]
        if status in _STORAGE_FULL or (status == 403 and any(word in said.lower() for word in _FULL_WORDS)):
            return HubError(
                f"{begin}: the storage is full ({status}: {said}); delete something there or get more, and run the "
                "same command again"
            )
        if isinstance(error, RepositoryNotFoundError):
            return HubError(f"the {self.kind} {self.repo} does not exist, or the token may not see it ({status})")
        if status == 401:
            return HubError(f"the Hub does not accept the token ({said}): {token}")
        if status == 403:
            return HubError(f"{begin}: the token may not write there ({said}); {token}")
        if status in _CONFLICT:
            return HubError(
                f"{begin}: someone else changed it meanwhile ({said}); look at it, and run the same command again"
            )
        if status in _TEMPORARY:
            return HubError(
                f"{begin}, in {counted(self.tries, 'attempts')} ({status}: {said}); nothing is lost: run the same "
                "command again "
                "later"
            )
        return HubError(f"{begin} ({status}: {said})")


def _status(error: Exception) -> int | None:
    """Return the HTTP status of an answer; None if there was no answer."""
    return int(error.response.status_code) if isinstance(error, HfHubHTTPError) else None


def _cause(error: Exception) -> Exception | None:
    """Return the failure of a call; None for other exceptions. Uploads wrap the failure in a RuntimeError."""
    cause = error.__cause__ if isinstance(error, RuntimeError) else error
    return cause if isinstance(cause, _FAILURES) else None


def _is_temporary(error: Exception) -> bool:
    status = _status(error)
    return status in _TEMPORARY if status is not None else isinstance(error, _HTTP_ERROR)
