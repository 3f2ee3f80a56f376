"""The README of a published folder: rendered from what was written and counted, never typed."""

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from edos_dataset.labels import LABELS
from edos_dataset.publishing.layout import ConfigFiles
from edos_dataset.schema import CONFIGS, SPLITS, features

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"), (10_000_000, "1M<n<10M"))

_USE = {
    "os": "all cleaned dialogues, without labels",
    "edos_initial": "the dialogues chosen by their weak labels, with these labels (one turn at a time)",
    "edos": "the same dialogues, every turn labelled with its history",
}

_FLAWS = """\
- **The labels are a machine's.** Each turn names the model in `label_source`; its measured accuracy is below. Use `confidence` and `top`, not the label alone.
- **Nobody marked the speakers.** Turns are inferred from dashes, names, blocks and pauses; a turn may hold two speakers, or a speaker two turns.
- **Dialogues are cut at pauses**, not at scenes.
- **Licence.** The text of subtitles is under its owners' copyright, and redistributing it is disputed. This folder was made from files on the disk of who
  made it and carries no licence of its own: don't publish the text unless you may."""


def dataset_card(
    configs: Sequence[ConfigFiles],
    language: str,
    models: Mapping[str, Mapping[str, Any]],
    stages: Sequence[Mapping[str, Any]],
    segmenters: Mapping[str, Mapping[str, Any]] | None = None,
) -> str:
    """Return the README of a published folder.

    Splits without dialogues, and configs without any, are in its tables but not in its YAML, as `datasets` refuses to load them.

    Args:
        configs: what was written.
        language: language code of the dialogues.
        models: name of each labelling model to the record of its making (`labeling.heads.LinearHead.record`).
        stages: the counts of the run, as in its manifest.
        segmenters: name of each learned scorer of turns to the record of its making (`segmentation.turns.TurnScorer.record`).
    """
    order = sorted(configs, key=lambda written: CONFIGS.index(written.config))
    loadable = [written for written in order if sum(written.rows.values())]
    header = yaml.safe_dump(_metadata(loadable, language), sort_keys=False, allow_unicode=True)
    sections = [f"---\n{header}---", "# EDOS: emotion-labelled dialogues from subtitles", "## Know its flaws first\n\n" + _FLAWS]
    sections += ["## Load\n\n" + _load_lines(loadable), "## What is in it\n\n" + _statistics(order)]
    labelled = [written for written in order if written.labels]
    if labelled:
        sections.append("## Labels\n\n" + label_table(labelled[0]))
    if models:
        sections.append("## The labelling models\n\n" + model_table(models))
    if segmenters:
        sections.append("## How the turns were found\n\n" + _segmenters(segmenters))
    sections.append("## From file to dialogue\n\n" + _stages(stages))
    return "\n\n".join(sections) + "\n"


def _metadata(configs: Sequence[ConfigFiles], language: str) -> dict[str, Any]:
    rows = sum(configs[0].rows.values()) if configs else 0
    return {
        "language": [language],
        "license": "other",
        "license_name": "subtitle-text-is-copyrighted",
        "pretty_name": "EDOS",
        "size_categories": [next((name for limit, name in _SIZES if rows < limit), "n>10M")],
        "task_categories": ["text-classification", "text-generation"],
        "tags": ["dialogue", "emotion", "empathy", "subtitles"],
        "configs": [_config(written, default=position == 0) for position, written in enumerate(configs)],
        "dataset_info": [_info(written) for written in configs],
    }


def _filled(written: ConfigFiles) -> list[str]:
    return [split for split in SPLITS if written.rows[split]]


def _config(written: ConfigFiles, default: bool) -> dict[str, Any]:
    files = [{"split": split, "path": f"{written.config}/{split}-*"} for split in _filled(written)]
    return {"config_name": written.config, "data_files": files, **({"default": True} if default else {})}


def _info(written: ConfigFiles) -> dict[str, Any]:
    splits = [{"name": split, "num_bytes": written.arrow_bytes[split], "num_examples": written.rows[split]} for split in _filled(written)]
    return {
        "config_name": written.config,
        "features": features(written.config)._to_yaml_list(),
        "splits": splits,
        "download_size": sum(written.bytes.values()),
        "dataset_size": sum(written.arrow_bytes.values()),
    }


