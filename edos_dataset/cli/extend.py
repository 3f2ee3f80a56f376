"""`edos extend` and `edos audit`: parses the command line, calls the package, prints."""

import json
import re
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


def extend(
    seed: Annotated[Path, typer.Argument(help="A folder that `edos crowd seed` wrote.", show_default=False)],
    pool: Annotated[
        list[Path],
        typer.Argument(
            help="Folders of `edos curate`, and files of JSON lines `{dialogue_id, turns}`.", show_default=False
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(help="Folder to write; one of an earlier extension is brought up to date.", show_default=False),
    ],
    recipe: Annotated[
        str | None,
        typer.Option(
            help="`papers`, `minilm`, or YAML with a list of steps.", show_default="what goes with the encoder"
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change a parameter of a step: `1.threshold=0.85`. May be repeated."),
    ] = None,
    learner: Annotated[
        str,
        typer.Option(
            help=(
                "What self-labelling trains: `linear`, `fasttext`, or a command that takes --labelled FOLDER --out "
                "MODEL."
            )
        ),
    ] = "linear",
    encoder: Annotated[
        str, typer.Option(help="SentenceTransformer by which dialogues are near: a name, folder or Hub id.")
    ] = "all-MiniLM-L6-v2",
    device: Annotated[str | None, typer.Option(help="`cpu`, `cuda`, ...", show_default="cuda if there is one")] = None,
    history: Annotated[int, typer.Option(min=0, help="Earlier turns that go with a turn, at most.")] = 4,
    every_turn: Annotated[
        bool,
        typer.Option(
            "--every-turn/--last-turns", help="Label every turn of the pool, or the last one of each dialogue."
        ),
    ] = True,
    config: Annotated[
        str | None, typer.Option(help="Config of the pool's folders.", show_default="the default one")
    ] = None,
    memory: Annotated[str, typer.Option(help="Memory of a search: 500MB, 2GB.")] = "2GB",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Make many labels of few: spread those of a seed to near dialogues, let a classifier label what it is sure of,
    spread these.

    Only the training part grows; nothing near a dialogue of the validation or test part gets a label. The folder loads
    by `load_dataset(OUT, "extended")`; `audit.html` shows random and doubtful examples of every label of every step.
    """
    from rich.console import Console

    from edos_dataset.augmentation.steps import override_steps, steps_of
    from edos_dataset.cli import console as show
    from edos_dataset.commands.extend import extend as extending
    from edos_dataset.labeling.models.encoder import Encoder
    from edos_dataset.labeling.models.labelers import default_device

    steps = override_steps(steps_of(recipe, encoder), settings or [])
    options: dict[str, Any] = {
        "learner": learner,
        "history": history,
        "every_turn": every_turn,
        "config": config,
        "memory": parse_size(memory),
    }
    chosen = Encoder(encoder, device or default_device())
    with Console(stderr=True).status("starting") as status:
        say = status.update if sys.stderr.isatty() else lambda text: typer.echo(text, err=True)
        counts = extending(seed, pool, out, steps, encoder=chosen, say=say, **options)
    if as_json:
        typer.echo(json.dumps(counts, indent=1, ensure_ascii=False))
        return
    terminal = show.terminal()
    terminal.print(show.extension_table(counts))
    terminal.print(
        f'from datasets import load_dataset; ds = load_dataset("{out.as_posix()}", "extended")',
        style="green",
        soft_wrap=True,
        markup=False,
    )
    terminal.print(f"read some with your own eyes: {out / 'audit.html'}", soft_wrap=True, highlight=False)


def audit(
    source: Annotated[
        Path,
        typer.Argument(help="A folder of `edos extend`, or the judgements that its page gave.", show_default=False),
    ],
    per_label: Annotated[
        int, typer.Option(min=1, help="Random, and as many doubtful, examples of each label and step.")
    ] = 5,
    random_seed: Annotated[int, typer.Option("--seed", help="Seed of the drawing.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Write the page of labels to read anew, or tell the error rates that reading it showed, with 95 % intervals."""
    from edos_dataset.augmentation.audit import judged, write_audit
    from edos_dataset.cli import console as show

    if source.is_dir():
        write_audit(source, source / "audit.html", per_label, random_seed)
        typer.echo(
            f"{source / 'audit.html'}: judge the random examples, download the judgements, and give that file to `edos "
            "audit`"
        )
    elif as_json:
        typer.echo(json.dumps(judged(source), indent=1))
    else:
        show.terminal().print(show.judgement_table(judged(source)))


def parse_size(text: str) -> int:
    """Return a size such as "2GB", "500 MB" or "1073741824" in bytes; units are powers of 1,024.

    Raises:
        ValueError: it is none.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?\s*", text, re.IGNORECASE)
    if match is None:
        raise ValueError(f"{text!r} is no size: give a number of bytes, or 500MB, 2GB")
    return int(float(match[1]) * (1 << _UNITS[match[2].upper()]))
