"""The README of a seed: rendered from what was counted, never typed."""

from collections.abc import Mapping
from typing import Any

from edos_dataset.labels import LABELS
from edos_dataset.publishing.cards.headers import front_matter, loading
from edos_dataset.publishing.cards.markdown import plain, table
from edos_dataset.publishing.cards.paper_figures import CROWD_TASK
from edos_dataset.publishing.cards.texts import closing
from edos_dataset.schema import AMT_SEED, SPLITS, features

_FLAWS = """\
- **The label is of the last turn**, by few people: where they disagree it is absent, and where they agree they may be \
wrong. `answers` has all that was said.
- **A worker may be a column.** In the EDOS authors' file the workers are anonymous; "1", "2" and "3" are columns, not \
persons.
- **Models of this package were trained on a split of their own.** To measure one of them on this test split, train it \
on this training split.
- **Licence.** This folder carries none of its own. The EDOS authors publish their crowd labels under CC BY 4.0; the \
dialogues are subtitles, under their
  studios' copyright: don't publish the text unless you may."""


def seed_card(counts: Mapping[str, Any]) -> str:
    """Return the README of a seed's folder.

    Args:
        counts: as of `crowd.seed.make_seed`.
    """
    sections = [
        front_matter(
            AMT_SEED,
            features(AMT_SEED),
            "EDOS crowd seed",
            ["crowdsourcing"],
            rows=sum(counts["splits"].values()),
            annotators="crowdsourced",
        ),
        "# Dialogues labelled by people\n\n" + _summary(counts),
        "## Know its flaws first\n\n" + _FLAWS,
        loading(AMT_SEED),
        "## How it was made\n\n" + _making(counts),
        "## How far people agreed\n\n" + _crowd_task(counts) + "\n\n" + _agreement(counts["agreement"]),
        "## Labels\n\n" + _labels(counts["by_label"]),
        closing(opus=True),
    ]
    return "\n\n".join(sections) + "\n"


def _summary(counts: Mapping[str, Any]) -> str:
    dialogues = f"{sum(counts['splits'].values()):,} dialogues, of which people have labelled the last turn"
    return f"{dialogues} with one of {len(LABELS)} emotions and response intents; all that they answered is in it."


def _making(counts: Mapping[str, Any]) -> str:
    rules = counts["rules"]
    splits = ", ".join(f"{split} {count:,}" for split, count in counts["splits"].items())
    return (
        f"{counts['answers']:,} answers to {counts['tasks']:,} tasks, {counts['texts']:,} after tasks of equal words "
        "were "
        f"{'made one' if rules['repeats'] == 'pool' else 'left to themselves'}. Label by "
        f"{plain(rules['method'])}, ties: {plain(rules['ties'])}, at least "
        f"{rules['least_votes']} votes: {counts['labelled']:,} have a label, {counts['unlabelled']:,} have none.\n\n"
        f"Splits: {splits}. Dialogues of one source dialogue, with equal last turns, or with last turns of a cosine of "
        f"at least {rules['near']} by "
        f"{plain(rules['model'])} are in one split: {counts['groups']:,} groups, the largest of "
        f"{counts['largest_group']:,}."
    )


def _crowd_task(counts: Mapping[str, Any]) -> str:
    """Return what came of the task in the rows of the EDOS paper's Table 4; those on quizzes and typed labels are not
    known from answers alone.
    """
    kappa = (counts["agreement"] or {}).get("fleiss_kappa", "not known")
    ours = (
        f"{counts['tasks']:,}",
        f"{counts['labelled']:,} of {counts['texts']:,} ({counts['labelled'] / counts['texts']:.2%})",
        kappa,
        "not known",
        "not counted",
    )
    rows = [[name, mine, paper] for (name, paper), mine in zip(CROWD_TASK.items(), ours, strict=True)]
    return table(["description", "here", "EDOS paper, Table 4"], rows)


def _agreement(agreement: Mapping[str, Any] | None) -> str:
    if agreement is None:
        return "No task has two answers."
    lines = ["| measure | value | 95 % interval |", "|---|---|---|"]
    for name in (name for name in agreement if not name.endswith("_interval")):
        low, high = agreement[f"{name}_interval"]
        lines.append(f"| {name.replace('_', ' ')} | {agreement[name]} | {low} to {high} |")
    return "\n".join(lines)


def _labels(by_label: Mapping[str, Mapping[str, int]]) -> str:
    lines = [f"| label | {' | '.join(SPLITS)} |", "|---|" + "---|" * len(SPLITS)]
    return "\n".join(
        lines
        + [f"| {label} | {' | '.join(f'{row[split]:,}' for split in SPLITS)} |" for label, row in by_label.items()]
    )
