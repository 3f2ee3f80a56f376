"""The tables of the cards of runs, in the rows and columns of the papers, with the papers' own figures next to ours."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from edos_dataset.labels import LABELS
from edos_dataset.languages import name_of_language
from edos_dataset.publishing.cards import paper_figures as papers
from edos_dataset.publishing.cards.markdown import MISSING, MOST_LICENCES, code, plain, table
from edos_dataset.publishing.cards.pictures import label_order
from edos_dataset.publishing.layout import ConfigFiles
from edos_dataset.publishing.statistics import CERTAINTY_BINS, CONFIDENCE_BINS, UNKNOWN, Statistics
from edos_dataset.schema import EDOS_LABELS, SPLITS, Labels, describe

_KINDS = {
    "opus": "XML of OPUS (OpenSubtitles)",
    "ttml": "TTML",
    "timedtext": "captions of YouTube",
    "transcript": "transcripts",
    "subtitle": "other subtitle files",
}
_CRITERIA = (
    *("Total no. of dialogues", "Total no. of turns", "Total no. of tokens"),
    *("Avg. no. of turns per dialogue", "Avg. no. of tokens per dialogue", "Avg. no. of tokens per turn"),
)
"""In the words of the EDOS paper."""

_MOST_GENRES, _MOST_FILES = 12, 4
_LONGEST_NAME = 60
"""Largest number of characters of a genre."""
_SHOWN_BINS = (9, 8, 7, 6, 5)
"""First bin of each row of the table of certainties."""
_NONE = "–"


def columns_table(config: str, labelled: bool, labels: Labels = EDOS_LABELS) -> str:
    """Return the columns of a config and their meaning; `labelled`: its turns have labels."""
    return table(
        ["column", "type", "meaning"],
        [[f"`{column.name}`", column.type, column.meaning] for column in describe(config, labelled, labels)],
    )


def statistics_table(written: ConfigFiles) -> str:
    """Return the sizes of a config in the form of the EDOS paper's Table 3 and Xie & Pu's Tables 1 to 3, by split,
    next to the papers' own.
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
    """Return the sizes of datasets with emotion labels in the form of the EDOS paper's Table 2, ours first."""
    rows = [
        [
            f"**`{written.config}`, here**",
            _kinds_of_labels(written),
            f"{written.total_rows:,}",
            f"{written.total_turns:,}",
        ]
        for written in configs
    ]
    rows += [[name, named, f"{dialogues:,}", f"{turns:,}"] for name, named, dialogues, turns in papers.COMPARED]
    return table(["dataset", "labels", "no. of dialogues", "no. of utterances"], rows)


def _kinds_of_labels(written: ConfigFiles) -> str:
    if not written.labels:
        return "none"
    return papers.COMPARED[-1][1] if written.label_set is None else plain(f"{len(written.set_of_labels)} labels")


def label_table(written: ConfigFiles) -> str:
    """Return the labels of a config, the most frequent first, in the form of the EDOS paper's Table 9, with the paper's
    figures if it has the same labels.

    Dialogues are counted by the label of their first turn, as in the paper; without such counts only turns are shown.
    """
    if written.label_set is not None:
        return _table_of_labels(written)
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
        "fraction of turns",
        "EDOS paper: dialogues",
        "EDOS paper: turns",
        "EDOS paper: fraction",
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


def _table_of_labels(written: ConfigFiles) -> str:
    """Return the labels of a config whose label set is not that of EDOS."""
    total, labels = max(sum(written.labels.values()), 1), written.set_of_labels
    shown = [
        [
            plain(labels.labels[label]),
            plain(labels.definitions.get(labels.labels[label], "")) or _NONE,
            f"{written.prompts.get(label, 0):,}",
            f"{written.labels.get(label, 0):,}",
            f"{written.labels.get(label, 0) / total:.1%}",
        ]
        for label in label_order(written.labels, len(labels))
    ]
    return table(["label", "meaning", "dialogues", "turns", "fraction of turns"], shown)


