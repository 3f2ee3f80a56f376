"""Cards from templates: the YAML header that the Hub and `datasets` read, and the text below it."""

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from huggingface_hub import DatasetCard, DatasetCardData

from edos_dataset.label_sets import DEFAULT, LabelSet
from edos_dataset.publishing.layout import ConfigFiles
from edos_dataset.schema import SPLITS, features

if TYPE_CHECKING:
    from datasets import Features

TEXT_LICENCE = "subtitle-text-is-copyrighted"
BOOKS_LICENCE = "project-gutenberg-public-domain-in-the-usa"
_TEMPLATES = Path(__file__).parent / "templates"
_INCLUDE = re.compile(r'{% include "([\w.]+)" %}')
_LABEL_TASKS = ["multi-class-classification", "intent-classification"]
_SIZES = (
    (1_000, "n<1K"),
    (10_000, "1K<n<10K"),
    (100_000, "10K<n<100K"),
    (1_000_000, "100K<n<1M"),
    (10_000_000, "1M<n<10M"),
)


def template(name: str) -> str:
    """Return the Jinja template of a card with its includes inlined, as `from_template` of huggingface_hub gives Jinja
    no folder to find them in.
    """
    text = (_TEMPLATES / f"{name}.md.j2").read_text(encoding="utf-8").rstrip("\n")
    return _INCLUDE.sub(lambda found: template(found[1].removesuffix(".md.j2")), text)


def render_card(name: str, header: Mapping[str, Any], /, **values: Any) -> str:  # noqa: ANN401 - as the template takes them
    """Return a dataset card.

    Args:
        name: Name of its template.
        header: Keys and values of its YAML.
        values: Values of the template's variables; untrusted texts among them must be escaped (see `markdown`).
    """
    data = DatasetCardData(**header)
    return f"{DatasetCard.from_template(data, template_str=template(name), **values).content}\n"


def size_category(rows: int) -> str:
    """Return the Hub's name for a number of rows."""
    return next((name for limit, name in _SIZES if rows < limit), "10M<n<100M")


def single_header(
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
) -> dict[str, Any]:
    """Return the YAML of the card of a dataset with one labelled config.

    Args:
        config: Name of the config.
        columns: Its features.
        name: Name of the dataset, for people.
        tags: Topics in addition to dialogues, emotion and empathy.
        splits: Splits with rows; `datasets` refuses to load a split without any.
        licence: Name for the Hub to show, as none of its own fits.
        rows: Rows of all splits, if known.
        annotators: Source of the labels, in the Hub's words.
        languages: Codes of the dialogues' languages.
    """
    return {
        "language": list(languages),
        "license": "other",
        "license_name": licence,
        "pretty_name": name,
        **({} if rows is None else {"size_categories": [size_category(rows)]}),
        "task_categories": ["text-classification"],
        "task_ids": list(_LABEL_TASKS),
        "annotations_creators": [annotators],
        "language_creators": ["found"],
        "multilinguality": ["monolingual"],
        "tags": ["dialogue", "emotion", "empathy", *tags],
        "configs": [_config(config, splits, default=True)],
        "dataset_info": [{"config_name": config, "features": columns._to_yaml_list()}],
    }


def title_of(kinds: Collection[str], labels: LabelSet | None) -> str:
    """Return the title of the card of dialogues.

    Only dialogues from OPUS OpenSubtitles that have the labels of EDOS, or none, are a version of EDOS.

    Args:
        kinds: Kinds of their files, as in the column `kind`.
        labels: Label set of their turns; None without labels.
    """
    is_default = labels is None or labels.name == DEFAULT
    if "opus" in kinds and is_default:
        return "EDOS: emotion-labelled dialogues from subtitles"
    scripts = dict.fromkeys(("script", "fountain", "fdx"), "screenplays")
    places = {"chat": "chats", "transcript": "transcripts", **scripts}
    found = sorted({places.get(kind, "subtitles") for kind in kinds}) or ["subtitles"]
    dialogues = f"ialogues from {' and '.join(found)}"
    if labels is None:
        return f"D{dialogues}"
    return f"Emotion-labelled d{dialogues}" if is_default else f"D{dialogues}, {labelled_with(labels)}"


def labelled_with(labels: LabelSet) -> str:
    """Return what a title says about labels of another set than that of EDOS."""
    return f"labelled with {labels.name}"


def pipeline_header(configs: Sequence[ConfigFiles], language: str, title: str) -> dict[str, Any]:
    """Return the YAML of the card of a run over subtitles.

    Args:
        configs: The configs with dialogues; the first is the default one.
        language: Language code of the dialogues.
        title: Title of the card, as `title_of` returns it.
    """
    opus = any("opus" in written.kinds for written in configs)
    return {
        **_header(configs, [language], title.partition(":")[0], configs[0].total_rows if configs else 0),
        "license_name": TEXT_LICENCE,
        "source_datasets": ["extended|open_subtitles" if opus else "original"],
        "tags": ["dialogue", "emotion", "empathy", "subtitles"],
    }


def books_header(configs: Sequence[ConfigFiles], languages: Sequence[str], title: str) -> dict[str, Any]:
    """Return the YAML of the card of runs over books.

    Args:
        configs: The configs with dialogues; the first is the default one.
        languages: Codes of all languages in it.
        title: Title of the card.
    """
    labelled = any(written.labels for written in configs)
    return {
        **_header(configs, languages, title, sum(written.total_rows for written in configs)),
        "license_name": BOOKS_LICENCE,
        "license_link": "https://www.gutenberg.org/policy/license.html",
        "source_datasets": ["original"],
        "tags": ["dialogue", "books", "gutenberg", *["emotion", "empathy"] * labelled],
    }


def _header(configs: Sequence[ConfigFiles], languages: Sequence[str], name: str, rows: int) -> dict[str, Any]:
    labelled = any(written.labels for written in configs)
    entries = [_config(written.config, _filled(written), number == 0) for number, written in enumerate(configs)]
    return {
        "language": list(languages),
        "license": "other",
        "pretty_name": name,
        "size_categories": [size_category(rows)],
        "task_categories": [*["text-classification"] * labelled, "text-generation"],
        "task_ids": [*_LABEL_TASKS * labelled, "dialogue-modeling"],
        "annotations_creators": ["machine-generated" if labelled else "no-annotation"],
        "language_creators": ["found"],
        "multilinguality": ["multilingual" if len(languages) > 1 else "monolingual"],
        "configs": entries,
        "dataset_info": [_info(written) for written in configs],
    }


def _filled(written: ConfigFiles) -> list[str]:
    return [split for split in SPLITS if written.rows[split]]


def _config(config: str, splits: Sequence[str], default: bool) -> dict[str, Any]:
    files = [{"split": split, "path": f"{config}/{split}-*"} for split in splits]
    return {"config_name": config, "data_files": files, **({"default": True} if default else {})}


def _info(written: ConfigFiles) -> dict[str, Any]:
    splits = [
        {"name": split, "num_bytes": written.arrow_bytes[split], "num_examples": written.rows[split]}
        for split in _filled(written)
    ]
    return {
        "config_name": written.config,
        "features": features(written.config, bool(written.labels), written.columns)._to_yaml_list(),
        "splits": splits,
        "download_size": sum(written.bytes.values()),
        "dataset_size": sum(written.arrow_bytes.values()),
    }
