"""The recipes that this package brings, whole and named; and what a command makes of them by its options.

A pipeline is a plain list of stages. `default` is what gives the truest data at a laptop's cost, `papers` what the
papers did.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from edos_dataset.cleaning.duplicates import CapUtterances, DropDuplicates, KeyTurns
from edos_dataset.cleaning.films import DropSameFilms
from edos_dataset.cleaning.lines import CleanLines
from edos_dataset.cleaning.rules import CleanTurns
from edos_dataset.labeling.models.labelers import encoder_under
from edos_dataset.labeling.selection import SelectDialogues
from edos_dataset.labeling.stages import AnnotateDialogues, EncodeTurns, LabelTurns
from edos_dataset.runs.phases import check_order
from edos_dataset.runs.pipeline import CorpusStep, Output, Stage
from edos_dataset.runs.recipes import Item, RecipeError, load_recipe, nearest
from edos_dataset.runs.settings import assign, override
from edos_dataset.segmentation.certainty import JudgeDialogues
from edos_dataset.segmentation.dialogues import SegmentDialogues
from edos_dataset.segmentation.sentences import SplitSentences
from edos_dataset.segmentation.turns.stage import SegmentTurns
from edos_dataset.sources.read import ReadFilms

DEFAULT, PAPERS = "default", "papers"

LEAST_CERTAINTY = 0.75
"""How sure the default recipe wants every seam between two sentences of a dialogue to be."""

BUILT_IN: dict[str, dict[str, object]] = {
    DEFAULT: {
        "turns.least_certainty": LEAST_CERTAINTY,
        "dialogues.least_certainty": LEAST_CERTAINTY,
    },
    PAPERS: {
        "lines.mend": False,
        "sentences.go_on_at_dash": False,
        "sentences.end_at_capital": False,
        "films.share": None,
        "turns.scorer": "svm",
        "turns.max_pause": 5.0,
        "turns.least_certainty": 0.0,
        "dialogues.scenes": None,
        "dialogues.gap": 5.0,
        "dialogues.least_certainty": 0.0,
        "clean.unit_of_length": "tokens",
        "clean.min_length": 2,
        "clean.max_length": 100,
        "clean.after_removed": "drop",
        "cap.limit": 100,
        "cap.after_removed": "drop",
        "duplicates.share": None,
        "select.top": 1_000_000,
        "select.by": "emotionality",
    },
}
"""The built-in recipes: name → what differs from the stages' defaults, or would if these changed. Turns by a linear SVM
(EDOS, Section 3), dialogues by 5 seconds of silence alone, and the lengths, the cap and the selection of Xie & Pu
(Section 3 and Appendix A), whose list is the most exact."""


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
    """Return the whole pipeline (EDOS, Section 3): dialogues, weak labels, the most emotional ones, labels with the
    history of each turn.

    Args:
        weak_model: what labels single turns, a name that `load_labeler` knows. Where it stands on an encoder the stage
            "encode" embeds the turns by that, once for both labelers if they share it.
        model: what labels turns with their history.
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


KNOWN: dict[str, type[Stage] | type[CorpusStep]] = {
    type(item).name: type(item) for item in [*subtitles_to_edos(), EncodeTurns()] if not isinstance(item, Output)
}
"""The stages that a recipe may name."""


def pipeline_of(
    recipe: str | Path | None = None,
    *,
    labels: bool = True,
    weak_model: str | None = None,
    model: str | None = None,
    top: int | None = None,
    by: str | None = None,
    language: str | None = None,
    settings: Sequence[str] = (),
    trust_remote_code: bool = False,
) -> list[Item]:
    """Return the pipeline of a recipe, with what else is given in place of its parameters.

    Args:
        recipe: a name of BUILT_IN, or a YAML file (one of such a name as "./papers"); None is the default.
        labels: whether a built-in one labels.
        weak_model: "weak_label.model"; a built-in recipe has the stage "encode" where that needs it.
        model: "annotate.model".
        top: "select.top".
        by: "select.by".
        language: "read.language", which the other stages take from the documents.
        settings: others, as `override` takes them.
        trust_remote_code: run the code that came with the models; no recipe can say so.

    Raises:
        RecipeError: the recipe, or a parameter, is wrong.
        ValueError: a stage comes twice, or before one that it needs.
    """
    name = DEFAULT if recipe is None else str(recipe)
    models = {name: chosen for name, chosen in (("weak_model", weak_model), ("model", model)) if chosen is not None}
    named = {
        ("--language", "read.language"): language,
        ("--top", "select.top"): top,
        ("--by", "select.by"): by,
        ("--weak-model", "weak_label.model"): weak_model,
        ("--model", "annotate.model"): model,
    }
    wishes = [(f"{flag} {value}", parameter, value) for (flag, parameter), value in named.items() if value is not None]
    if not labels and name in BUILT_IN:
        _check_not_left_out({wish: parameter for wish, parameter, _ in wishes})
        _check_not_left_out({f"--set {setting}": setting for setting in settings})
    if name in BUILT_IN:
        pipeline = _built_in(name, subtitles_to_edos(**models) if labels else subtitles_to_dialogues())
    elif not Path(name).suffix and not Path(name).exists():
        raise RecipeError(f"no recipe is named {name!r}{nearest(name, list(BUILT_IN))}; or give a YAML file")
    else:
        pipeline = load_recipe(Path(name), KNOWN, custom=True)
    for wish, parameter, value in wishes:
        pipeline = assign(pipeline, parameter, value, wish)
    pipeline = override(pipeline, settings)
    check_order(pipeline)
    return [
        replace(item, trust_remote_code=trust_remote_code) if isinstance(item, EncodeTurns | LabelTurns) else item
        for item in pipeline
    ]


def _built_in(name: str, pipeline: list[Item]) -> list[Item]:
    """Return the stages with the parameters of a recipe of BUILT_IN."""
    stages = {item.name for item in pipeline if not isinstance(item, Output)}
    for parameter, value in BUILT_IN[name].items():
        if parameter.partition(".")[0] in stages:
            pipeline = assign(pipeline, parameter, value, f"recipe {name}")
    return pipeline


def _check_not_left_out(wishes: Mapping[str, str]) -> None:
    """Refuse what is asked of a labelling stage, STAGE.PARAMETER by the words that ask it, where none is wanted."""
    there = {type(item) for item in subtitles_to_dialogues()}
    for wish, target in wishes.items():
        stage = target.partition(".")[0]
        if stage in KNOWN and KNOWN[stage] not in there:
            raise RecipeError(f"{wish}: --no-labels leaves the stage {stage!r} out; give one of the two")
