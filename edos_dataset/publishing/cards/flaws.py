"""What is known to be wrong with the dialogues and labels of a run, in figures."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from edos_dataset.publishing.cards.markdown import code, plain, table
from edos_dataset.publishing.cards.tables import held_out_metrics
from edos_dataset.publishing.layout import ConfigFiles

_WORST = 5
"""Number of labels named as a model's worst."""

Records = Mapping[str, Mapping[str, Any]]


def flaws_table(configs: Sequence[ConfigFiles], labelled: ConfigFiles | None, models: Records, scorers: Records) -> str:
    """Return how often something is wrong, as far as it is known; "" if nothing is.

    Args:
        configs: Configs of the run, in the order in which the card names them.
        labelled: The one whose labels the card describes, or None.
        models: Name of each labelling model → record of its training.
        scorers: Name of each turn scorer → record of its training.
    """
    rows = [*_of_labels(labelled), *_of_models(models), *_of_scorers(scorers), *_of_dialogues(configs)]
    return table(["what is wrong", "how often", "among"], rows) if rows else ""


def _of_labels(labelled: ConfigFiles | None) -> Iterator[list[str]]:
    if labelled is None:
        return
    below, total = sum(labelled.confidence[:5]), sum(labelled.confidence)
    if below:
        among = f"{total:,} labels of `{labelled.config}`"
        yield ["labels of which the model is less than half sure (`confidence` below 0.5)", _share(below, total), among]
    if labelled.unlabelled:
        total += labelled.unlabelled
        yield ["turns without a label", _share(labelled.unlabelled, total), f"{total:,} turns of `{labelled.config}`"]


def _of_models(models: Records) -> Iterator[list[str]]:
    for name, record in models.items():
        if not (metrics := held_out_metrics(record)):
            continue
        by_label = metrics.get("by_label", {})
        worst = sorted((row["f1"] or 0.0, label) for label, row in by_label.items() if row.get("support"))[:_WORST]
        named = ", ".join(f"{plain(label)} {f1:.0%}" for f1, label in worst)
        among = f"{metrics['examples']:,} held-out examples" + (f"; lowest F1: {named}" if named else "")
        yield [f"wrong labels of {code(name)}, if only the first counts", f"{1 - metrics['accuracy']:.1%}", among]


def _of_scorers(scorers: Records) -> Iterator[list[str]]:
    """Yield the errors of the turn scorers, on the first split of which their records state them."""
    for name, record in scorers.items():
        splits = [(split, of["all"]) for split, of in record.get("metrics", {}).items() if "all" in of]
        for split, row in splits[:1]:
            among = f"{row['seams']:,} boundaries between sentences ({plain(split.replace('_', ' '))})"
            yield [f"wrong boundaries of turns by {code(name)}", f"{1 - row['accuracy']:.1%}", among]


def _of_dialogues(configs: Sequence[ConfigFiles]) -> Iterator[list[str]]:
    judged = next((written for written in configs if any(written.certainty)), None)
    if judged is not None and (mean := judged.sure(0)[1]) is not None:
        among = (
            f"{judged.total_rows - judged.unjudged:,} dialogues of `{judged.config}`, according to their `certainty`"
        )
        yield ["dialogues with an error in a turn or at an end", f"{1 - mean:.1%}", among]
    largest = max(configs, key=lambda written: written.total_turns, default=None)
    if largest is not None and largest.untimed:
        among = f"{largest.total_turns:,} turns of `{largest.config}`"
        share = _share(largest.untimed, largest.total_turns)
        yield ["turns whose time, and so the pause around them, is unknown", share, among]


def _share(number: int, of: int) -> str:
    return f"{number / of:.1%}" if number * 1_000 >= of else f"{number:,} times"