def confidence_table(written: Statistics) -> str:
    """Return the distribution of the confidence of a config's labels."""
    total = max(sum(written.confidence), 1)
    heads = [
        f"{place / CONFIDENCE_BINS:.1f} to {(place + 1) / CONFIDENCE_BINS:.1f}" for place in range(CONFIDENCE_BINS)
    ]
    return table(["confidence", *heads], [["turns", *(f"{count / total:.1%}" for count in written.confidence)]])


def sources_table(written: Statistics) -> str:
    """Return the sources of a config's dialogues: kinds of files, languages, decades and genres, with their counts."""
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
    """Return the quality and data of labelling models, according to their records."""
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
    """Return the figures of a labelling model's test split in its record, or nothing where their form is unknown."""
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
    """Return a list of labelling models or turn scorers: base model, data, command and date of the training."""
    lines = []
    for name, record in models.items():
        if "prompt" in record:
            lines.append(_asked(name, record))
            continue
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
        sees = _sees(record.get("history"))
        lines.append(f"- {code(name)} builds on {plain(base)} and learned from {learned}. Made {made}.{sees}")
    return "\n".join(lines)


def _sees(history: object) -> str:
    """Return what a model that leaves it open sees of the earlier turns."""
    if not isinstance(history, int):
        return ""
    return f" It sees a turn with up to {history:,} before it." if history else " It sees every turn alone."


def _asked(name: str, record: Mapping[str, Any]) -> str:
    """Return the line of a model at an endpoint."""
    return (
        f"- {code(name)} is the language model {code(record['model'])} at {code(record['host'])}, which was asked to "
        f"choose among the labels of {code(record['label_set'])} (prompt {code(record['prompt'])}) and saw "
        f"{record['history']:,} earlier turns; the confidence is {plain(record['confidence'])}, and "
        f"{plain(record['unanswered'])}."
    )


def _folders(files: Sequence[str]) -> str:
    """Return the names of files, or of their folder if there are many."""
    of_folder = Counter(file.rpartition("/")[0] for file in files)
    many = {folder for folder, count in of_folder.items() if folder and count > _MOST_FILES}
    names = [
        f"{folder} ({of_folder[folder]} files)" if folder in many else file
        for file, folder in ((file, file.rpartition("/")[0]) for file in files)
    ]
    return ", ".join(map(plain, dict.fromkeys(names)))


