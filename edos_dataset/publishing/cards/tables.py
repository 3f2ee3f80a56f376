"""The tables of a data set's card, in the rows and columns of the papers, with the papers' own figures beside ours."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from edos_dataset.labels import LABELS
from edos_dataset.publishing.cards import paper_figures as papers
from edos_dataset.publishing.cards.markdown import MISSING, MOST_LICENCES, code, plain, table
from edos_dataset.publishing.cards.pictures import label_order
from edos_dataset.publishing.cards.texts import COLUMNS
from edos_dataset.publishing.layout import ConfigFiles
from edos_dataset.publishing.statistics import CONFIDENCE_BINS, UNKNOWN, Statistics
from edos_dataset.schema import SPLITS

_KINDS = {"opus": "XML of OPUS (OpenSubtitles)", "subtitle": "other subtitle files"}
_CRITERIA = (
    *("Total no. of dialogues", "Total no. of turns", "Total no. of tokens"),
    *("Avg. no. of turns per dialogue", "Avg. no. of tokens per dialogue", "Avg. no. of tokens per turn"),
)
"""In the words of the EDOS paper."""

_MOST_GENRES, _MOST_FILES = 12, 4
_LONGEST_NAME = 60
"""Characters of a genre."""


def columns_table(labelled: bool) -> str:
    """Return what the columns hold.

    Args:
        labelled: the turns have labels.
    """
    ours = ("turns.label", "turns.confidence", "turns.top")
    rows = [[f"`{path}`", text] for path, text in COLUMNS.items() if labelled or not path.startswith(ours)]
    return table(["column", "what it holds"], rows)


def statistics_table(written: ConfigFiles) -> str:
    """Return the sizes of a config in the form of the EDOS paper's Table 3 and Xie & Pu's Tables 1 to 3, by split,
    beside the papers'.
    """
    known = papers.STATISTICS.get(written.config, ())
    counts = [
        (written.total_rows, written.total_turns, written.total_tokens),
        *((written.rows[split], written.turns[split], written.tokens[split]) for split in SPLITS),
        *((paper.dialogues, paper.turns, paper.tokens) for paper in known),
    ]
    averages = [
        [_mean(turns, rows), _mean(tokens, rows), _mean(tokens, turns)]
        for rows, turns, tokens in counts[: 1 + len(SPLITS)]
    ]
    averages += [
        [f"{mean:.2f}" for mean in (paper.turns_per_dialogue, paper.tokens_per_dialogue, paper.tokens_per_turn)]
        for paper in known
    ]
    columns = [[*(f"{count:,}" for count in three), *means] for three, means in zip(counts, averages, strict=True)]
    rows = [[criterion, *cells] for criterion, *cells in zip(_CRITERIA, *columns, strict=True)]
    return table([f"`{written.config}`", "all", *SPLITS, *(paper.source for paper in known)], rows)


def _mean(number: int, of: int) -> str:
    return f"{number / of:.2f}" if of else "–"


def comparison_table(configs: Sequence[ConfigFiles]) -> str:
    """Return the sizes of data sets with emotion labels in the form of the EDOS paper's Table 2, ours first."""
    labels = {True: papers.COMPARED[-1][1], False: "none"}
    rows = [
        [
            f"**`{written.config}`, here**",
            labels[bool(written.labels)],
            f"{written.total_rows:,}",
            f"{written.total_turns:,}",
        ]
        for written in configs
    ]
    rows += [[name, named, f"{dialogues:,}", f"{turns:,}"] for name, named, dialogues, turns in papers.COMPARED]
    return table(["data set", "labels", "no. of dialogues", "no. of utterances"], rows)


def label_table(written: Statistics) -> str:
    """Return the labels of a config, the most frequent first, in the form of the EDOS paper's Table 9, and the paper's
    figures beside them.

    Dialogues are counted by the label of their first turn, as the paper does; where they have not been counted, there
    are turns alone.
    """
    papers_total = sum(turns for _, turns in papers.BY_LABEL)
    total = sum(written.labels.values())
    shown: list[list[str]] = []
    for label in label_order(written.labels):
        turns, (papers_dialogues, papers_turns) = written.labels.get(label, 0), papers.BY_LABEL[label]
        dialogues = [f"{written.prompts.get(label, 0):,}"] if written.prompts else []
        ours = [*dialogues, f"{turns:,}", f"{turns / max(total, 1):.1%}"]
        shown.append(
            [LABELS[label], *ours, f"{papers_dialogues:,}", f"{papers_turns:,}", f"{papers_turns / papers_total:.1%}"]
        )
    heads = [
        *(["dialogues"] if written.prompts else []),
        "turns",
        "share of turns",
        "EDOS paper: dialogues",
        "EDOS paper: turns",
        "EDOS paper: share",
    ]
    dialogues = [f"{sum(written.prompts.values()):,}"] if written.prompts else []
    shown.append(
        [
            "**all**",
            *dialogues,
            f"{total:,}",
            "",
            f"{sum(first for first, _ in papers.BY_LABEL):,}",
            f"{papers_total:,}",
            "",
        ]
    )
    return table(["label", *heads], shown)


