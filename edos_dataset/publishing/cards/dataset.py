"""The README of a folder of a pipeline: rendered from what was written and counted, never typed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edos_dataset.labels import LABELS
from edos_dataset.publishing.cards import tables
from edos_dataset.publishing.cards.certainty import certainty_section
from edos_dataset.publishing.cards.headers import pipeline_header
from edos_dataset.publishing.cards.markdown import code, fenced, plain
from edos_dataset.publishing.cards.paper_figures import BY_LABEL, EDOS_PAPER
from edos_dataset.publishing.cards.pictures import LABEL_PICTURE, label_order
from edos_dataset.publishing.cards.texts import closing
from edos_dataset.publishing.front_matter import join_card
from edos_dataset.publishing.layout import ConfigFiles
from edos_dataset.schema import CONFIGS, REGISTRY
from edos_dataset.version import __version__

Records = Mapping[str, Mapping[str, Any]]

_FLAWS = """\
- **Nobody marked the speakers.** Turns are inferred from dashes, names, blocks and pauses; a turn may hold two \
speakers, or a speaker two turns.
- **Nobody marked the scenes.** Where dialogues are cut is inferred from pauses and words; one may hold the end of a \
scene and the beginning of the next. {untimed}
- **It is scripted talk**, with its quarrels, crimes and stereotypes; nothing offensive was filtered out. See the \
considerations below.
- **Licence.** The text of subtitles is under its owners' copyright, and redistributing it is disputed. This folder \
was made from files on the disk of who
  made it and carries no licence of its own: don't publish the text unless you may. So the card quotes no dialogue \
either."""


@dataclass(frozen=True)
class Origin:
    """How a folder was made, as far as that is the same on every machine.

    Attributes:
        command: what makes it again, a line of shell.
        fingerprint: of the stages' code and parameters.
        versions: package → version.
        recipe: name of the file beside the card that has the pipeline as YAML, or "" where there is none.
        inputs: what was read, "films" and "files" → number.
    """

    command: str
    fingerprint: str
    versions: Mapping[str, str]
    recipe: str = ""
    inputs: Mapping[str, int] | None = None


def dataset_card(
    configs: Sequence[ConfigFiles],
    language: str,
    models: Records,
    stages: Sequence[Mapping[str, Any]],
    segmenters: Records | None = None,
    origin: Origin | None = None,
    picture: bool = False,
) -> str:
    """Return the README of a folder of a pipeline.

    Splits without dialogues, and configs without any, are in its tables but not in its YAML, as `datasets` refuses to
    load them.

    Args:
        configs: what was written.
        language: language code of the dialogues.
        models: name of each labelling model to the record of its making (`labeling.heads.LinearHead.record`).
        stages: the counts of the run, as in its manifest.
        segmenters: name of each learned scorer of turns to the record of its making
            (`segmentation.turns.TurnScorer.record`).
        origin: how the folder was made.
        picture: the picture of the labels of the first labelled config (`labelled_config`) lies beside the card.
    """
    order = sorted(configs, key=lambda written: CONFIGS.index(written.config))
    loadable = [written for written in order if written.total_rows]
    labelled = labelled_config(configs)
    segmenters = segmenters or {}
    sections = {
        "Know its flaws first": _flaws(order, models, segmenters, labelled),
        "Load": _load_lines(loadable),
        "What is in it": _contents(order),
        "How sure the dialogues are": certainty_section(order),
        "Labels": labels_section(labelled, picture) if labelled else "",
        "Where it comes from": _origin(order, origin),
        "The labelling models": f"{tables.model_table(models)}\n\n{tables.making_list(models)}" if models else "",
        "How the turns were found": f"{tables.segmenter_table(segmenters)}\n\n{tables.making_list(segmenters)}"
        if segmenters
        else "",
        "From file to dialogue": tables.stage_table(stages),
    }
    body = "".join(f"\n\n## {heading}\n\n{text}" for heading, text in sections.items() if text)
    last = closing(any("opus" in written.kinds for written in configs))
    text = f"\n# EDOS: emotion-labelled dialogues from subtitles\n\n{_summary(order, labelled)}{body}\n\n{last}\n"
    return join_card(pipeline_header(loadable, language), text)


def labelled_config(configs: Sequence[ConfigFiles]) -> ConfigFiles | None:
    """Return the first config, in the order of CONFIGS, that has labelled turns."""
    labelled = {written.config: written for written in configs if written.labels}
    return next((labelled[config] for config in CONFIGS if config in labelled), None)


def _summary(configs: Sequence[ConfigFiles], labelled: ConfigFiles | None) -> str:
    largest = max(
        reversed(configs), key=lambda written: written.total_rows, default=None
    )  # of equal ones the last: the labelled are part of `os`
    if largest is None:
        return "No dialogues."
    sizes = (
        f"{largest.total_rows:,} dialogues with {largest.total_turns:,} turns from {largest.documents:,} subtitle "
        f"files (config `{largest.config}`)"
    )
    kinds = f"one of {len(LABELS)} emotions and response intents"
    labels = (
        f"; in {labelled.total_rows:,} of them (`{labelled.config}`) every turn is labelled with {kinds}"
        if labelled
        else ", without labels"
    )
    return f"{sizes}{labels}. Made after {EDOS_PAPER} by edos-dataset {__version__}."


