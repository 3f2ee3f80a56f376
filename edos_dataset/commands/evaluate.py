"""The verb `evaluate`: metrics of the responses of models, by counting, by libraries and by other models."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from edos_dataset.arrays import Doubles, Ints
from edos_dataset.commands.options import Result, verb
from edos_dataset.commands.progress import Say, steps
from edos_dataset.encoders.encoder import DEFAULT_MODEL, Encoder, default_device, quiet
from edos_dataset.label_sets import LabelMap, LabelSet, load_label_map
from edos_dataset.labeling.models.base import Labeler
from edos_dataset.labeling.models.labelers import check_labels_all, load_labeler
from edos_dataset.labeling.translation import Given, as_parameter, naming, translation_of
from edos_dataset.metrics.responses.dialog_eval import NEEDS, OLD_BLEU, Figure, measure, summarise
from edos_dataset.metrics.responses.diversity import frequent, generic
from edos_dataset.metrics.responses.libraries import Measured, chrf
from edos_dataset.metrics.responses.libraries import bertscore as measure_bertscore
from edos_dataset.metrics.responses.libraries import sacrebleu as measure_sacrebleu
from edos_dataset.metrics.responses.similarity import label_accuracy
from edos_dataset.metrics.responses.similarity import ses as measure_ses
from edos_dataset.metrics.responses.words import Words, read_lines, read_vectors
from edos_dataset.runs.stores.paths import place_of
from edos_dataset.text import shown
from edos_dataset.wording import counted

TRUTH, RANDOM = "GT", "RT"
"""Reference rows: the true responses, and random responses of the training set."""

Metric = Callable[[Sequence[str], Sequence[str]], Measured]
"""Responses and their references, of equal number → the values of a metric."""


@dataclass(frozen=True)
class Judges:
    """The libraries and models that judge responses; all of them are slower than the metrics that only count.

    Attributes:
        sacrebleu: measure sacreBLEU and chrF.
        ses: measure the similarity of sentence embeddings (SES).
        encoder: SentenceTransformer for `ses`.
        bertscore: measure BERTScore.
        bertscore_model: model for `bertscore`; see `libraries.bertscore`.
        labeler: model that labels the responses, to compare with known labels.
        device: torch device of all models; by default a GPU if available.
        label_set: label set of the known labels, as the parameter of a stage; by default that of the labeler.
        label_map: what the known labels and those of the labeler are then translated into, as a parameter of a stage.
    """

    sacrebleu: bool = False
    ses: bool = False
    encoder: str = DEFAULT_MODEL
    bertscore: bool = False
    bertscore_model: str | None = None
    labeler: str = "general"
    device: str | None = None
    label_set: Given = None
    label_map: Given = None

    def __post_init__(self) -> None:
        """Check that the labeler gives every response a label."""
        check_labels_all(self.labeler)

    @property
    def metrics(self) -> dict[str, Metric]:
        """The requested metrics that need references: name → function."""
        asked: dict[str, tuple[bool, Metric]] = {
            "sacreBLEU": (self.sacrebleu, measure_sacrebleu),
            "chrF": (self.sacrebleu, chrf),
            "BERTScore": (self.bertscore, self.bertscores),
            "SES": (self.ses, self.similarities),
        }
        return {name: metric for name, (wanted, metric) in asked.items() if wanted}

    def similarities(self, responses: Sequence[str], references: Sequence[str]) -> Measured:
        """Measure SES with the encoder."""
        encoder = Encoder(self.encoder, self._device)
        return Measured(measure_ses(responses, references, encoder.encode), encoder.identity)

    def bertscores(self, responses: Sequence[str], references: Sequence[str]) -> Measured:
        """Measure BERTScore with its model."""
        with quiet():
            return measure_bertscore(responses, references, self.bertscore_model, device=self._device)

    def labels(self, responses: Sequence[str], contexts: Sequence[str] | None = None) -> tuple[Ints, str]:
        """Return the id of the most probable label of each response, after its context if there is one, and the
        identity of the labeler.
        """
        labeler = self._labeler
        before = [[]] * len(responses) if contexts is None else [[context] for context in contexts]
        dialogues = [[*turns, response] for turns, response in zip(before, responses, strict=True)]
        translation = translation_of(labeler.label_set, self.label_set, self.label_map)
        labels: Ints = translation(labeler.predict_proba(dialogues), labeler.threshold is None).argmax(axis=1)
        return labels[len(dialogues[0]) - 1 :: len(dialogues[0])], labeler.identity

    @property
    def set_of_labels(self) -> LabelSet:
        """The label set of the known labels."""
        return translation_of(self._labeler.label_set, self.label_set, None).labels

    @property
    def _labeler(self) -> Labeler:
        return naming(load_labeler(self.labeler, self._device), self.label_set)

    @property
    def _device(self) -> str:
        return self.device or default_device()


@dataclass(frozen=True)
class Files:
    """Files with one text per line; metrics that need a file which is None are left out.

    Attributes:
        contexts: the turns that are answered; line n belongs to response n, as in `references` and `labels`.
        references: the true responses.
        labels: names of the labels that the responses were conditioned on; an empty line for none.
        train: contexts of the training set, from which the word probabilities are estimated.
        train_targets: responses of the training set.
        vectors: word vectors.
        vocabulary: further known words, besides those with vectors; by default those of `train`.
    """

    contexts: Path | None = None
    references: Path | None = None
    labels: Path | None = None
    train: Path | None = None
    train_targets: Path | None = None
    vectors: Path | None = None
    vocabulary: Path | None = None


@dataclass
class _Read:
    """The content of the files; `left_out` and `made_by` are filled while measuring."""

    files: Files
    judges: Judges
    words: Words
    contexts: list[str] | None
    references: list[str] | None
    labels: list[int] | None
    targets: list[str] | None
    left_out: dict[str, str] = field(default_factory=dict)
    made_by: dict[str, str] = field(default_factory=dict)


@verb
def evaluate(
    responses: str | Path | Sequence[str | Path],
    *,
    contexts: str | Path | None = None,
    references: str | Path | None = None,
    train: str | Path | None = None,
    vectors: str | Path | None = None,
    vocabulary: str | Path | None = None,
    train_targets: str | Path | None = None,
    reference_rows: bool = False,
    seed: int = 0,
    sacrebleu: bool = False,
    ses: bool = False,
    encoder: str = DEFAULT_MODEL,
    bertscore: bool = False,
    bertscore_model: str | None = None,
    labels: str | Path | None = None,
    model: str = "general",
    device: str | None = None,
    progress: bool | Say | None = None,
    label_set: "str | Path | LabelSet | Sequence[str] | None" = None,
    label_map: "str | Path | LabelSet | LabelMap | Mapping[str, Any] | None" = None,
) -> Result:
    """Evaluate the responses of a model, as `edos evaluate` does: the 17 metrics of dialog-eval with 95 % intervals,
    and, on request, sacreBLEU, chrF, BERTScore, SES and label accuracy. All files have one text per line.

    Args:
        responses: files of responses, with equal numbers of lines.
        contexts: the turns that are answered; line n belongs to response n, as in `references` and `labels`.
        references: the true responses.
        train: contexts of the training set, from which the word probabilities are estimated.
        vectors: word vectors.
        vocabulary: further known words, besides those with vectors; by default those of `train`.
        train_targets: responses of the training set.
        reference_rows: also measure the true responses (`GT`, if there are references) and random responses of the
            training set (`RT`, if there are train targets).
        seed: random seed for `RT`.
        sacrebleu: measure sacreBLEU and chrF.
        ses: measure the similarity of sentence embeddings (SES).
        encoder: SentenceTransformer for `ses`.
        bertscore: measure BERTScore.
        bertscore_model: model for `bertscore`; see `libraries.bertscore`.
        labels: names of the labels that the responses were conditioned on; an empty line for none.
        model: model that labels the responses, to compare with `labels`.
        device: torch device of all models; by default a GPU if available.
        progress: whether to show progress, by default in terminals and notebooks; or a callback.
        label_set: label set of `labels`, a name or a YAML file, into which the labels of the model are translated; by
            default that of the model.
        label_map: label set or map into which `labels` and those of the model are then translated.

    Returns:
        `metrics`: name → mean, std, confidence and n (see `Figure`); for several files instead `files`: path →
        `metrics`. `reference_rows`: `RT` and `GT` → `metrics`. `left_out`: metric → why it could not be measured.
        `made_by`: metric → model or signature of the library that measured it.

    Raises:
        ValueError: a file cannot be read or does not match the others.
        ModuleNotFoundError: a metric needs a library that is not installed.
    """
    given = (contexts, references, labels, train, train_targets, vectors, vocabulary)
    files = Files(*(None if path is None else place_of(path) for path in given))
    labelling = as_parameter(label_set), as_parameter(label_map)
    judges = Judges(sacrebleu, ses, encoder, bertscore, bertscore_model, model, device, *labelling)
    each = [responses] if isinstance(responses, str | Path) else responses
    with steps(progress, lines=False) as say:
        say("reading")
        texts = {str(path): read_lines(place_of(path)) for path in each}
        measured = _read(texts, files, judges)
        found: dict[str, dict[str, Any]] = {}
        for path, lines in texts.items():
            say(f"measuring {path}")
            found[path] = {"metrics": _figures(lines, measured)}
        result: dict[str, Any] = next(iter(found.values())) if len(found) == 1 else {"files": found}
        if reference_rows:
            rows = _reference_rows(len(next(iter(texts.values()))), measured, seed)
            result["reference_rows"] = {name: {"metrics": _figures(lines, measured)} for name, lines in rows.items()}
    result |= {"left_out": measured.left_out, "made_by": measured.made_by}
    means = {name: f"{figure['mean']:.4f}" for name, figure in next(iter(found.values()))["metrics"].items()}
    return Result("evaluate", result, summary=means if len(found) == 1 else {"files": len(found)})


def _read(texts: Mapping[str, list[str]], files: Files, judges: Judges) -> _Read:
    lines = {name: read_lines(path) for name, path in vars(files).items() if path is not None and name != "vectors"}
    _check_lengths(texts, lines, files)
    labels = None if files.labels is None else _label_ids(lines["labels"], files.labels, judges)
    vocabulary = [line.strip() for line in lines["vocabulary"]] if "vocabulary" in lines else None
    vectors = None
    if files.vectors is not None:
        named = ("contexts", "references", "train", "train_targets")
        every = [*texts.values(), *(lines[name] for name in named if name in lines)]
        vectors = read_vectors(files.vectors, {word for part in every for line in part for word in line.split()})
    words = Words.of(vectors, vocabulary, lines.get("train"))
    given = (lines.get("contexts"), lines.get("references"), labels, lines.get("train_targets"))
    return _Read(files, judges, words, *given)


def _check_lengths(texts: Mapping[str, list[str]], lines: Mapping[str, list[str]], files: Files) -> None:
    """Raise ValueError for files whose numbers of lines differ or are 0."""
    for path, responses in texts.items():
        if not responses:
            raise ValueError(f"{path} is empty: give a file with a response a line")
        for name in ("contexts", "references", "labels"):
            if name in lines and len(lines[name]) != len(responses):
                raise ValueError(
                    f"{path} has {counted(len(responses), 'lines')}, but {getattr(files, name)} of --{name} has "
                    f"{len(lines[name]):,}: give files in which line n of one belongs to line n of the other"
                )
    if "train_targets" in lines and not lines["train_targets"]:
        raise ValueError(f"{files.train_targets} of --train-targets is empty: give a response a line")


def _label_ids(names: Sequence[str], path: Path | None, judges: Judges) -> list[int]:
    """Return the ids of known labels; -1 for none, also where the map has none."""
    labels = judges.set_of_labels
    mapped = None if judges.label_map is None else load_label_map(judges.label_map, labels)
    known: dict[str, int] = {"": -1}
    for line, name in enumerate(names, 1):
        found = labels.find(name) if name.strip() else -1
        if found is None:
            raise ValueError(
                f"{path}, line {line}: {shown(name)} is no label: give one of {labels.listed()}; if they are of "
                "another set, name it by --label-set NAME|FILE"
            )
        if mapped is not None and found >= 0:
            target = mapped(labels.labels[found])
            found = -1 if target is None else mapped.target.parse(target)
        known[name] = found
    return [known[name] for name in names]


def _figures(responses: list[str], given: _Read) -> dict[str, Figure]:
    """Return the figures of a set of responses; metrics that are left out are recorded in `given`."""
    values = dict(measure(responses, given.references, given.contexts, given.words))
    for name, needs in NEEDS.items():
        missing = [f"--{need}" for need in needs if getattr(given.files, need) is None]
        if missing:
            given.left_out[name] = f"not given: {', '.join(missing)}"
    if given.references is None:
        given.left_out |= dict.fromkeys(OLD_BLEU, "not given: --references")
    values["generic"] = generic(responses, given.contexts)
    if given.targets is None:
        given.left_out["generic-train"] = "not given: --train-targets"
    else:
        values["generic-train"] = frequent(responses, given.targets)
    return {name: summarise(found) for name, found in {**values, **_judged(responses, given)}.items()}


def _judged(responses: list[str], given: _Read) -> dict[str, Doubles]:
    values: dict[str, Doubles] = {}
    judges, references = given.judges, given.references
    for name, metric in judges.metrics.items():
        if references is None:
            given.left_out[name] = "not given: --references"
            continue
        measured = metric(responses, references)
        values[name], given.made_by[name] = measured.values, measured.made_by
    if given.labels is not None:
        labels, given.made_by["label-accuracy"] = judges.labels(responses, given.contexts)
        values["label-accuracy"] = label_accuracy(labels, given.labels)
    return values


def _reference_rows(number: int, given: _Read, seed: int) -> dict[str, list[str]]:
    rows: dict[str, list[str]] = {}
    if given.targets is None:
        given.left_out[RANDOM] = "not given: --train-targets"
    else:
        drawn = np.random.default_rng(seed).integers(len(given.targets), size=number)
        rows[RANDOM] = [given.targets[place] for place in drawn]
    if given.references is None:
        given.left_out[TRUTH] = "not given: --references"
    else:
        rows[TRUTH] = given.references
    return rows
