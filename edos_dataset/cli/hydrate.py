"""`edos labels-only` and `edos hydrate`: parses the command line, calls the package, prints."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

TOO_MANY_MISSING = 3
"""Exit code when more is missing than `--max-missing` allows."""

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def labels_only(
    run: Annotated[Path, typer.Argument(help="A folder that `edos curate` or `edos label` wrote.", show_default=False)],
    out: Annotated[Path, typer.Option(help="Folder to write; one of earlier labels is replaced.", show_default=False)],
    config: Annotated[str, typer.Option(help="Whose labels: `edos` or `edos_initial`.")] = "edos",
    recipe: Annotated[
        Path | None,
        typer.Option(
            help="YAML by which the dialogues were made; a folder of `edos label` needs it.",
            show_default="the run's own",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the labels of a run without any text: ids, hashes of the turns, labels.

    `edos hydrate` rebuilds the text from a copy of the subtitles. The folder loads by `load_dataset(OUT,
    "labels_only")`.
    """
    from edos_dataset.cli import console as show
    from edos_dataset.commands.hydrate import publish_labels

    manifest = publish_labels(run, out, config, recipe)
    if as_json:
        typer.echo(json.dumps(manifest, indent=1, ensure_ascii=False))
        return
    dialogues, turns = (sum(manifest[unit].values()) for unit in ("dialogues", "turns"))
    terminal = show.terminal()
    terminal.print(f"labels of {turns:,} turns in {dialogues:,} dialogues, and no text", highlight=False)
    terminal.print(
        f'from datasets import load_dataset; ds = load_dataset("{out.as_posix()}", "labels_only")',
        style="green",
        soft_wrap=True,
        markup=False,
    )


def hydrate(
    labels: Annotated[
        Path, typer.Argument(help="A folder that `edos labels-only` wrote, or a copy of it.", show_default=False)
    ],
    sources: Annotated[
        list[Path],
        typer.Argument(
            help=(
                "Your files, folders and zip archives of the same subtitles; files other than OPUS need the folder "
                "names of the run."
            ),
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(help="Folder to write; one of an earlier hydration is brought up to date.", show_default=False),
    ],
    workers: Annotated[int | None, typer.Option(min=1, help="Processes.", show_default="one a core")] = None,
    max_missing: Annotated[
        float, typer.Option(min=0, max=1, help="Share of missing dialogues above which the exit code is 3.")
    ] = 0.01,
    as_json: AsJson = False,
) -> None:
    """Rebuild the text of published labels from your own copy of the subtitles, and compare every turn with its hash.

    What is missing is counted by its reason and listed in `missing.jsonl`. Exit codes: 0 done, 1 failed (the message
    says why), 2 wrong usage, 3 done, but too much is missing, 130 stopped.
    """
    from edos_dataset.cli import console as show
    from edos_dataset.commands.hydrate import MISSING, missing_share
    from edos_dataset.commands.hydrate import hydrate as rebuild
    from edos_dataset.runs.engines.base import available_cores

    with show.progress_bars(Console(stderr=True)) as progress:
        manifest = rebuild(labels, sources, out, workers=workers or available_cores(), progress=progress)
    if manifest is None:
        return
    if as_json:
        typer.echo(json.dumps(manifest, indent=1, ensure_ascii=False))
    else:
        terminal = show.terminal()
        terminal.print(show.stage_table(manifest))
        terminal.print(show.config_table(manifest))
        if manifest["quarantined"]:
            terminal.print("could not be read:", *show.quarantine_lines(manifest), sep="\n", soft_wrap=True)
        for line in _missing_lines(manifest, out / MISSING):
            terminal.print(line, soft_wrap=True, highlight=False)
        terminal.print(show.load_line(out, manifest), soft_wrap=True)
    if (share := missing_share(manifest)) > max_missing:
        Console(stderr=True).print(
            f"[bold red]{share:.1%} of the dialogues are missing[/bold red] (more than {max_missing:.1%}, "
            "--max-missing)"
        )
        raise typer.Exit(TOO_MANY_MISSING)


def _missing_lines(manifest: dict[str, Any], listed: Path) -> list[str]:
    missing, identical = manifest["missing"], list(manifest["identical"].values())
    found = f"{missing['found']:,} of {missing['dialogues']:,} dialogues found, every turn with its hash"
    if missing["reasons"]:
        return [
            found,
            "missing: "
            + ", ".join(f"{reason} {count:,}" for reason, count in missing["reasons"].items())
            + f"; listed in {listed}",
        ]
    others = (
        "" if all(identical) else "; in the others only the rows are, as another version of pyarrow writes other bytes"
    )
    return [
        found,
        f"{sum(identical)} of {len(identical)} files are byte for byte those of the run that the labels are "
        f"from{others}",
    ]
