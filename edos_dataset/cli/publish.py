"""`edos publish`, `edos labels-only` and `edos hydrate`: publish data, with or without text, and restore the text."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edos_dataset.cli.console import TOO_MANY, Ended, call, emit, explained, load_call, styled
from edos_dataset.cli.options import Address, AsJson, Engine, Force, Workers
from edos_dataset.wording import counted

if TYPE_CHECKING:
    from rich.console import RenderableType

    from edos_dataset.hub.contents import Contents
    from edos_dataset.hub.publish import Plan
    from edos_dataset.hub.versions import Version


@explained()
def publish(
    folders: Annotated[
        list[Path],
        typer.Argument(
            help=(
                "Folders of data written by this package, the first with the default config; or a model, by folder or "
                "name; or a Space."
            ),
            show_default=False,
        ),
    ],
    repo: Annotated[
        str,
        typer.Option(help="Repository on the Hub, NAMESPACE/NAME; created if it does not exist.", show_default=False),
    ],
    version: Annotated[str, typer.Option(help="Version, such as 1.2.0; it is tagged v1.2.0.", show_default=False)],
    token: Annotated[
        str | None, typer.Option(help="Token with write access.", show_default="HF_TOKEN, or that of hf auth login")
    ] = None,
    private: Annotated[bool, typer.Option("--private", help="Make the repository private if it is new.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List what would be uploaded or changed; change nothing.")
    ] = False,
    branch: Annotated[
        str, typer.Option(help="Branch to commit to; created from the previous version if it does not exist.")
    ] = "main",
    views: Annotated[
        list[str] | None,
        typer.Option(
            help="Views of the first folder to publish as further configs, which load without this package: "
            "`messages,flat,pairs,sharegpt` or some of them.",
            show_default="none",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Publish a dataset, model or Space as a version on the Hub: as one commit, verified by hash, and a tag.

    Several data folders become one dataset with all of their configs.

    For data, a patch version keeps the same dialogues, a minor version adds some, and a major version removes some or
    changes columns; a smaller step than the changes require is refused. An existing tag is never moved. Run the same
    command to resume after an interruption; the branch does not change until everything is uploaded.
    """
    from edos_dataset.commands.publish import publish as run

    done = call(run, locals())
    assert done.plan is not None and done.version is not None
    plan, commit = done.plan, done["commit"]
    lines: list[RenderableType] = [*_lines(plan, done.version, done.url, commit)]
    if commit is not None and plan.published is None and plan.contents.kind != "space":
        lines.append(styled((_use(plan.contents, repo, done.version), "green")))
    emit(dict(done), as_json, lines)


def _lines(plan: "Plan", version: "Version", url: str, commit: str | None) -> Iterator[str]:
    """Yield the lines that describe a plan; `commit` is None after a dry run."""
    if plan.published:
        yield f"{version.tag} is already published with this content: {url} at {plan.published}"
        return
    if plan.unasked:
        yield f"the Hub could not be asked what is there ({plan.unasked}); a first version would consist of:"
    files = plan.contents.files
    yield from (f"{files[path].size:>15,} {path}" for path in plan.uploads)
    yield from (f"{'delete':>15} {path}" for path in plan.deletions)
    size = sum(files[path].size for path in plan.uploads)
    yield (
        f"{len(plan.uploads)} of {counted(len(files), 'files')} to upload, "
        f"{counted(size, 'bytes')}; {len(plan.deletions)} to delete"
    )
    yield from _left(plan.contents.left_out)
    yield from _steps(plan, version)
    yield "nothing was changed (--dry-run)" if commit is None else f"{url} has {version.tag} at {commit}"


def _left(paths: Sequence[str], most: int = 20) -> Iterator[str]:
    """Yield the files that are not uploaded; a folder with more than three of them is one line."""
    counts = Counter(path.rpartition("/")[0] for path in paths)
    listed = [
        f"{folder}/ ({counted(number, 'files')})" for folder, number in sorted(counts.items()) if folder and number > 3
    ]
    listed += [path for path in paths if not path.rpartition("/")[0] or counts[path.rpartition("/")[0]] <= 3]
    yield from (f"{'stays here':>15} {path}" for path in listed[:most])
    if listed:
        more = f" ({len(listed) - most} more of them)" if len(listed) > most else ""
        yield f"{counted(len(paths), 'files stay')} here, because no uploaded file refers to them{more}"


def _steps(plan: "Plan", version: "Version") -> Iterator[str]:
    """Yield how a version differs from the previous one."""
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
                f"  {change.config}: {counted(change.after, 'dialogues')}, {change.added:,} added, "
                f"{change.removed:,} removed, "
                f"labels changed in {change.labels:,}, texts in {change.texts:,}, {change.moved:,} in another split"
                f"{''.join('; ' + sentence for sentence in change.schema)}"
            )


