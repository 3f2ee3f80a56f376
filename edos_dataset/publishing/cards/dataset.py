"""The cards of runs over subtitles and over books, filled with what was written and counted."""

from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from edos_dataset.labels import LABELS
from edos_dataset.languages import name_of_language
from edos_dataset.publishing.cards import tables
from edos_dataset.publishing.cards.flaws import Records, flaws_table
from edos_dataset.publishing.cards.headers import books_header, labelled_with, pipeline_header, render_card, title_of
from edos_dataset.publishing.cards.markdown import code, fenced, plain
from edos_dataset.publishing.cards.paper_figures import BY_LABEL, EDOS_PAPER, GUTENBERG_PAPER, citation
from edos_dataset.publishing.cards.pictures import LABEL_PICTURE, label_order
from edos_dataset.publishing.layout import ConfigFiles
from edos_dataset.publishing.statistics import CERTAINTY_BINS
from edos_dataset.schema import CONFIGS, REGISTRY, SCRIPTS
from edos_dataset.version import __version__

_EXAMPLE_BIN = 8
"""First bin of certainty that the card's example keeps."""
_COMMON = {"labels": len(LABELS), "package_version": __version__}


class Reading(NamedTuple):
    """Results of judging dialogues whose certainty was hidden.

    Attributes:
        read: Number of all judged dialogues.
        least: Lower limit of a band of certainty, 0 to 1.
        below: Upper limit of it, exclusive.
        dialogues: Judged dialogues in the band.
        right: Fraction of them without an error, 0 to 1.
    """

    read: int
    least: float
    below: float
    dialogues: int
    right: float


READING = Reading(100, 0.7, 0.9, 50, 0.78)
"""From `evaluation/judged_dialogues.json`, which is not part of the package; a test compares the two."""


@dataclass(frozen=True)
class Origin:
    """How a folder was made, without facts that differ between machines.

    Attributes:
        command: Shell command that makes it again, on one line.
        fingerprint: Fingerprint of the stages' code and parameters.
        versions: Package → version.
        recipe: Name of the YAML file with the pipeline, next to the card; "" if there is none.
        inputs: Inputs read: "films" and "files" → number.
    """

    command: str
    fingerprint: str
    versions: Mapping[str, str]
    recipe: str = ""
    inputs: Mapping[str, int] | None = None

    @property
    def as_markdown(self) -> dict[str, str]:
        """Its fields for a template."""
        return {
            "command": fenced(self.command),
            "fingerprint": code(self.fingerprint),
            "versions": ", ".join(plain(f"{package} {version}") for package, version in self.versions.items()),
            "recipe": code(self.recipe) if self.recipe else "",
            "read": ", ".join(f"{count:,} {unit}" for unit, count in (self.inputs or {}).items()),
        }


@dataclass(frozen=True)
class BooksPart:
    """The books of one language in a folder.

    Attributes:
        language: Code of the language.
        manifest: Manifest of its run, with its `books`.
        origin: How it was made.
        parameters: Parameters of its pipeline, as `runs.provenance.parameters_of` names them.
        models: Name of each labelling model → record of its training.
        words: Words of all utterances, separated by spaces.
        written: Its config.
    """

    language: str
    manifest: Mapping[str, Any]
    origin: Origin
    parameters: Mapping[str, Any]
    models: Records
    words: int
    written: ConfigFiles

    @property
    def as_papers(self) -> bool:
        """Whether dialogues were found as in the paper."""
        return tables.FILTERS_OF_PAPERS in self.parameters["stages"]


