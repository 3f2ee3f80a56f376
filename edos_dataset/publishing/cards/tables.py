"""The tables of the cards of runs, in the rows and columns of the papers, with the papers' own figures next to ours."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from edos_dataset.labeling.priors import NONE, OWN
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


def statistics_tables(configs: Sequence[ConfigFiles]) -> list[str]:
    """Return the sizes of configs in the form of the EDOS paper's Table 3 and Xie & Pu's Tables 1 to 3, by split, next
    to the papers' own; configs of equal sizes share a table.
    """
    equal: dict[object, list[ConfigFiles]] = {}
    for written in configs:
        sizes = ([*map(of.get, SPLITS)] for of in (written.rows, written.turns, written.tokens))
        equal.setdefault(str(list(sizes)), []).append(written)
    return list(map(_statistics_table, equal.values()))


def _statistics_table(configs: Sequence[ConfigFiles]) -> str:
    written = configs[0]
    known = list(dict.fromkeys(paper for each in configs for paper in papers.STATISTICS.get(each.config, ())))
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
    names = ", ".join(f"`{each.config}`" for each in configs)
    return table([names, "all", *SPLITS, *(paper.source for paper in known)], rows)


def _mean(number: int, of: int) -> str:
    return f"{number / of:.2f}" if of else "–"


def comparison_table(configs: Sequence[ConfigFiles]) -> str:
    """Return the sizes of datasets with emotion labels in the form of the EDOS paper's Table 2, ours first; configs
    with equal labels and sizes share a row.
    """
    ours: dict[tuple[str, ...], list[str]] = {}
    for written in configs:
        sizes = (_kinds_of_labels(written), f"{written.total_rows:,}", f"{written.total_turns:,}")
        ours.setdefault(sizes, []).append(f"`{written.config}`")
    rows = [[f"**{', '.join(names)}, here**", *sizes] for sizes, names in ours.items()]
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
    for label in (label for label in label_order(written.labels) if written.labels.get(label)):
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


def labels_not_given(written: ConfigFiles) -> str:
    """Return the names of the labels that no turn has and that `label_table` leaves out: none of an own label set,
    whose meanings it states.
    """
    names = LABELS if written.label_set is None else ()
    return ", ".join(name for label, name in enumerate(names) if not written.labels.get(label))


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
    """Return the distribution of the confidence of a config's labels, from its lowest to its highest."""
    total = max(sum(written.confidence), 1)
    places = [place for place, count in enumerate(written.confidence) if count]
    shown = range(min(places, default=0), max(places, default=CONFIDENCE_BINS - 1) + 1)
    heads = [f"{place / CONFIDENCE_BINS:.1f} to {(place + 1) / CONFIDENCE_BINS:.1f}" for place in shown]
    return table(["confidence", *heads], [["turns", *(f"{written.confidence[place] / total:.1%}" for place in shown)]])


def sources_table(written: Statistics) -> str:
    """Return the sources of a config's dialogues: kinds of files, languages, decades and genres, with their counts."""
    genres = sorted(written.genres.items(), key=lambda item: (-item[1], item[0]))
    more = f" and {len(genres) - _MOST_GENRES} more" if len(genres) > _MOST_GENRES else ""
    decades = sorted(written.decades.items(), key=lambda item: (item[0] == UNKNOWN, item[0]))
    rows = [
        ["files", f"{written.documents:,}"],
        ["kinds of files", _listed([(_KINDS.get(kind, kind), count) for kind, count in sorted(written.kinds.items())])],
        ["languages", _listed(sorted(written.languages.items()))],
    ]
    if set(written.decades) - {UNKNOWN}:
        rows.append(["decades of the films", _listed(decades)])
    if genres:
        rows.append(["genres", _listed(genres[:_MOST_GENRES]) + more])
    return table([f"{written.total_rows:,} dialogues", "from"], rows)


