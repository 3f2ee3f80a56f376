"""`edos inspect`."""

import re
from collections.abc import Iterator, Mapping
from random import Random
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from edos_dataset.cli.console import emit, load_call, status
from edos_dataset.cli.errors import explained
from edos_dataset.cli.options import AsJson

if TYPE_CHECKING:
    from rich.console import RenderableType

    from edos_dataset.publishing.inspection import Wanted


@explained()
def inspect(
    source: Annotated[
        str,
        typer.Argument(
            help="A folder that `edos` wrote, whatever command it was, or a data set of the Hub, `NAMESPACE/NAME`.",
            show_default=False,
        ),
    ],
    dialogues: Annotated[int, typer.Option(min=0, help="Random dialogues to show.")] = 3,
    config: Annotated[
        str | None, typer.Option(help="Config to take them from.", show_default="the default one")
    ] = None,
    label: Annotated[
        list[str] | None, typer.Option(help="Show dialogues with this label on a turn. May be repeated: one of them.")
    ] = None,
    min_confidence: Annotated[
        float | None, typer.Option(min=0, max=1, help="Show dialogues with a label at least as sure, 0 to 1.")
    ] = None,
    max_confidence: Annotated[
        float | None, typer.Option(min=0, max=1, help="Show dialogues with a label at most as sure, 0 to 1.")
    ] = None,
    min_certainty: Annotated[
        float | None, typer.Option(min=0, max=1, help="Show dialogues at least as surely without an error, 0 to 1.")
    ] = None,
    max_certainty: Annotated[
        float | None, typer.Option(min=0, max=1, help="Show dialogues at most as surely without an error, 0 to 1.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of the choice, to see the same ones again.", show_default="none")
    ] = None,
    revision: Annotated[
        str | None, typer.Option(help="Tag, branch or commit of the Hub's data set.", show_default="main")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a data set: of a run its stages, what each kept and why it rejected the rest; its configs; and a few random
    dialogues with their labels, and how surely each is without an error.

    --label, --min-confidence and --max-confidence together ask for one turn that is all of it, --min-certainty and
    --max-certainty for the dialogue itself. `edos rejects` shows what a run dropped.
    """
    from edos_dataset.cli.tables import dialogue_lines, run_report
    from edos_dataset.labels import parse_label
    from edos_dataset.publishing.inspection import Wanted, folder_facts, random_dialogues
    from edos_dataset.runs.stores.paths import place_of

    labels = tuple(map(parse_label, label or []))
    wanted = Wanted(labels, min_confidence, max_confidence, min_certainty, max_certainty)
    folder, random = place_of(source), Random(seed)
    if not folder.exists() and re.fullmatch(r"[\w.-]+/[\w.-]+", source, re.ASCII):
        facts, drawn = _of_the_hub(source, config, revision, dialogues, random, wanted)
        report = [_sizes(facts), load_call(source, facts["config"])]
    elif revision is not None:
        raise ValueError(f"--revision is for a data set of the Hub, and {source} is none: leave it out")
    else:
        facts = folder_facts(folder)
        drawn = random_dialogues(folder, facts, dialogues, config, random, wanted)
        # A folder without stages: of `edos crowd seed`, `extend` or `labels-only`, say.
        report = list(run_report(folder, facts)) if facts.get("stages") else [_sizes(facts)]
    if not drawn and dialogues and not wanted.all:
        report.append("[yellow]no dialogue is what --label, the confidences and the certainties ask for[/yellow]")
    emit({**facts, "dialogues": drawn}, as_json, [*report, *dialogue_lines(drawn)])


def _of_the_hub(
    name: str, config: str | None, revision: str | None, number: int, random: Random, wanted: "Wanted"
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return what a data set of the Hub has, and dialogues of it.

    Raises:
        ValueError: the Hub does not give it, or its rows are no dialogues.
    """
    from datasets import get_dataset_config_names, get_dataset_default_config_name

    from edos_dataset.publishing.inspection import draw
    from edos_dataset.releases.load import load

    with status(f"loading {name}"):
        try:
            names = get_dataset_config_names(name, revision=revision)
            chosen = config or get_dataset_default_config_name(name, revision=revision) or names[0]
            parts = load(name, chosen, revision=revision)
        except Exception as error:  # of the Hub, the network, and files of others
            raise ValueError(
                f"{name} is neither a folder here nor a data set that the Hub gave ({error}); mind --config and "
                "--revision"
            ) from error
    columns = next(iter(parts.values())).features
    if "turns" not in columns or "dialogue_id" not in columns:
        raise ValueError(f"{name}, config {chosen}, holds no dialogues of ours: its columns are {', '.join(columns)}")

    def tables() -> "Iterator[Any]":
        for part in parts.values():
            yield from part.with_format("arrow").iter(1_000)

    splits = {split: len(part) for split, part in parts.items()}
    facts = {"source": name, "revision": revision, "config": chosen, "names": names}
    facts["configs"] = {chosen: {"splits": splits}}
    return facts, draw(tables, number, random, wanted, sum(splits.values()))


def _sizes(facts: Mapping[str, Any]) -> "RenderableType":
    """Return the table of configs, where nothing but their sizes is known."""
    from rich.table import Table

    table = Table("config", "dialogues", "splits")
    for config, row in facts["configs"].items():
        splits = ", ".join(f"{split} {count:,}" for split, count in row["splits"].items())
        table.add_row(escape(config), f"{sum(row['splits'].values()):,}", escape(splits))
    for config in facts.get("names", ()):
        if config not in facts["configs"]:
            table.add_row(escape(config), "", "name it with --config")
    return table