def segmenter_table(segmenters: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the errors and data of turn scorers, according to their records."""
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
        table(["model", "measured on", "boundaries", "accuracy", "F1 of a new turn", "calibration error"], rows)
        + f"\n\nLearned from: {licences}."
    )


def stage_table(stages: Sequence[Mapping[str, Any]]) -> str:
    """Return the counts of a run's stages, as in its manifest."""
    rows = []
    for stage in stages:
        rejected = _listed(sorted(stage["rejected"].items())) or "none"
        rows.append([plain(stage["stage"]), stage["unit"], f"{stage['read']:,}", f"{stage['kept']:,}", rejected])
    return table(["stage", "counts", "read", "kept", "rejected"], rows)


def certainty_table(written: ConfigFiles) -> str:
    """Return the number of dialogues above several limits of certainty, and the fraction of these that is expected to
    have no error; dialogues without certainty have a row of their own.
    """
    total = max(written.total_rows, 1)
    every = "all that have one" if written.unjudged else "all"
    rows = []
    for first, name in (*((first, f"at least {first / CERTAINTY_BINS:.1f}") for first in _SHOWN_BINS), (0, every)):
        dialogues, mean = written.sure(first)
        rows.append([name, f"{dialogues:,}", f"{dialogues / total:.1%}", "–" if mean is None else f"{mean:.1%}"])
    if written.unjudged:
        rows.append(["null", f"{written.unjudged:,}", f"{written.unjudged / total:.1%}", "not known"])
    heads = ["dialogues", "fraction of dialogues", "expected fraction without error"]
    return table([f"`certainty` in `{written.config}`", *heads], rows)


class Part(Protocol):
    """The facts about the books of one language that the tables show, as `dataset.BooksPart` has them."""

    @property
    def language(self) -> str:
        """Its code."""

    @property
    def manifest(self) -> Mapping[str, Any]:
        """Manifest of its run."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Parameters of its pipeline."""

    @property
    def words(self) -> int:
        """Words of all utterances."""

    @property
    def written(self) -> ConfigFiles:
        """Its config."""


FILTERS_OF_PAPERS = "dialogues_as_papers"
"""Stage that finds dialogues as the paper's code does."""

_FILTERS = {
    "Pre-filter": ("books", "Old books and noise", "books"),
    "Delimiter filter": ("dialogues", "Books with no dialogues", "books"),
    "Long utterances": ("length", "Non-conversational utterances", "utterances"),
    "Post-filter": ("rare_words", "Dialogues containing many rare words", "dialogues"),
    "Duplicates": ("duplicates", "Dialogues that another one repeats", "dialogues"),
}
"""Filter, in the words of the paper's Table 2 → our stage, what it removes, and the unit that is counted."""

_PARAMETERS = {
    "Pre-filter": "books.divergence",
    "Delimiter filter": f"{FILTERS_OF_PAPERS}.min_delimiters",
    "Long utterances": "length.max_words",
    "Post-filter": "rare_words.share",
    "Duplicates": "duplicates.share",
}
_TOO_LONG = "too_long"


def splits_table(configs: Sequence[ConfigFiles]) -> str:
    """Return the dialogues of configs by split."""
    rows = [[f"`{written.config}`", *(f"{written.rows[split]:,}" for split in SPLITS)] for written in configs]
    return table(["config", *SPLITS], rows)


def filters_table(parts: Sequence[Part]) -> str:
    """Return what each filter removes, in the form of the paper's Table 2, a column for each language; the paper's own
    figures are those of its English books.
    """
    rows = []
    for name, (stage, what, unit) in _FILTERS.items():
        parameter, published = papers.GUTENBERG_FILTERED.get(name, (_NONE, _NONE))
        ours = [_removed(part, stage, unit) for part in parts]
        values = dict.fromkeys(str(part.parameters.get(_PARAMETERS[name], _NONE)) for part in parts)
        rows.append([name, " / ".join(values), what, *ours, parameter, published])
    languages = [name_of_language(part.language) for part in parts]
    return table(["Method", "Parameter", "What", *languages, "Parameter of the paper", "Paper, English"], rows)


def _removed(part: Part, stage: str, unit: str) -> str:
    """Return how much a stage removed; for books the whole corpus is 100 %, otherwise what the stage read."""
    names = (stage, FILTERS_OF_PAPERS) if stage == "dialogues" else (stage,)
    entry = next((entry for entry in part.manifest["stages"] if entry["stage"] in names), None)
    if entry is None:
        return _NONE
    rejected = entry["rejected"]
    number = rejected.get(_TOO_LONG, 0) if unit == "utterances" else sum(rejected.values())
    of = len(part.manifest["books"]) if unit == "books" else entry["read"]
    return f"{number:,} {unit} ({number / max(of, 1):.2%})"


def sizes_table(parts: Sequence[Part]) -> str:
    """Return the sizes of each language in the form of the paper's Table 3, followed by the paper's own."""
    rows = []
    for part in parts:
        written = part.written
        turns, dialogues = written.total_turns, written.total_rows
        ours = _sizes(turns, part.words / max(turns, 1), dialogues, turns / max(dialogues, 1))
        known = papers.GUTENBERG_SIZES.get(part.language)
        published = _sizes(*known) if known else [_NONE] * 4
        rows.append([name_of_language(part.language), *ours, *published])
    heads = ["#U", "|U|", "#D", "|D|"]
    return table(["Language", *heads, *(f"paper: {head}" for head in heads)], rows)


def _sizes(utterances: int, words: float, dialogues: int, length: float) -> list[str]:
    return [f"{utterances:,}", f"{words:.2f}", f"{dialogues:,}", f"{length:.2f}"]
