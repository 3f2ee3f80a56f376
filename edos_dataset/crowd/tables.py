"""What `edos crowd` prints for a person."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.markup import escape
from rich.table import Table

from edos_dataset.crowd.agreement import MEASURES
from edos_dataset.labels import LABELS


def agreement_tables(report: Mapping[str, Any], most: int = 15) -> Iterator[Table | str]:
    """Yield the report of `agreement.measure`: the measures, the labels, and the answers outside the 41, `most` of
    them.
    """
    yield f"{report['rows']:,} tasks, {report['answers']:,} answers, {report['agreed']:,} tasks agreed on"
    table = Table("measure", "value", "95 % interval")
    for name in MEASURES:
        table.add_row(name.replace("_", " "), _figure(report[name]), _range(report[f"{name}_interval"]))
    yield table
    labels = Table("label", *(name for name in ("answers", "agreed", "seconded", "95 %", "kappa", "95 %")))
    for name, row in sorted(report["per_label"].items(), key=lambda item: -(item[1]["fleiss_kappa"] or 0)):
        figures = (
            _figure(row["agreement"]),
            _range(row["agreement_interval"]),
            _figure(row["fleiss_kappa"]),
            _range(row["fleiss_kappa_interval"]),
        )
        labels.add_row(name, f"{row['answers']:,}", f"{row['agreed']:,}", *figures)
    yield labels
    outside = [f"{escape(text)} {count}" for text, count in report["outside"].items()]
    if outside:
        more = f", and {len(outside) - most} more" if len(outside) > most else ""
        yield (
            f"{sum(report['outside'].values())} answers are none of the {len(LABELS)} labels: "
            f"{', '.join(outside[:most])}{more}"
        )
    if report["mapped"]:
        yield "taken for a label: " + ", ".join(
            f"{escape(text)} → {row['label']} ({row['by']}) {row['answers']}" for text, row in report["mapped"].items()
        )
    repeated = report["repeated_texts"]
    yield (
        f"{repeated['texts']:,} texts come in {repeated['tasks']:,} tasks; {repeated['conflicting']:,} of them with "
        "conflicting labels"
    )
    if "stated" in report:
        stated = report["stated"]
        yield (
            f"the file calls {stated['agreed']:,} rows agreed; {stated['other_than_majority_as_given']:,} rows differ "
            "from the majority of the answers as they "
            f"stand, {stated['other_than_majority_normalised']:,} from that of the normalised answers"
        )
    if report["left_out"]:
        yield "left out: " + ", ".join(f"{reason} {count:,}" for reason, count in report["left_out"].items())


def selection_table(counts: Mapping[str, int], per_label: int) -> Table:
    """Return how many dialogues were found for each label, and which labels fall short."""
    table = Table(
        "label",
        "dialogues",
        "",
        title=f"{sum(counts.values()):,} dialogues, {per_label:,} a label wanted",
        title_justify="left",
    )
    for name in LABELS:
        short = per_label - counts.get(name, 0)
        table.add_row(name, f"{counts.get(name, 0):,}", f"[yellow]{short:,} short[/yellow]" if short else "")
    return table


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _range(values: list[float | None]) -> str:
    low, high = values
    return "" if low is None or high is None else f"{low:.3f} to {high:.3f}"