def dataset_card(
    configs: Sequence[ConfigFiles],
    language: str,
    models: Records,
    stages: Sequence[Mapping[str, Any]],
    segmenters: Records | None = None,
    origin: Origin | None = None,
    picture: bool = False,
) -> str:
    """Return the card of a run over subtitles.

    Splits without dialogues, and configs without any, are in its tables but not in its YAML, as `datasets` refuses to
    load them.

    Args:
        configs: The configs that were written.
        language: Language code of the dialogues.
        models: Name of each labelling model → record of its training (`labeling.heads.LinearHead.record`).
        stages: The counts of the run, as in its manifest.
        segmenters: Name of each learned turn scorer → record of its training
            (`segmentation.turns.TurnScorer.record`).
        origin: How the folder was made.
        picture: Whether the picture of the labels of the first labelled config (`labelled_config`) is next to the card.
    """
    order = sorted(configs, key=lambda written: CONFIGS.index(written.config))
    loadable = [written for written in order if written.total_rows]
    labelled, scorers = labelled_config(configs), segmenters or {}
    opus = any("opus" in written.kinds for written in order)
    scripts = bool(order) and all(written.config == SCRIPTS for written in order)
    title = _title(order, labelled)
    return render_card(
        "dataset",
        pipeline_header(loadable, language, title),
        title=plain(title),
        **_COMMON,
        **_label_values(labelled, picture),
        **_model_values(models),
        paper=EDOS_PAPER,
        **_of_largest(order),
        flaws_table=flaws_table(order, labelled, models, scorers),
        configs=[{"name": each.config, "description": REGISTRY[each.config].description} for each in loadable],
        columns_table=_columns_table(labelled, SCRIPTS if scripts else "os"),
        scripts=scripts,
        size_tables=tables.statistics_tables(order),
        comparison_table=tables.comparison_table(order),
        reading=READING,
        reading_right=f"{READING.right:.0%}",
        certainty_example=f"{_EXAMPLE_BIN / CERTAINTY_BINS:.1f}",
        origin=origin and origin.as_markdown,
        scorer_table=scorers and tables.segmenter_table(scorers),
        scorer_list=tables.making_list(scorers),
        stage_table=tables.stage_table(stages),
        citation=citation("edos", "responses", *["opus"] * opus),
    )


def _of_largest(order: Sequence[ConfigFiles]) -> dict[str, Any]:
    """Return what a card says of the largest config, and of the first with certainties."""
    # of equal ones the last, as the labelled dialogues are part of `os`
    largest = max(reversed(order), key=lambda written: written.total_rows, default=None)
    first = max(order, key=lambda written: written.total_rows, default=None)
    judged = next((written for written in order if any(written.certainty)), None)
    return {
        "largest": largest and {**_sizes(largest), "config": largest.config},
        "moved": first and first.moved,
        "sources_table": first and tables.sources_table(first),
        "certainty_table": judged and tables.certainty_table(judged),
    }


def _division(written: Sequence[ConfigFiles]) -> dict[str, Any]:
    """Return the shares of the splits of books, and how many were moved so that none is empty."""
    shares = dict.fromkeys(each.divided.replace("90/5/5", "90/5/5 as in the paper") for each in written)
    return {"divided": ", ".join(shares), "moved": sum(each.moved for each in written)}


def books_card(parts: Sequence[BooksPart]) -> str:
    """Return the card of runs over books.

    Splits and configs without dialogues are in its tables but not in its YAML, as `datasets` refuses to load them.

    Args:
        parts: The books of each language; the first one with dialogues is the default config.
    """
    part = labelled_part(parts)
    labelled = part.written if part else None
    written = [each.written for each in parts]
    loadable = [each for each in parts if each.written.total_rows]
    models = dict(ChainMap(*(dict(each.models) for each in reversed(parts))))
    title = _books_title(labelled)
    return render_card(
        "books",
        books_header([each.written for each in loadable], [each.language for each in parts], title),
        title=plain(title),
        **_COMMON,
        **_label_values(labelled, picture=True),
        **_model_values(models),
        flaws_table=flaws_table([], labelled, models, {}),
        **_totals(parts),
        paper=GUTENBERG_PAPER,
        languages=", ".join(name_of_language(each.language) for each in parts),
        as_papers=", ".join(code(each.written.config) for each in parts if each.as_papers),
        unlabelled=", ".join(code(each.config) for each in written if not each.labels),
        configs=[{"name": each.written.config, "description": _content(each)} for each in loadable],
        columns_table=_columns_table(labelled, written[0].config),
        sizes_table=tables.sizes_table(parts),
        **_division(written),
        splits_table=tables.splits_table(written),
        filters_table=tables.filters_table(parts),
        parts=list(map(_part_values, parts)),
        citation=citation("gutenberg", *["edos"] * bool(labelled)),
    )