def _load_lines(configs: Sequence[ConfigFiles]) -> str:
    lines = "\n".join(f'load_dataset("edos", "{written.config}")  # {_USE[written.config]}' for written in configs)
    return (
        f"```python\nfrom datasets import load_dataset\n\n{lines}\n```\n\nwhere `edos` is this folder, or its name on the Hub. `streaming=True` works. "
        "The splits part the films, not the dialogues: every film is in one split, and stays there when films are added. A split that no film falls into "
        "is left out."
    )


def _statistics(configs: Sequence[ConfigFiles]) -> str:
    lines = [
        "| config | dialogues | train / validation / test | turns | turns a dialogue | tokens | tokens a turn |",
        "|---|---|---|---|---|---|---|",
    ]
    for written in configs:
        rows, turns, tokens = written.total_rows, written.total_turns, written.total_tokens
        parts = " / ".join(f"{written.rows[split]:,}" for split in SPLITS)
        means = f"{turns / max(rows, 1):.2f} | {tokens:,} | {tokens / max(turns, 1):.2f}"
        lines.append(f"| `{written.config}` | {rows:,} | {parts} | {turns:,} | {means} |")
    return "\n".join(lines)


def label_table(written: ConfigFiles) -> str:
    """Return the labels of a config, the most frequent first, as Markdown."""
    total = sum(written.labels.values())
    lines = [f"Turns per label in `{written.config}`:", "", "| label | turns | share |", "|---|---|---|"]
    for label, count in sorted(written.labels.items(), key=lambda item: (-item[1], item[0])):
        lines.append(f"| {LABELS[label]} | {count:,} | {count / total:.1%} |")
    return "\n".join(lines)


def model_table(models: Mapping[str, Mapping[str, Any]]) -> str:
    """Return what the records of labelling models say of their quality and data as Markdown."""
    lines = ["| model | accuracy | macro-F1 | top-3 accuracy | calibration error | on | data and licences |", "|---|---|---|---|---|---|---|"]
    for name, record in models.items():
        lines.append(f"| `{name}` | {' | '.join(_measured(record))} | {record.get('licence_of_the_data', 'not stated')} |")
    return "\n".join(lines)


def _measured(record: Mapping[str, Any]) -> list[str]:
    """Return the cells of a model's figures, as its record has them for its test split."""
    for name, metrics in record.get("metrics", {}).items():
        if name.startswith("test"):
            shares = [f"{metrics[key]:.1%}" for key in ("accuracy", "macro_f1", "top_3_accuracy", "ece")]
            return [*shares, f"{metrics['examples']:,} held-out examples"]
    return ["not stated"] * 5


def _segmenters(segmenters: Mapping[str, Mapping[str, Any]]) -> str:
    lines = ["| model | measured on | seams | accuracy | F1 of a new turn | calibration error |", "|---|---|---|---|---|---|"]
    for name, record in segmenters.items():
        for split, sources in record.get("metrics", {}).items():
            for source, row in sources.items():
                cells = f"{row['seams']:,} | {row['accuracy']:.1%} | {row['f1']:.1%} | {row['ece']:.1%}"
                lines.append(f"| `{name}` | {split.replace('_', ' ')}: {source} | {cells} |")
    licences = "; ".join(f"{data}: {licence}" for record in segmenters.values() for data, licence in record.get("licences", {}).items())
    return "\n".join(lines) + f"\n\nLearned from: {licences}."


def _stages(stages: Sequence[Mapping[str, Any]]) -> str:
    lines = ["| stage | counts | read | kept | rejected |", "|---|---|---|---|---|"]
    for stage in stages:
        rejected = ", ".join(f"{reason} {count:,}" for reason, count in stage["rejected"].items()) or "none"
        lines.append(f"| {stage['stage']} | {stage['unit']} | {stage['read']:,} | {stage['kept']:,} | {rejected} |")
    return "\n".join(lines)