def _flaws(configs: Sequence[ConfigFiles], models: Records, segmenters: Records, labelled: ConfigFiles | None) -> str:
    """Return the flaws that every such folder has, after those that were measured."""
    lines = []
    if labelled:
        lines.append(
            "- **The labels are a machine's.** Each turn names the model in `label_source`. Use `confidence` and "
            "`top`, not the label alone."
        )
        unsure = sum(labelled.confidence[:5]) / max(sum(labelled.confidence), 1)
        lines.append(
            f"- **The model is less than half sure of {unsure:.0%} of its labels** (`confidence` below 0.5, in "
            f"`{labelled.config}`)."
        )
    for name, metrics in ((name, tables.held_out_metrics(record)) for name, record in models.items()):
        if metrics:
            missed = (
                f"wrong on {1 - metrics['accuracy']:.1%} of {metrics['examples']:,} held-out examples when it may "
                "name one label"
            )
            worst = sorted(
                (row["f1"] or 0.0, label) for label, row in metrics.get("by_label", {}).items() if row.get("support")
            )[:5]
            named = (
                f", and worst with {', '.join(f'{plain(label)} (F1 {f1:.0%})' for f1, label in worst)}" if worst else ""
            )
            lines.append(f"- **{code(name)} is {missed}**{named}.")
    for name, record in segmenters.items():
        overall = [(split, sources["all"]) for split, sources in record.get("metrics", {}).items() if "all" in sources]
        for split, row in overall[:1]:
            share = f"{1 - row['accuracy']:.1%} of {row['seams']:,} seams"
            lines.append(
                f"- **{code(name)}, which finds the turns, is wrong at {share}** between sentences "
                f"({plain(split.replace('_', ' '))})."
            )
    untimed, turns = max(
        ((written.untimed, written.total_turns) for written in configs), key=lambda counts: counts[1], default=(0, 0)
    )
    return "\n".join(
        [
            *lines,
            _FLAWS.format(
                untimed=(
                    f"Of {untimed / max(turns, 1):.1%} of the turns no time is known, so no pause before or after "
                    "them either."
                )
            ),
        ]
    )


def _load_lines(configs: Sequence[ConfigFiles]) -> str:
    lines = "\n".join(
        f'load_dataset("edos", "{written.config}")  # {REGISTRY[written.config].description}' for written in configs
    )
    return (
        f"```python\nfrom datasets import load_dataset\n\n{lines}\n```\n\nwhere `edos` is this folder, or its name on "
        "the Hub. `streaming=True` works. "
        "The splits part the films, not the dialogues: every film is in one split, and stays there when films are "
        "added. A split that no film falls into "
        "is left out."
    )


def _contents(configs: Sequence[ConfigFiles]) -> str:
    statistics = "\n\n".join(map(tables.statistics_table, configs))
    return (
        f"{tables.columns_table(any(written.labels for written in configs))}\n\nSizes, in the form of the papers' "
        "tables, and beside them the papers' own. "
        "Tokens are words and punctuation marks; the papers don't say how they count them. EDOS and OSED are one data "
        "set of one million dialogues, of which "
        f"the papers state turns and tokens differently.\n\n{statistics}\n\nAmong data sets with emotion labels (EDOS "
        "paper, Table 2):\n\n"
        f"{tables.comparison_table(configs)}"
    )


def labels_section(written: ConfigFiles, picture: bool) -> str:
    """Return which labels the turns of a config have; `picture`: that of them lies beside the card."""
    total, papers_total = max(sum(written.labels.values()), 1), sum(turns for _, turns in BY_LABEL)
    first = label_order(written.labels)[:5]
    ours = ", ".join(
        f"{LABELS[label]} {written.labels.get(label, 0) / total:.1%} ({BY_LABEL[label][1] / papers_total:.1%})"
        for label in first
    )
    alt = (
        f"Bars: the share of each of {len(LABELS)} labels among the turns of {written.config}, dots: in the EDOS "
        f"paper. The most frequent ones: {ours}."
    )
    sources = ", ".join(f"{count:,} by {code(name)}" for name, count in sorted(written.label_sources.items()))
    image = f"![{alt}]({LABEL_PICTURE})\n\n" if picture else ""
    return (
        f"{image}Dialogues and turns per label in `{written.config}`, in the form of the EDOS paper's Table 9: a "
        "dialogue is counted under the label of its "
        f"first turn.\n\n{tables.label_table(written)}\n\nTurns labelled: {sources}. How sure the model "
        f"is:\n\n{tables.confidence_table(written)}"
    )


def _origin(configs: Sequence[ConfigFiles], origin: Origin | None) -> str:
    largest = max(configs, key=lambda written: written.total_rows, default=None)
    parts = [f"The dialogues of `{largest.config}`:\n\n{tables.sources_table(largest)}"] if largest else []
    if origin:
        read = ", ".join(f"{count:,} {unit}" for unit, count in (origin.inputs or {}).items())
        named = ", ".join(plain(f"{package} {version}") for package, version in origin.versions.items())
        recipe = f" {code(origin.recipe)} is beside this card." if origin.recipe else ""
        parts.append(f"To make it again, with names of your own for what is in capitals:\n\n{fenced(origin.command)}")
        parts.append(
            f"Read: {read}. " * bool(read)
            + f"Fingerprint of the pipeline: {code(origin.fingerprint)}.{recipe} Made by {named}."
        )
    return "\n\n".join(parts)