def _title(configs: Sequence[ConfigFiles], labelled: ConfigFiles | None) -> str:
    kinds = {kind for written in configs for kind in written.kinds}
    return title_of(kinds, labelled.set_of_labels if labelled else None)


def _books_title(labelled: ConfigFiles | None) -> str:
    own = labelled is not None and labelled.label_set
    return "Dialogues from books" + (f", {labelled_with(labelled.set_of_labels)}" if labelled and own else "")


def labelled_config(configs: Sequence[ConfigFiles]) -> ConfigFiles | None:
    """Return the first config, in the order of CONFIGS, that has labelled turns."""
    labelled = {written.config: written for written in configs if written.labels}
    return next((labelled[config] for config in CONFIGS if config in labelled), None)


def labelled_part(parts: Sequence[BooksPart]) -> BooksPart | None:
    """Return the books of the first language whose turns have labels."""
    return next((part for part in parts if part.written.labels), None)


def _sizes(written: ConfigFiles) -> dict[str, str]:
    return {
        "dialogues": f"{written.total_rows:,}",
        "turns": f"{written.total_turns:,}",
        "documents": f"{written.documents:,}",
    }


def _totals(parts: Sequence[BooksPart]) -> dict[str, str]:
    books = [book for part in parts for book in part.manifest["books"]]
    return {
        "dialogues": f"{sum(part.written.total_rows for part in parts):,}",
        "turns": f"{sum(part.written.total_turns for part in parts):,}",
        "kept": f"{sum(book['kept'] for book in books):,}",
        "read": f"{len(books):,}",
    }


def _part_values(part: BooksPart) -> dict[str, Any]:
    return {
        "language": name_of_language(part.language),
        "origin": part.origin.as_markdown,
        "stage_table": tables.stage_table(part.manifest["stages"]),
    }


def _content(part: BooksPart) -> str:
    return name_of_language(part.language) + ", every turn labelled" * bool(part.written.labels)


def _label_values(labelled: ConfigFiles | None, picture: bool) -> dict[str, Any]:
    """Return a template's values about the labels of a config; `picture`: whether the picture is next to the card."""
    if labelled is None:
        return {"labelled": None}
    total, of_papers = max(sum(labelled.labels.values()), 1), sum(turns for _, turns in BY_LABEL)
    names = labelled.set_of_labels
    most_frequent = ", ".join(
        plain(f"{names.labels[label]} {labelled.labels.get(label, 0) / total:.1%}")
        + ("" if labelled.label_set else f" ({BY_LABEL[label][1] / of_papers:.1%})")
        for label in label_order(labelled.labels, len(names))[:5]
    )
    return {
        "labelled": {**_sizes(labelled), "config": labelled.config},
        "label_set": _label_set(labelled) if labelled.label_set else None,
        "picture": LABEL_PICTURE if picture else "",
        "most_frequent": most_frequent,
        "label_table": tables.label_table(labelled),
        "labels_not_given": tables.labels_not_given(labelled),
        "label_sources": ", ".join(
            f"{count:,} by {code(name)}" for name, count in sorted(labelled.label_sources.items())
        )
        + f"; {labelled.unlabelled:,} of them got no usable answer and have no label" * bool(labelled.unlabelled),
        "confidence_table": tables.confidence_table(labelled),
    }


def _columns_table(labelled: ConfigFiles | None, otherwise: str) -> str:
    """Return the columns of a labelled config, or of another one if there is none."""
    if labelled is None:
        return tables.columns_table(otherwise, labelled=False)
    return tables.columns_table(labelled.config, labelled=True, labels=labelled.columns)


def _label_set(labelled: ConfigFiles) -> dict[str, str]:
    """Return the facts about a label set other than that of EDOS."""
    labels = labelled.set_of_labels
    about = f" ({plain(labels.description)})" if labels.description else ""
    return {"size": f"{len(labels):,}", "name": f"{code(labels.name)}{about}"}


def _model_values(models: Records) -> dict[str, str]:
    return {"model_table": tables.model_table(models) if models else "", "model_list": tables.making_list(models)}
