"""`edos merge`, and what the commands that an array job gives (`--shard`) share."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from edos_dataset.cli.console import emit
from edos_dataset.cli.errors import explained
from edos_dataset.cli.options import AsJson, Engine, Force, TrustRemoteCode, Workers
from edos_dataset.runs.engines.array import Share

ARGUMENTS = "edos.arguments"
"""Where the context keeps the words of the command line."""

_COMMANDS = ("curate", "books")
_OWN = ("--shard", "--force", "--trust-remote-code", "--json")
"""What each share and the merge say for themselves: a folder of others may say none of it for its user."""


@explained()
def merge(
    context: typer.Context,
    out: Annotated[Path, typer.Argument(help="Folder that the array job writes.", show_default=False)],
    workers: Workers = None,
    engine: Engine = None,
    rest: Annotated[
        bool, typer.Option("--rest", help="Make what is missing here, instead of naming the shares that lack it.")
    ] = False,
    force: Force = False,
    trust_remote_code: TrustRemoteCode = False,
    as_json: AsJson = False,
) -> None:
    """End the run of an array job, whose processes had `--shard I/N`, or say which of them are to be given again.

    What needs the whole corpus, such as to find duplicates, is done here, once all shares before it are there; then
    come shares again. So a run takes an array job and a merge by turns, until the merge has put the data set in place:

    `while edos merge edos; [ $? -eq 4 ]; do sbatch --wait curate.sbatch || break; done`

    Exit codes: 0 done, 1 failed (the message says why), 2 wrong usage, 3 done, but too many files could not be read,
    4 shares are to be given, which are named, 130 stopped.
    """
    from edos_dataset.runs.shares import ArrayJob, records_in
    from edos_dataset.runs.stores.paths import place_of

    out = place_of(out)
    paths = records_in(out / ".run")
    jobs = [job for job in map(ArrayJob.read, paths) if job is not None]
    if not jobs:
        raise ValueError(
            f"{out} is no folder of an array job that is to be merged: give `edos curate SOURCE --out {out} --shard "
            "I/N` first"
        )
    out = out.absolute()
    given: dict[str, Any] = {"workers": workers, "engine": engine, "force": force, "as_json": as_json}
    given |= {"trust_remote_code": trust_remote_code, "out": out, "shard": None}
    for job in jobs:
        command, words = _checked(job.arguments), [word for word in job.arguments[1:] if word != "--dry-run"]
        if Path(job.folder).is_dir():
            os.chdir(job.folder)  # as what the job's command line names is found from there
        group: Any = context.parent.command if context.parent else None
        chosen = group.get_command(context.parent, command)
        with chosen.make_context(command, words, parent=context.parent) as inner:
            inner.params |= given if rest else {**given, "shard": str(Share(0, job.count))}
            chosen.invoke(inner)


def _checked(arguments: Sequence[str]) -> str:
    """Return the command that a record names."""
    if not arguments or arguments[0] not in _COMMANDS:
        raise ValueError(f"the record of the array job names no command that can be merged: {list(arguments[:1])}")
    return arguments[0]


def share_of(context: typer.Context, shard: str | None) -> dict[str, Any]:
    """Return what the call of a command takes for `--shard`: the share, and the command line without it."""
    if shard is None:
        return {"share": None}
    number, count = map(int, shard.split("/"))
    words = _without(context.meta.get(ARGUMENTS, []))
    return {"share": Share(number, count), "arguments": words}


def _without(words: Sequence[str]) -> list[str]:
    """Return words of a command line without `_OWN` options; `--shard` has a value."""
    kept: list[str] = []
    skip = False
    for word in words:
        own = word.partition("=")[0] in _OWN
        if not (skip or own):
            kept.append(word)
        skip = word == "--shard"
    return kept


def told_share(done: Mapping[str, Any], out: Path, as_json: bool) -> bool:
    """Print what a process of an array job has done; return whether this is one."""
    if "share" not in done:
        return False
    told = f"share {done['share']}: {done['made']:,} shards made, {done['reused']:,} were there"
    if done["missing"]:
        then = f"{done['missing']:,} shards of {done['phase']!r} are other shares'; when these have ended: "
    elif done["undecided"]:
        then = f"{done['undecided']!r} needs the whole corpus and is done by "
    else:
        then = "all shards are there: "
    emit(done, as_json, [escape(told), escape(f"{then}edos merge {out}")])
    return True
