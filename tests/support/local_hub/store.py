"""What a Hub keeps, in memory and one folder: repositories as commits of files, branches and tags; large files by their
SHA-256.
"""

import hashlib
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

LARGE = (".parquet", ".safetensors", ".bin", ".arrow", ".zip", ".gz", ".png")
"""Suffixes that go to LFS, as the `.gitattributes` of a new repository on the Hub say."""
REGULAR_LIMIT = 10 << 20


class Refused(Exception):
    """The answer to a request that cannot be met: a status, the Hub's error code, and a message."""

    def __init__(self, status, message, code=None, **body):
        super().__init__(message)
        self.status, self.message, self.code, self.body = status, message, code, body


@dataclass(frozen=True)
class File:
    """A file of a commit: its content, or, for a large one, the SHA-256 by which the objects hold it."""

    size: int
    content: bytes | None = None
    sha256: str | None = None

    @property
    def oid(self):
        """Return git's id of the file: of what git keeps, which is a pointer for a large one."""
        kept = (
            self.content
            if self.sha256 is None
            else f"version https://git-lfs.github.com/spec/v1\noid sha256:{self.sha256}\nsize {self.size}\n".encode()
        )
        return hashlib.sha1(b"blob %d\0" % len(kept) + kept).hexdigest()

    @property
    def etag(self):
        return self.sha256 or self.oid


@dataclass(frozen=True)
class Commit:
    sha: str
    title: str
    files: dict[str, File]
    parent: str | None
    date: str


@dataclass
class Repo:
    """A repository: `kind` is models, datasets or spaces; a tag or branch is a name and the commit it points to."""

    kind: str
    name: str
    private: bool = False
    commits: dict[str, Commit] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)

    def __post_init__(self):
        self.branches["main"] = self._add("initial commit", {".gitattributes": File(0, b"")}, None)

    def commit(self, branch, title, files, parent=None):
        """Move a branch to a new commit; refused if `parent` is given and no longer the branch's head."""
        if branch not in self.branches:
            raise Refused(404, f"no branch {branch}", "RevisionNotFound")
        head = self.branches[branch]
        if parent is not None and parent != head:
            raise Refused(412, "A commit has happened since. Please refresh and try again.")
        self.branches[branch] = self._add(title, files, head)
        return self.branches[branch]

    def at(self, revision):
        """Return the commit of a branch, a tag or a SHA, whole or its first 5 to 40 letters."""
        sha = self.branches.get(revision) or self.tags.get(revision) or revision
        found = [commit for known, commit in self.commits.items() if known.startswith(sha)] if len(sha) >= 5 else []
        if len(found) != 1:
            raise Refused(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        return found[0]

    def log(self, revision):
        """Return the commits up to a revision, the newest first."""
        commit = self.at(revision)
        history = [commit]
        while commit.parent is not None:
            commit = self.commits[commit.parent]
            history.append(commit)
        return history

    def _add(self, title, files, parent):
        sha = hashlib.sha1(
            repr(
                (
                    self.kind,
                    self.name,
                    len(self.commits),
                    title,
                    sorted((path, file.oid) for path, file in files.items()),
                )
            ).encode()
        ).hexdigest()
        self.commits[sha] = Commit(
            sha, title, files, parent, datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        )
        return sha


def tree(files, folder, recursive):
    """Return the entries below a folder ("" for the root) as the API lists them: files and the
    folders that they imply.
    """
    start = f"{folder}/" if folder else ""
    below = {path: file for path, file in files.items() if path.startswith(start)}
    if folder and not below:
        raise Refused(404, f"{folder} does not exist", "EntryNotFound")
    found = {}
    for path, file in below.items():
        parts = path[len(start) :].split("/")
        for depth in range(1, len(parts)):
            name = start + "/".join(parts[:depth])
            if recursive or depth == 1:
                found[name] = {
                    "type": "directory",
                    "oid": hashlib.sha1(name.encode()).hexdigest(),
                    "size": 0,
                    "path": name,
                }
        if recursive or len(parts) == 1:
            found[path] = entry(path, file)
    return [found[path] for path in sorted(found)]


def entry(path, file):
    """Return how the API describes a file."""
    large = {"lfs": {"oid": file.sha256, "size": file.size, "pointerSize": 134}} if file.sha256 else {}
    return {"type": "file", "oid": file.oid, "size": file.size, "path": path, **large}


class Objects:
    """Large files by SHA-256, in a folder."""

    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def path(self, sha256):
        return self.folder / sha256

    def put(self, sha256, received: Path):
        """Take a file that was received; refused if its content is not what its name says."""
        with received.open("rb") as stream:
            found = (
                hashlib.file_digest(stream, "sha256").hexdigest()
                if hasattr(hashlib, "file_digest")
                else hashlib.sha256(stream.read()).hexdigest()
            )
        if found != sha256:
            received.unlink()
            raise Refused(400, f"content has SHA-256 {found}, not {sha256}")
        received.replace(self.path(sha256))

    def size(self, sha256):
        """Return the bytes of an object, or None where there is none."""
        return self.path(sha256).stat().st_size if self.path(sha256).exists() else None