def _listed(counts: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{plain(name, _LONGEST_NAME)} {count:,}" for name, count in counts)


def model_table(models: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the quality of labelling models, according to their records, and below it the licences of their data; ""
    without a figure.
    """
    heads = ["model", "accuracy", "macro-F1", "top-3 accuracy", "calibration error", "on"]
    rows = [[code(name), *_measured(record)] for name, record in models.items() if held_out_metrics(record)]
    missing = ", ".join(code(name) for name, record in models.items() if not held_out_metrics(record))
    return "\n\n".join(
        part
        for part in (
            table(heads, rows) if rows else "",
            f"How often {missing} is right has not been measured." if missing else "",
            _licences(models),
        )
        if part
    )


def _licences(models: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the licences of the models' data, equal ones once."""
    by_licence: dict[str, list[str]] = {}
    for name, record in models.items():
        licence = plain(record["licence_of_the_data"], MOST_LICENCES) if "licence_of_the_data" in record else ""
        by_licence.setdefault(licence, []).append(code(name))
    return "\n".join(
        f"- Licences of the data of {' and '.join(names)}: {licence or MISSING}."
        for licence, names in by_licence.items()
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
    shares = [f"{metrics[key]:.1%}" for key in _MEASURED[:-1]]
    return [*shares, f"{metrics['examples']:,} held-out examples"]


def making_list(models: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a list of labelling models or turn scorers: base model, data, command and date of the training, as far as
    they are known; models made in the same way share a line.
    """
    made: dict[str, list[str]] = {}
    for name, record in models.items():
        made.setdefault(_asked(record) if "prompt" in record else _made(record), []).append(code(name))
    return "\n".join(f"- {', '.join(names)}: {how}" for how, names in made.items())


def _made(record: Mapping[str, Any]) -> str:
    data = record.get("data") or []
    files = list(data) if isinstance(data, Mapping) else [row["file"] for row in data if "file" in row]
    base = record.get("base_model") or record.get("encoder")
    date = f" {plain(record['date'])}" if record.get("date") else ""
    command = f" by {code(record['command'], MOST_LICENCES)}" if record.get("command") else ""
    sentences = [
        f"builds on {plain(base)}" if base else "",
        f"learned from {_folders(files)}" if files else "",
        f"made{date}{command}" if date or command else "",
    ]
    known = "; ".join(filter(None, sentences)) or "nothing is known of how it was made"
    return f"{known}.{_sees(record.get('history'))}{_weighed(record.get('priors'))}"


def _sees(history: object) -> str:
    """Return what a model that leaves it open sees of the earlier turns."""
    if not isinstance(history, int):
        return ""
    return f" It sees a turn with up to {history:,} before it." if history else " It sees every turn alone."


def _weighed(priors: object) -> str:
    """Return by which priors a model's answers were weighed, if not by its own."""
    if priors is None:
        return ""
    if priors == NONE:
        return " Every label was taken for equally likely beforehand."
    return f" Its answers were weighed by the shares of labels {'given' if priors == OWN else f'of {priors}'}."


def _asked(record: Mapping[str, Any]) -> str:
    """Return how a model at an endpoint was asked."""
    return (
        f"the language model {code(record['model'])} at {code(record['host'])}, which was asked to choose among the "
        f"labels of {code(record['label_set'])} (prompt {code(record['prompt'])}) and saw {record['history']:,} "
        f"earlier turns; the confidence is {plain(record['confidence'])}, and {plain(record['unanswered'])}."
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
    """Return what the stages of a run removed, as in its manifest; those that removed nothing are only named."""
    rows, idle = [], []
    for stage in stages:
        if not stage["rejected"] and stage["kept"] == stage["read"]:
            idle.append(code(stage["stage"]))
            continue
        rejected = _listed(sorted(stage["rejected"].items()))
        rows.append([plain(stage["stage"]), stage["unit"], f"{stage['read']:,}", f"{stage['kept']:,}", rejected])
    removed = table(["stage", "counts", "read", "kept", "rejected"], rows) if rows else ""
    nothing = f"Nothing was removed by {', '.join(idle)}." if idle else ""
    return "\n\n".join(filter(None, (removed, nothing)))


def certainty_table(written: ConfigFiles) -> str:
    """Return the number of dialogues above several limits of certainty, and the fraction of these that is expected to
    have no error; dialogues without certainty have a row of their own.
    """
    total = max(written.total_rows, 1)
    every = "all that have one" if written.unjudged else "all"
    rows = []
    for first, name in (*((first, f"at least {first / CERTAINTY_BINS:.1f}") for first in _SHOWN_BINS), (0, every)):
        dialogues, mean = written.sure(first)
        if not dialogues and first:
            continue
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
