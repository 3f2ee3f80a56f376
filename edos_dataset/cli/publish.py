"""`edos publish`."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from edos_dataset.cli.console import emit, note, status
from edos_dataset.cli.errors import explained
from edos_dataset.cli.options import AsJson

if TYPE_CHECKING:
    from edos_dataset.hub.contents import Contents
    from edos_dataset.hub.plan import Plan
    from edos_dataset.hub.versions import Version

_TEXT_IS_PUBLIC = (
    "the text of subtitles goes into a repository that everybody may read, unless it is private already; --private "
    "makes a new one private, `edos labels-only` leaves the text out"
)


@explained()
def publish(
    folders: Annotated[
        list[Path],
        typer.Argument(
            help=(
                "Folders of data that commands of this package wrote, the first with the default config; or a model, "
                "also by its name here; or a Space."
            ),
            show_default=False,
        ),
    ],
    repo: Annotated[
        str, typer.Option(help="Repository on the Hub, NAMESPACE/NAME; made if it is not there.", show_default=False)
    ],
    version: Annotated[
        str, typer.Option(help="Version, such as 1.2.0, which becomes the tag v1.2.0.", show_default=False)
    ],
    token: Annotated[
        str | None, typer.Option(help="Token that may write.", show_default="HF_TOKEN, or that of `hf auth login`")
    ] = None,
    private: Annotated[bool, typer.Option("--private", help="Make a new repository private.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List what would go, and compare; change nothing.")
    ] = False,
    branch: Annotated[
        str, typer.Option(help="Branch that gets the commit; made from the previous version if it is not there.")
    ] = "main",
    as_json: AsJson = False,
) -> None:
    """Publish a data set, a model or a Space as a version on the Hub: one commit, verified by hash, then the tag.

    Several folders of data become one data set with the configs of all.

    A patch version of data has the same dialogues, a minor one new ones, a major one other columns, or lacks dialogues;
    a smaller step than the data ask for is refused. An existing tag is never moved. Stopped or cut off, the same
    command goes on; the branch is as it was until all is there.
    """
    from edos_dataset.hub.composition import reading
    from edos_dataset.hub.contents import CARD
    from edos_dataset.hub.publish import publish as publishing
    from edos_dataset.hub.remote import Remote
    from edos_dataset.hub.versions import Version
    from edos_dataset.publishing.cards.headers import TEXT_LICENCE

    chosen = Version.parse(version)
    with status("reading the folder") as tell, reading(folders) as contents:
        if not private and contents.kind == "dataset" and TEXT_LICENCE.encode() in contents.files[CARD].content:
            note(f"[yellow]note[/yellow] {_TEXT_IS_PUBLIC}")
        remote = Remote(repo, token, kind=contents.kind, tries=2 if dry_run else 5)
        plan, commit = publishing(contents, remote, chosen, private=private, branch=branch, dry_run=dry_run, say=tell)
    result = {"repo": repo, "version": str(chosen), "commit": commit, **_report(plan)}
    lines = [escape(line) for line in _lines(plan, chosen, remote.url, commit)]
    if commit is not None and plan.published is None and contents.kind != "space":
        lines.append(f"[green]{escape(_use(contents, repo, chosen))}[/green]")
    emit(result, as_json, lines)


def _report(plan: "Plan") -> dict[str, Any]:
    """Return what `--json` says of a plan."""
    return {
        "kind": plan.contents.kind,
        "asked": not plan.unasked,
        "left_out": list(plan.contents.left_out),
        "already_published": plan.published is not None,
        "uploads": {path: plan.contents.files[path].size for path in plan.uploads},
        "deletions": list(plan.deletions),
        "previous": str(plan.previous) if plan.previous else None,
        "changes": [asdict(change) for change in plan.changes],
    }


def _lines(plan: "Plan", version: "Version", url: str, commit: str | None) -> Iterator[str]:
    """Yield what a person sees of a plan that was carried out; `commit` is None after a dry run."""
    if plan.published:
        yield f"{version.tag} is already published with this content: {url} at {plan.published}"
        return
    if plan.unasked:
        yield f"the Hub could not be asked what is there ({plan.unasked}); as a first version there would go:"
    files = plan.contents.files
    yield from (f"{files[path].size:>15,} {path}" for path in plan.uploads)
    yield from (f"{'delete':>15} {path}" for path in plan.deletions)
    size = sum(files[path].size for path in plan.uploads)
    yield f"{len(plan.uploads)} of {len(files)} files to upload, {size:,} bytes; {len(plan.deletions)} to delete"
    yield from _left(plan.contents.left_out)
    yield from _steps(plan, version)
    yield "nothing was changed (--dry-run)" if commit is None else f"{url} has {version.tag} at {commit}"


def _left(paths: Sequence[str], most: int = 20) -> Iterator[str]:
    """Yield what stays behind, of many files a folder's name."""
    counts = Counter(path.rpartition("/")[0] for path in paths)
    told = [f"{folder}/ ({number} files)" for folder, number in sorted(counts.items()) if folder and number > 3]
    told += [path for path in paths if not path.rpartition("/")[0] or counts[path.rpartition("/")[0]] <= 3]
    yield from (f"{'stays here':>15} {path}" for path in told[:most])
    if told:
        more = f" ({len(told) - most} more of them)" if len(told) > most else ""
        yield f"{len(paths)} files stay here, as nothing that goes names them{more}"


def _steps(plan: "Plan", version: "Version") -> Iterator[str]:
    """Yield how a version differs from the one before."""
    from edos_dataset.hub.versions import needed

    if plan.contents.kind != "dataset":
        after = f"after {plan.previous}" if plan.previous else "the first version"
        yield f"{version} of a {plan.contents.kind}, {after}"
    elif plan.previous is None:
        sizes = ", ".join(f"{change.config} {change.after:,}" for change in plan.changes)
        yield f"{version}, the first version: {sizes} dialogues"
    else:
        yield f"{version} after {plan.previous}; the data ask for a {needed(plan.changes)} step at least:"
        for change in plan.changes:
            yield (
                f"  {change.config}: {change.after:,} dialogues, {change.added:,} added, {change.removed:,} removed, "
                f"labels changed in {change.labels:,}, texts in {change.texts:,}, {change.moved:,} in another split"
                f"{''.join('; ' + sentence for sentence in change.schema)}"
            )


def _use(contents: "Contents", repo: str, version: "Version") -> str:
    """Return the line of Python that loads a published data set or model, or the command that asks it."""
    from edos_dataset.hub.contents import CARD
    from edos_dataset.publishing.front_matter import split_card

    if contents.kind == "dataset":
        return f'from datasets import load_dataset; ds = load_dataset("{repo}", revision="{version.tag}")'
    if split_card(contents.files[CARD].content.decode())[0].get("pipeline_tag") == "text-generation":
        return f'edos respond "I lost my job." --model {repo}'
    call = f'pipeline("text-classification", model="{repo}", revision="{version.tag}", trust_remote_code=True)'
    return f"from transformers import pipeline; classify = {call}"
