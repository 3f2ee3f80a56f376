"""`edos publish`: parses the command line, calls the package, prints."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from edos_dataset.publishing.hub import Plan
    from edos_dataset.publishing.versions import Version


def publish(
    run: Annotated[Path, typer.Argument(help="A folder that `edos curate`, `label`, `extend` or `crowd seed` wrote.", show_default=False)],
    repo: Annotated[str, typer.Option(help="Data set on the Hub, NAMESPACE/NAME; made if it is not there.", show_default=False)],
    version: Annotated[str, typer.Option(help="Version of the data, such as 1.2.0, which becomes the tag v1.2.0.", show_default=False)],
    token: Annotated[str | None, typer.Option(help="Token that may write.", show_default="HF_TOKEN, or that of `hf auth login`")] = None,
    private: Annotated[bool, typer.Option("--private", help="Make a new data set private.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List what would go, and compare; change nothing.")] = False,
    branch: Annotated[str, typer.Option(help="Branch that gets the commit; made from the previous version if it is not there.")] = "main",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Publish a folder as a version of a data set on the Hub: one commit, verified by hash, then the tag.

    A patch version has the same dialogues, a minor one new ones, a major one other columns, or lacks dialogues; a smaller step than the data ask for is
    refused. An existing tag is never moved. Stopped or cut off, the same command goes on; the branch is as it was until all is there.
    """
    from rich.console import Console

    from edos_dataset import console as show
    from edos_dataset.publishing.hub import publish as publishing
    from edos_dataset.publishing.remote import Remote
    from edos_dataset.publishing.versions import Version

    chosen = Version.parse(version)
    remote = Remote(repo, token)
    with Console(stderr=True).status("starting") as status:
        say = status.update if sys.stderr.isatty() else lambda text: typer.echo(text, err=True)
        plan, commit = publishing(run, remote, chosen, private=private, branch=branch, dry_run=dry_run, say=say)
    uploads = {path: plan.size(path) for path in plan.uploads}
    if as_json:
        report: dict[str, Any] = {"repo": repo, "version": str(chosen), "commit": commit, "already_published": plan.published is not None}
        report |= {"uploads": uploads, "deletions": list(plan.deletions), "previous": str(plan.previous) if plan.previous else None}
        typer.echo(json.dumps({**report, "changes": [asdict(change) for change in plan.changes]}, indent=1, ensure_ascii=False))
        return
    terminal = show.terminal()
    if plan.published:
        terminal.print(f"{chosen.tag} is already published with this content: {remote.url} at {plan.published}", soft_wrap=True, highlight=False)
        return
    for path, size in uploads.items():
        terminal.print(f"{size:>15,} {path}", highlight=False, markup=False, soft_wrap=True)
    for path in plan.deletions:
        terminal.print(f"{'delete':>15} {path}", highlight=False, markup=False, soft_wrap=True)
    terminal.print(_summary(plan, chosen), highlight=False, markup=False, soft_wrap=True)
    if commit is None:
        terminal.print("nothing was changed (--dry-run)")
        return
    terminal.print(f"{remote.url} has {chosen.tag} at {commit}", soft_wrap=True, highlight=False)
    terminal.print(f'from datasets import load_dataset; ds = load_dataset("{repo}", revision="{chosen.tag}")', style="green", soft_wrap=True, markup=False)


def _summary(plan: "Plan", version: "Version") -> str:
    from edos_dataset.publishing.versions import needed

    number, size = len(plan.uploads), sum(map(plan.size, plan.uploads))
    lines = [f"{number} of {len(plan.files) + 1} files to upload, {size:,} bytes; {len(plan.deletions)} to delete"]
    if plan.previous is None:
        lines += [f"{version}, the first version: " + ", ".join(f"{change.config} {change.after:,}" for change in plan.changes) + " dialogues"]
        return "\n".join(lines)
    lines.append(f"{version} after {plan.previous}; the data ask for a {needed(plan.changes)} step at least:")
    for change in plan.changes:
        told = f"{change.after:,} dialogues, {change.added:,} added, {change.removed:,} removed, labels changed in {change.labels:,}, texts in {change.texts:,}"
        lines.append(f"  {change.config}: {told}, {change.moved:,} in another split{''.join('; ' + sentence for sentence in change.schema)}")
    return "\n".join(lines)
