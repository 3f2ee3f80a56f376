"""`edos labels`: list the label sets, show one, and show how it translates into another."""

from typing import Annotated

import typer
import yaml

from edos_dataset.cli.console import emit, explained
from edos_dataset.cli.data_table import Table
from edos_dataset.cli.flags import Group
from edos_dataset.cli.options import AsJson

labels = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    help="Show label sets, and how the labels of one translate into another.",
)

Given = Annotated[str, typer.Argument(help="Name of a label set, or a YAML file.", show_default=False)]


@labels.command("list")
@explained()
def list_(as_json: AsJson = False) -> None:
    """List the built-in label sets."""
    from edos_dataset.commands.labels import labels_list

    found = labels_list()
    table = Table("name", "labels", "what", "translates into")
    for row in found["label_sets"]:
        name = row["name"] + ", the default" * row["default"]
        table.add_row(name, str(row["labels"]), row["description"], ", ".join(row["maps"]))
    emit(dict(found), as_json, [table, "your own: a YAML file like the output of `edos labels show NAME --yaml`"])


@labels.command()
@explained()
def show(
    label_set: Given,
    as_yaml: Annotated[bool, typer.Option("--yaml", help="Print the set as a YAML file, for editing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the labels of a set: id, kind, group and meaning. A file is also checked."""
    from edos_dataset.commands.labels import labels_show

    if as_yaml and as_json:
        raise typer.BadParameter("--yaml and --json exclude each other: give only one of them")
    found = labels_show(label_set)
    if as_yaml:
        typer.echo(yaml.safe_dump(found["content"], sort_keys=False, allow_unicode=True, width=110), nl=False)
        return
    table = Table("id", "label", "kind", "group", "meaning", title=found["description"] or None)
    for row in found["labels"]:
        words = (row["label"], row["kind"], row["group"] or "", row["definition"] or "")
        table.add_row(str(row["id"]), *words)
    emit(dict(found), as_json, [table])


@labels.command("map")
@explained()
def map_(
    source: Given,
    target: Annotated[
        str, typer.Argument(help="Name or file of another set, or a file of `label: target` lines.", show_default=False)
    ],
    as_json: AsJson = False,
) -> None:
    """Show how each label of a set translates into another set. A file is also checked."""
    from edos_dataset.commands.labels import labels_map

    found = labels_map(source, target)
    table = Table(found["from"], found["to"])
    for label, shares in found["labels"].items():
        alone = len(shares) == 1
        parts = [name if alone else f"{name} {share:.0%}" for name, share in shares.items()]
        table.add_row(label, ", ".join(parts) or "(none: the rest is scaled to sum to 1)")
    emit(dict(found), as_json, [table])