def _use(contents: "Contents", repo: str, version: "Version") -> str:
    """Return the line of Python that loads a published dataset or classifier, or the command for a response model."""
    from edos_dataset.hub.contents import CARD
    from edos_dataset.publishing.front_matter import split_card

    if contents.kind == "dataset":
        return f'from datasets import load_dataset; ds = load_dataset("{repo}", revision="{version.tag}")'
    if split_card(contents.files[CARD].content.decode())[0].get("pipeline_tag") == "text-generation":
        return f'edos respond "I lost my job." --model {repo}'
    call = f'pipeline("text-classification", model="{repo}", revision="{version.tag}", trust_remote_code=True)'
    return f"from transformers import pipeline; classify = {call}"


@explained()
def labels_only(
    run: Annotated[Path, typer.Argument(help="Folder written by `edos curate` or `edos label`.", show_default=False)],
    out: Annotated[Path, typer.Option(help="Output folder; earlier labels in it are updated.", show_default=False)],
    config: Annotated[str, typer.Option(help="Config of the labels: `edos` or `edos_initial`.")] = "edos",
    recipe: Annotated[
        Path | None,
        typer.Option(
            help="YAML file of the recipe that made the dialogues; required for a folder of `edos label`.",
            show_default="that of the run",
        ),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write the labels of a run without any text: ids, labels and hashes of the turns.

    `edos hydrate` rebuilds the text from a copy of the subtitles. Load the folder with `load_dataset(OUT,
    "labels_only")`.
    """
    from edos_dataset.commands.labels_only import labels_only as write

    manifest = call(write, locals())
    dialogues, turns = (sum(manifest[unit].values()) for unit in ("dialogues", "turns"))
    summary = f"labels of {counted(turns, 'turns')} in {counted(dialogues, 'dialogues')}, and no text"
    emit(dict(manifest), as_json, [summary, load_call(out.as_posix(), "labels_only")])


@explained()
def hydrate(
    labels: Annotated[
        Path, typer.Argument(help="Folder written by `edos labels-only`, or a copy of one.", show_default=False)
    ],
    sources: Annotated[
        list[Path],
        typer.Argument(
            help="Your own files, folders or zip archives of the same subtitles. Names may differ: files that are not "
            "found by name are recognised by their text.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(help="Output folder; an earlier hydration in it is updated.", show_default=False),
    ],
    workers: Workers = None,
    engine: Engine = None,
    address: Address = None,
    max_missing: Annotated[
        float,
        typer.Option(min=0, max=1, help="Maximum fraction of missing dialogues, 0 to 1; above it, the exit code is 3."),
    ] = 0.01,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Rebuild the text of published labels from your own copy of the subtitles, and check every turn against its hash.

    Missing dialogues are counted by reason and listed in `missing.jsonl`. Exit codes: 0 done; 1 failed, with a message;
    2 wrong usage; 3 done, but too many dialogues are missing (--max-missing); 130 stopped.
    """
    from edos_dataset.cli.tables import run_report
    from edos_dataset.commands.hydrate import MISSING, missing_share
    from edos_dataset.commands.hydrate import hydrate as run
    from edos_dataset.runs.stores.paths import place_of

    manifest = call(run, locals())
    if not manifest:  # another process prints
        return
    out = place_of(out)
    emit(dict(manifest), as_json, run_report(out, manifest, missing_lines(manifest, out / MISSING)))
    if (fraction := missing_share(manifest)) > max_missing:
        raise Ended(
            TOO_MANY,
            styled(
                (f"{fraction:.1%} of the dialogues are missing", "bold red"),
                f" (more than {max_missing:.1%}, --max-missing)",
            ),
        )


def missing_lines(manifest: Mapping[str, Any], listed: Path) -> Iterator[str]:
    """Yield how many dialogues were rebuilt, and why others are missing; `listed` is the file that lists these."""
    missing, identical = manifest["missing"], list(manifest["identical"].values())
    yield f"{missing['found']:,} of {counted(missing['dialogues'], 'dialogues')} found, every turn with its hash"
    if missing["reasons"]:
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in missing["reasons"].items())
        yield f"missing: {reasons}; listed in {listed}"
        return
    same = (
        f"{sum(identical)} of {counted(len(identical), 'files are')} byte for byte those "
        "of the run that the labels are from"
    )
    others = "the others have the same rows, which another version of pyarrow writes as other bytes"
    yield same if all(identical) else f"{same}; {others}"
