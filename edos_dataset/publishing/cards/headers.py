"""The YAML that heads a card, by which the Hub files a data set and `datasets` loads it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from edos_dataset.publishing.front_matter import join_card
from edos_dataset.publishing.layout import ConfigFiles
from edos_dataset.schema import SPLITS, features

if TYPE_CHECKING:
    from datasets import Features

TEXT_LICENCE = "subtitle-text-is-copyrighted"
BOOKS_LICENCE = "project-gutenberg-public-domain-in-the-usa"
_SIZES = (
    (1_000, "n<1K"),
    (10_000, "1K<n<10K"),
    (100_000, "10K<n<100K"),
    (1_000_000, "100K<n<1M"),
    (10_000_000, "1M<n<10M"),
)


def size_category(rows: int) -> str:
    """Return the Hub's name for a number of rows."""
    return next((name for limit, name in _SIZES if rows < limit), "10M<n<100M")


def front_matter(
    config: str,
    columns: "Features",
    name: str,
    tags: Sequence[str],
    splits: Sequence[str] = SPLITS,
    licence: str = TEXT_LICENCE,
    *,
    rows: int | None = None,
    annotators: str = "machine-generated",
    languages: Sequence[str] = ("en",),
) -> str:
    """Return the YAML that heads the README of such a folder, between its lines of dashes.

    Args:
        config: name of the config.
        columns: its features.
        name: of the data set, for people.
        tags: what it is about, beside dialogues, emotion and empathy.
        splits: those with rows; `datasets` refuses to load a split without any.
        licence: what the Hub shows, as none of its own fits.
        rows: in all splits, where known.
        annotators: who gave the labels, in the Hub's words.
        languages: codes of the dialogues' languages.
    """
    metadata: dict[str, Any] = {
        "language": list(languages),
        "license": "other",
        "license_name": licence,
        "pretty_name": name,
        **({} if rows is None else {"size_categories": [size_category(rows)]}),
        "task_categories": ["text-classification"],
        "task_ids": ["multi-class-classification", "intent-classification"],
        "annotations_creators": [annotators],
        "language_creators": ["found"],
        "multilinguality": ["monolingual"],
        "tags": ["dialogue", "emotion", "empathy", *tags],
        "configs": [
            {
                "config_name": config,
                "data_files": [{"split": split, "path": f"{config}/{split}-*"} for split in splits],
                "default": True,
            }
        ],
        "dataset_info": [{"config_name": config, "features": columns._to_yaml_list()}],
    }
    return join_card(metadata).removesuffix("\n")


def loading(config: str) -> str:
    """Return the section that says how to load such a folder."""
    return f'## Load\n\n```python\nfrom datasets import load_dataset\n\nload_dataset("FOLDER", "{config}")\n```'


def pipeline_header(configs: Sequence[ConfigFiles], language: str) -> dict[str, Any]:
    """Return what the YAML of a pipeline's folder says.

    Args:
        configs: those with dialogues; the first is the default one.
        language: language code of the dialogues.
    """
    labelled = any(written.labels for written in configs)
    opus = any("opus" in written.kinds for written in configs)
    return {
        "language": [language],
        "license": "other",
        "license_name": TEXT_LICENCE,
        "pretty_name": "EDOS",
        "size_categories": [size_category(configs[0].total_rows if configs else 0)],
        "task_categories": [*(["text-classification"] if labelled else []), "text-generation"],
        "task_ids": [
            *(["multi-class-classification", "intent-classification"] if labelled else []),
            "dialogue-modeling",
        ],
        "annotations_creators": ["machine-generated" if labelled else "no-annotation"],
        "language_creators": ["found"],
        "multilinguality": ["monolingual"],
        "source_datasets": ["extended|open_subtitles" if opus else "original"],
        "tags": ["dialogue", "emotion", "empathy", "subtitles"],
        "configs": [_config(written, default=position == 0) for position, written in enumerate(configs)],
        "dataset_info": [_info(written) for written in configs],
    }


def books_header(configs: Sequence[ConfigFiles], languages: Sequence[str]) -> dict[str, Any]:
    """Return what the YAML of a folder of books says.

    Args:
        configs: those with dialogues; the first is the default one.
        languages: codes of all languages in it.
    """
    labelled = any(written.labels for written in configs)
    return {
        "language": list(languages),
        "license": "other",
        "license_name": BOOKS_LICENCE,
        "license_link": "https://www.gutenberg.org/policy/license.html",
        "pretty_name": "Dialogues out of books",
        "size_categories": [size_category(sum(written.total_rows for written in configs))],
        "task_categories": ["text-generation", *["text-classification"] * labelled],
        "task_ids": ["dialogue-modeling", *["multi-class-classification", "intent-classification"] * labelled],
        "annotations_creators": ["machine-generated" if labelled else "no-annotation"],
        "language_creators": ["found"],
        "multilinguality": ["multilingual" if len(languages) > 1 else "monolingual"],
        "source_datasets": ["original"],
        "tags": ["dialogue", "books", "gutenberg", *["emotion", "empathy"] * labelled],
        "configs": [_config(written, default=position == 0) for position, written in enumerate(configs)],
        "dataset_info": [_info(written) for written in configs],
    }


def _filled(written: ConfigFiles) -> list[str]:
    return [split for split in SPLITS if written.rows[split]]


def _config(written: ConfigFiles, default: bool) -> dict[str, Any]:
    files = [{"split": split, "path": f"{written.config}/{split}-*"} for split in _filled(written)]
    return {"config_name": written.config, "data_files": files, **({"default": True} if default else {})}


def _info(written: ConfigFiles) -> dict[str, Any]:
    splits = [
        {"name": split, "num_bytes": written.arrow_bytes[split], "num_examples": written.rows[split]}
        for split in _filled(written)
    ]
    return {
        "config_name": written.config,
        "features": features(written.config, bool(written.labels))._to_yaml_list(),
        "splits": splits,
        "download_size": sum(written.bytes.values()),
        "dataset_size": sum(written.arrow_bytes.values()),
    }