def confidence_table(written: Statistics) -> str:
    """Return how many turns of a config have a label of which confidence."""
    total = max(sum(written.confidence), 1)
    heads = [
        f"{place / CONFIDENCE_BINS:.1f} to {(place + 1) / CONFIDENCE_BINS:.1f}" for place in range(CONFIDENCE_BINS)
    ]
    return table(["confidence", *heads], [["turns", *(f"{count / total:.1%}" for count in written.confidence)]])


def sources_table(written: Statistics) -> str:
    """Return where the dialogues of a config are from: kinds of files, languages, decades and genres, each with its
    dialogues.
    """
    genres = sorted(written.genres.items(), key=lambda item: (-item[1], item[0]))
    more = f" and {len(genres) - _MOST_GENRES} more" if len(genres) > _MOST_GENRES else ""
    decades = sorted(written.decades.items(), key=lambda item: (item[0] == UNKNOWN, item[0]))
    rows = [
        ["files", f"{written.documents:,}"],
        ["kinds of files", _listed([(_KINDS.get(kind, kind), count) for kind, count in sorted(written.kinds.items())])],
        ["languages", _listed(sorted(written.languages.items()))],
        ["decades of the films", _listed(decades)],
        ["genres", (_listed(genres[:_MOST_GENRES]) or "none named") + more],
    ]
    return table([f"{written.total_rows:,} dialogues", "from"], rows)


def _listed(counts: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{plain(name, _LONGEST_NAME)} {count:,}" for name, count in counts)


def model_table(models: Mapping[str, Mapping[str, Any]]) -> str:
    """Return what the records of labelling models say of their quality and data as Markdown."""
    heads = ["model", "accuracy", "macro-F1", "top-3 accuracy", "calibration error", "on", "data and licences"]
    return table(
        heads,
        [
            [code(name), *_measured(record), plain(record.get("licence_of_the_data", MISSING), MOST_LICENCES)]
            for name, record in models.items()
        ],
    )


_MEASURED = ("accuracy", "macro_f1", "top_3_accuracy", "ece", "examples")


def held_out_metrics(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the figures of a labelling model's test split as its record has them, or nothing where it has others."""
    for name, metrics in record.get("metrics", {}).items():
        if name.startswith("test"):
            whole = isinstance(metrics, Mapping) and all(isinstance(metrics.get(key), int | float) for key in _MEASURED)
            return metrics if whole else {}
    return {}


def _measured(record: Mapping[str, Any]) -> list[str]:
    metrics = held_out_metrics(record)
    if not metrics:
        return [MISSING] * 5
    shares = [f"{metrics[key]:.1%}" for key in _MEASURED[:-1]]
    return [*shares, f"{metrics['examples']:,} held-out examples"]


def making_list(models: Mapping[str, Mapping[str, Any]]) -> str:
    """Return where labelling models and scorers of turns are from: what they build on, from which data and by which
    command they were made, and when.
    """
    lines = []
    for name, record in models.items():
        data = record.get("data") or []
        files = list(data) if isinstance(data, Mapping) else [row["file"] for row in data if "file" in row]
        base = record.get("base_model") or record.get("encoder") or "nothing else"
        made = f"{plain(record['date'])} " if record.get("date") else ""
        made += (
            f"by {code(record['command'], MOST_LICENCES)}"
            if record.get("command")
            else f"by a command that is {MISSING}"
        )
        learned = _folders(files) or f"data that are {MISSING}"
        lines.append(f"- {code(name)} builds on {plain(base)} and learned from {learned}. Made {made}.")
    return "\n".join(lines)


def _folders(files: Sequence[str]) -> str:
    """Return names of files, many of one folder as the folder."""
    of_folder = Counter(file.rpartition("/")[0] for file in files)
    many = {folder for folder, count in of_folder.items() if folder and count > _MOST_FILES}
    names = [
        f"{folder} ({of_folder[folder]} files)" if folder in many else file
        for file, folder in ((file, file.rpartition("/")[0]) for file in files)
    ]
    return ", ".join(map(plain, dict.fromkeys(names)))


def segmenter_table(segmenters: Mapping[str, Mapping[str, Any]]) -> str:
    """Return what the records of scorers of turns say of their errors and data as Markdown."""
    rows = []
    for name, record in segmenters.items():
        for split, sources in record.get("metrics", {}).items():
            for source, row in sources.items():
                figures = [f"{row['seams']:,}", *(f"{row[key]:.1%}" for key in ("accuracy", "f1", "ece"))]
                rows.append([code(name), plain(f"{split}: {source}".replace("_", " ")), *figures])
    licences = "; ".join(
        plain(f"{data}: {licence}", MOST_LICENCES)
        for record in segmenters.values()
        for data, licence in record.get("licences", {}).items()
    )
    return (
        table(["model", "measured on", "seams", "accuracy", "F1 of a new turn", "calibration error"], rows)
        + f"\n\nLearned from: {licences}."
    )


def stage_table(stages: Sequence[Mapping[str, Any]]) -> str:
    """Return the counts of a run's stages, as its manifest has them, as Markdown."""
    rows = []
    for stage in stages:
        rejected = _listed(sorted(stage["rejected"].items())) or "none"
        rows.append([plain(stage["stage"]), stage["unit"], f"{stage['read']:,}", f"{stage['kept']:,}", rejected])
    return table(["stage", "counts", "read", "kept", "rejected"], rows)
