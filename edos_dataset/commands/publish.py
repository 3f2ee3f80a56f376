"""The verb `publish`: publishes a dataset, model or Space as a version on the Hub."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from edos_dataset.commands.options import Result, UsageError, verb
from edos_dataset.commands.progress import Say, steps, warn
from edos_dataset.exports.datasets import VIEWS, card_of, write_views
from edos_dataset.exports.dialogues import source_of
from edos_dataset.hub.composition import reading
from edos_dataset.hub.contents import CARD
from edos_dataset.hub.publish import MAIN, Plan
from edos_dataset.hub.publish import publish as publish_contents
from edos_dataset.hub.remote import Remote
from edos_dataset.hub.versions import Version
from edos_dataset.publishing.cards.headers import TEXT_LICENCE
from edos_dataset.runs.stores.paths import local_copies, place_of

TEXT_IS_PUBLIC = (
    "the text of subtitles goes into a repository that everybody may read, unless it is private already; --private "
    "makes a new one private, `edos labels-only` leaves the text out"
)


@dataclass(frozen=True, eq=False, repr=False)
class Published(Result):
    """A version on the Hub.

    Attributes:
        plan: the changes that were made, or that a dry run would make.
        url: address of the repository.
        version: the version.
    """

    plan: Plan | None = None
    url: str = ""
    version: Version | None = None


@contextmanager
def _with_views(folders: Sequence[Path], views: Sequence[str]) -> Iterator[Sequence[Path]]:
    """Yield folders to publish, followed by one of views of the first."""
    names = [name for each in views for name in each.split(",")]
    if unknown := [name for name in names if name not in VIEWS]:
        raise UsageError(f"unknown --views {unknown[0]!r}: expected one or more of {', '.join(VIEWS)}")
    if not names:
        yield folders
        return
    source = source_of(folders[0])
    with TemporaryDirectory(prefix="edos-views-") as place:
        views_folder = Path(place).resolve() / "views"
        views_folder.mkdir()
        if not write_views(source, names, views_folder, card_of(folders[0])):
            raise ValueError(f"--views {','.join(names)}: {source.name} has no dialogues for them: leave it out")
        yield [*folders, views_folder]


@verb
def publish(
    folders: str | Path | Sequence[str | Path],
    repo: str,
    version: str,
    *,
    token: str | None = None,
    private: bool = False,
    dry_run: bool = False,
    branch: str = MAIN,
    views: Sequence[str] = (),
    progress: bool | Say | None = None,
) -> Published:
    """Publish a dataset, model or Space as a version on the Hub, as `edos publish` does: as one commit, verified by
    hash, and a tag.

    Several data folders become one dataset with all of their configs. For data, a patch version keeps the same
    dialogues, a minor version adds some, and a major version removes some or changes columns; a smaller step than the
    changes require is refused. An existing tag is never moved. After an interruption the same call resumes; the branch
    does not change until everything is uploaded.

    Args:
        folders: data folders written by this package, the first one with the default config; or a model, by folder or
            name; or a Space.
        repo: repository, "NAMESPACE/NAME"; created if it does not exist.
        version: version, such as "1.2.0"; it is tagged v1.2.0.
        token: token with write access; by default HF_TOKEN, or that of `hf auth login`.
        private: make the repository private if it is new.
        dry_run: return what would be uploaded or changed, and change nothing.
        branch: branch to commit to; created from the previous version if it does not exist.
        views: views of the first folder's default config to publish as further configs, which load without this
            package: "messages", "flat", "pairs" or "sharegpt", as `edos export` writes them. They are made for the
            upload and leave the folder as it is.
        progress: whether to show progress, by default in terminals and notebooks; or a callback.

    Returns:
        `repo`, `version`, `commit` (null after a dry run), `kind`, `asked` (whether the Hub answered), `left_out`
        (files that are not uploaded), `already_published`, `uploads` (path → bytes), `deletions`, `previous` (version)
        and `changes` by config.

    Raises:
        HubError: the Hub refuses, or cannot be reached.
        ValueError: the version exists with other content, or is too small a step.
    """
    chosen = Version.parse(version)
    given = [place_of(each) for each in ([folders] if isinstance(folders, str | Path) else folders)]
    with (
        steps(progress, "reading the folder") as say,
        local_copies(given) as here,
        _with_views(here, [views] if isinstance(views, str) else views) as all_folders,
        reading(all_folders) as contents,
    ):
        if not private and contents.kind == "dataset" and TEXT_LICENCE.encode() in contents.files[CARD].content:
            warn(TEXT_IS_PUBLIC)
        remote = Remote(repo, token, kind=contents.kind, tries=2 if dry_run else 5)
        plan, commit = publish_contents(
            contents, remote, chosen, private=private, branch=branch, dry_run=dry_run, say=say
        )
    facts: dict[str, Any] = {
        "repo": repo,
        "version": str(chosen),
        "commit": commit,
        "kind": plan.contents.kind,
        "asked": not plan.unasked,
        "left_out": list(plan.contents.left_out),
        "already_published": plan.published is not None,
        "uploads": {path: plan.contents.files[path].size for path in plan.uploads},
        "deletions": list(plan.deletions),
        "previous": str(plan.previous) if plan.previous else None,
        "changes": [asdict(change) for change in plan.changes],
    }
    shown = {"version": str(chosen), "commit": commit or "none (dry run)", "files uploaded": len(plan.uploads)}
    return Published("publish", facts, None, shown, remote.url, plan, remote.url, chosen)
