"""The built-in recipes of `edos curate`, and how command-line options change them.

A pipeline is a plain list of stages. `default` gives the most accurate data at a cost that suits a laptop; `papers`
does what the papers did.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from edos_dataset.cleaning.duplicates import CapUtterances, DropDuplicates, DropSameFilms, KeyTurns
from edos_dataset.cleaning.lines import CleanLines
from edos_dataset.cleaning.pseudonyms import PseudonymizeSpeakers
from edos_dataset.cleaning.rules import CleanTurns
from edos_dataset.labeling.languages import for_language
from edos_dataset.labeling.models.labelers import encoder_under
from edos_dataset.labeling.models.shipped import is_supported, suited
from edos_dataset.labeling.selection import SelectDialogues
from edos_dataset.labeling.stages import AnnotateDialogues, EncodeTurns, LabelTurns
from edos_dataset.labeling.translation import as_parameter
from edos_dataset.runs.pipeline import CorpusStep, Output, Stage, check_order
from edos_dataset.runs.recipes import Item, Known, RecipeError, assign, load_recipe, nearest, override
from edos_dataset.runs.stores.paths import place_of
from edos_dataset.segmentation.dialogues import JudgeDialogues, SegmentDialogues
from edos_dataset.segmentation.sentences import SplitSentences
from edos_dataset.segmentation.turns.stage import SegmentTurns
from edos_dataset.sources.read import ReadFilms

DEFAULT, PAPERS, SCRIPTS = "default", "papers", "scripts"

PRICE_OF_ERROR = 4.0
"""How many right exchanges a wrong one outweighs in the dialogues of the default recipe."""

BUILT_IN: dict[str, dict[str, object]] = {
    DEFAULT: {
        "turns.least_certainty": 0.0,
        "dialogues.least_certainty": 0.0,
        "dialogues.price_of_error": PRICE_OF_ERROR,
        "clean.whole_blocks": True,
        "clean.repetitive_from": 5,
        "cap.whole_blocks": True,
    },
    PAPERS: {
        "read.names": False,
        "read.all_files": True,
        "lines.mend": False,
        "lines.only_speech": False,
        "sentences.go_on_at_dash": False,
        "sentences.end_at_capital": False,
        "sentences.name_all": False,
        "films.share": None,
        "turns.scorer": "svm",
        "turns.others": "rules",
        "turns.max_pause": 5.0,
        "turns.least_certainty": 0.0,
        "dialogues.scenes": None,
        "dialogues.gap": 5.0,
        "dialogues.least_certainty": 0.0,
        "dialogues.price_of_error": None,
        "clean.unit_of_length": "tokens",
        "clean.min_length": 2,
        "clean.max_length": 100,
        "clean.after_removed": "drop",
        "clean.numbers": False,
        "clean.whole_blocks": False,
        "clean.repetitive_from": 1,
        "clean.distinct": "tokens",
        "clean.opening_dots": False,
        "cap.limit": 100,
        "cap.after_removed": "drop",
        "cap.whole_blocks": False,
        "duplicates.share": None,
        "select.top": 1_000_000,
        "select.by": "emotionality",
        "annotate.model": "dialogue",
    },
    SCRIPTS: {
        "read.only_scripts": True,
        "turns.scorer": "rules",
        "dialogues.scenes": None,
        "clean.min_length": 1,
        "clean.repetitive_from": 5,
    },
}
"""The built-in recipes: name → parameters that differ from the stages' defaults, or would if these changed. `papers`
finds turns by a linear SVM (EDOS, Section 3) and dialogues only by 5 seconds of silence, and takes the lengths, the cap
and the selection from Xie & Pu (Section 3 and Appendix A), whose list is the most precise; it labels by `dialogue`,
which learned from the crowd as the papers' classifier did. `scripts` reads screenplays,
which tell speakers and scenes, so nothing is inferred, and short answers stay.
"""


def subtitles_to_dialogues() -> list[Item]:
    """Return the stages from files to cleaned dialogues, the config `os`."""
    return [
        ReadFilms(),
        CleanLines(),
        SplitSentences(),
        DropSameFilms(),
        SegmentTurns(),
        SegmentDialogues(),
        CleanTurns(),
        KeyTurns(),
        CapUtterances(),
        DropDuplicates(),
        JudgeDialogues(),
        Output("os"),
    ]


def subtitles_to_edos(weak_model: str = LabelTurns.model, model: str = AnnotateDialogues.model) -> list[Item]:
    """Return the whole pipeline (EDOS, Section 3): dialogues, weak labels, selection of the most emotional dialogues,
    and labels from each turn's history.

    Args:
        weak_model: model that labels single turns; a name for `load_labeler`. If it has an encoder, the stage "encode"
            embeds the turns with it, once for both labelers if they share it.
        model: model that labels turns with their history.
    """
    encoder = encoder_under(weak_model)
    return [
        *subtitles_to_dialogues(),
        *([EncodeTurns(model=encoder)] if encoder else []),
        LabelTurns(model=weak_model),
        SelectDialogues(),
        Output("edos_initial"),
        AnnotateDialogues(model=model),
        Output("edos"),
    ]


def scripts_to_dialogues() -> list[Item]:
    """Return the stages from screenplays to cleaned dialogues, the config `scripts` without labels."""
    stages = subtitles_to_dialogues()
    return [*(item for item in stages if not isinstance(item, JudgeDialogues | Output)), Output("scripts")]


def scripts_to_edos(model: str = AnnotateDialogues.model) -> list[Item]:
    """Return the stages from screenplays to dialogues whose turns are labelled with their history.

    Args:
        model: name of the labelling model, as in `load_labeler`.
    """
    *stages, output = scripts_to_dialogues()
    return [*stages, AnnotateDialogues(model=model), output]


def with_pseudonyms(pipeline: Iterable[Item]) -> list[Item]:
    """Return a pipeline that replaces speakers by pseudonyms as soon as their names are known.

    Raises:
        ValueError: it has no stage "lines", which finds the names.
    """
    items = list(pipeline)
    if any(isinstance(item, PseudonymizeSpeakers) for item in items):
        return items
    place = next((place for place, item in enumerate(items) if isinstance(item, CleanLines)), None)
    if place is None:
        raise ValueError("--pseudonymize follows the stage 'lines', which the pipeline does not have")
    return [*items[: place + 1], PseudonymizeSpeakers(), *items[place + 1 :]]


KNOWN: dict[str, type[Stage] | type[CorpusStep]] = {
    type(item).name: type(item)
    for item in [*subtitles_to_edos(), EncodeTurns(), PseudonymizeSpeakers()]
    if not isinstance(item, Output)
}
"""The stages that a recipe may contain."""


class Change(NamedTuple):
    """A change of a parameter by an option.

    Attributes:
        said: the option with its value, for messages: "--top 5", or "top=5" for Python.
        parameter: "STAGE.PARAMETER".
        value: its new value.
    """

    said: str
    parameter: str
    value: Any


def changes_of(parameters: Mapping[str, str], options: Mapping[str, Any], from_python: bool) -> list[Change]:
    """Return the changes that options make.

    Args:
        parameters: option, by its Python name, → "STAGE.PARAMETER".
        options: option → value; None means no change.
        from_python: whether messages show options as Python arguments rather than command-line options.
    """
    return [
        Change(
            f"{option}={options[option]!r}" if from_python else f"--{option.replace('_', '-')} {options[option]}",
            parameter,
            options[option],
        )
        for option, parameter in parameters.items()
        if options[option] is not None
    ]


def pipeline_of(
    recipe: str | Path | None = None,
    *,
    labels: bool = True,
    weak_model: str | None = None,
    model: str | None = None,
    top: int | None = None,
    by: str | None = None,
    language: str | None = None,
    label_set: Any = None,  # noqa: ANN401 - a name, a file or a LabelSet
    label_map: Any = None,  # noqa: ANN401 - the same, or a map
    settings: Sequence[str] = (),
    trust_remote_code: bool = False,
    from_python: bool = False,
) -> list[Item]:
    """Return the pipeline of a recipe, with some parameters changed.

    Args:
        recipe: a name of BUILT_IN, or a YAML file ("./papers" if it has such a name); None is the default.
        labels: whether a built-in recipe labels the turns. It does not if no shipped model supports the language and
            none is named here.
        weak_model: "weak_label.model"; a built-in recipe has the stage "encode" if the model needs it. By default of
            that recipe the shipped model for the language.
        model: "annotate.model"; by default as before.
        top: "select.top".
        by: "select.by".
        language: "read.language", which the other stages take from the documents.
        label_set: "label_set" of all labelling stages.
        label_map: "label_map" of all labelling stages.
        settings: changes of other parameters, in the form of `override`.
        trust_remote_code: run the code that came with the models; a recipe cannot set this.
        from_python: whether messages show options as Python arguments rather than command-line options.

    Raises:
        RecipeError: the recipe or a parameter is wrong.
        ValueError: a stage occurs twice, or before one that it needs.
    """
    name = DEFAULT if recipe is None else str(recipe)
    targets = {
        "language": "read.language",
        "top": "select.top",
        "by": "select.by",
        "weak_model": "weak_label.model",
        "model": "annotate.model",
    }
    options = {"language": language, "top": top, "by": by, "weak_model": weak_model, "model": model}
    changes = changes_of(targets, options, from_python)
    if name in BUILT_IN:
        if not labels:
            _check_labels_wanted(label_set, label_map, from_python)
            _check_not_left_out([*changes, *(Change(f"--set {each}", each, None) for each in settings)], from_python)
        labels = labels and (bool(weak_model or model) or language is None or is_supported(language))
        stages = _stages(name, labels, weak_model or suited(LabelTurns.model, language))
        weighed = name != PAPERS and not names_model(model, settings)
        pipeline = _for_language(_built_in(name, stages), language, weighed)
    else:
        pipeline = recipe_file(name, KNOWN, BUILT_IN)
        check_labels_of_file(name, pipeline, None if labels else False, from_python)
    changes += label_changes(pipeline, label_set, label_map, from_python)
    return finished(pipeline, changes, settings, trust_remote_code)


def label_changes(pipeline: Sequence[Item], label_set: Any, label_map: Any, from_python: bool) -> list[Change]:  # noqa: ANN401
    """Return the changes of the label set and the label map in all labelling stages.

    Raises:
        RecipeError: no stage labels turns.
        LabelSetError: a label set or map is wrong.
    """
    stages = [item.name for item in pipeline if isinstance(item, LabelTurns)]
    changes = [
        change._replace(value=as_parameter(change.value))
        for name, given in (("label_set", label_set), ("label_map", label_map))
        for stage in stages or ["annotate"]
        for change in changes_of({name: f"{stage}.{name}"}, {name: given}, from_python)
    ]
    if changes and not stages:
        _check_labels_wanted(label_set, label_map, from_python)
    return [change._replace(said=change.said.replace("--label-map", "--map")) for change in changes]


def check_labels_of_file(name: str, pipeline: Sequence[Item], labels: bool | None, from_python: bool = False) -> None:
    """Refuse --labels or --no-labels if the recipe of a file says otherwise; None says nothing.

    Raises:
        RecipeError: it does.
    """
    if labels is None:
        return
    option = f"labels={labels}" if from_python else "--labels" if labels else "--no-labels"
    there = [item.name for item in pipeline if isinstance(item, LabelTurns)]
    if there and not labels:
        raise RecipeError(f"{option} is for the built-in recipes, and {name} labels: remove its stage {there[0]!r}")
    if labels and not there:
        raise RecipeError(f"{option} is for the built-in recipes, and {name} has no stage that labels: add 'annotate'")


def _check_labels_wanted(label_set: Any, label_map: Any, from_python: bool) -> None:  # noqa: ANN401 - as above
    for option, name, given in (("--label-set", "label_set", label_set), ("--map", "label_map", label_map)):
        if given is not None:
            raise RecipeError(f"{name if from_python else option} is for labels, but no stage of the pipeline labels")


def recipe_file(name: str, known: Known, built_in: Iterable[str]) -> list[Item]:
    """Return the pipeline of a YAML file.

    Raises:
        RecipeError: the file is wrong, or the name looks like that of a built-in recipe.
    """
    path = place_of(name)
    if not path.suffix and not path.exists():
        raise RecipeError(f"no recipe is named {name!r}{nearest(name, list(built_in))}; or give a YAML file")
    return load_recipe(path, known, custom=True)


def finished(
    pipeline: list[Item], changes: Iterable[Change], settings: Sequence[str], trust_remote_code: bool
) -> list[Item]:
    """Return a pipeline with changed parameters, after checking the order of its stages."""
    for said, parameter, value in changes:
        pipeline = assign(pipeline, parameter, value, said)
    pipeline = override(pipeline, settings)
    check_order(pipeline)
    return [
        replace(item, trust_remote_code=trust_remote_code) if isinstance(item, EncodeTurns | LabelTurns) else item
        for item in pipeline
    ]


def _built_in(name: str, pipeline: list[Item]) -> list[Item]:
    stages = {item.name for item in pipeline if not isinstance(item, Output)}
    for parameter, value in BUILT_IN[name].items():
        if parameter.partition(".")[0] in stages:
            pipeline = assign(pipeline, parameter, value, f"recipe {name}")
    return pipeline


def _stages(name: str, labels: bool, weak_model: str) -> list[Item]:
    if name == SCRIPTS:
        return scripts_to_edos() if labels else scripts_to_dialogues()
    return subtitles_to_edos(weak_model) if labels else subtitles_to_dialogues()


def _for_language(pipeline: list[Item], language: str | None, weighed: bool) -> list[Item]:
    return [for_language(item, language, weighed) if isinstance(item, AnnotateDialogues) else item for item in pipeline]


def names_model(model: str | None, settings: Iterable[str]) -> bool:
    """Return whether a user names the model that annotates."""
    return bool(model) or any(each.partition("=")[0].strip() == "annotate.model" for each in settings)


def _check_not_left_out(changes: Iterable[Change], from_python: bool) -> None:
    """Refuse changes of labelling stages if labels are not wanted."""
    there = {type(item) for item in subtitles_to_dialogues()}
    without = "labels=False" if from_python else "--no-labels"
    for change in changes:
        stage = change.parameter.partition(".")[0]
        if stage in KNOWN and KNOWN[stage] not in there:
            raise RecipeError(f"{change.said}: {without} leaves the stage {stage!r} out; give one of the two")
