"""What a person is told where the language of the dialogues is not that of the models."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from edos_dataset.labeling.languages import count_foreign, languages_of
from edos_dataset.labeling.stages import LabelTurns
from edos_dataset.languages.codes import name_of_language, same_language
from edos_dataset.runs.pipeline import Pipeline
from edos_dataset.segmentation.turns.scorers import load_scorer
from edos_dataset.segmentation.turns.stage import SegmentTurns


def language_remarks(pipeline: Pipeline, language: str) -> list[str]:
    """Return a sentence for each kind of stage that does not know the language of the dialogues.

    Args:
        pipeline: the stages.
        language: code of the language that they read.
    """
    remarks = []
    for stage in pipeline:
        if isinstance(stage, SegmentTurns) and not _knows(load_scorer(stage.scorer).languages, language):
            remarks.append(
                f"turns are found by the rules: the scorer {stage.scorer!r} knows no {name_of_language(language)}"
            )
    models = [
        stage.model for stage in pipeline if isinstance(stage, LabelTurns) and not _knows(languages_of(stage), language)
    ]
    if models:
        named = " and ".join(map(repr, dict.fromkeys(models)))
        remarks.append(
            f"the labels are not to be trusted: {named} {'knows' if len(set(models)) == 1 else 'know'} no "
            f"{name_of_language(language)}; give models that do (--weak-model, --model), or --no-labels"
        )
    return remarks


def look_for_foreign(shards: Sequence[Path], stage: LabelTurns) -> dict[str, int]:
    """Return how many dialogues that a stage labelled are in a language that its model does not know.

    Returns:
        `other_language`: how many are; `languages_checked`: of how many. Nothing where the model doesn't say what it
        knows.
    """
    languages = languages_of(stage)
    if not languages:
        return {}
    foreign, looked_at = count_foreign(shards, languages)
    return {"other_language": foreign, "languages_checked": looked_at}


def foreign_lines(done: Mapping[str, Any], stage: LabelTurns) -> list[str]:
    """Return the warning for what `look_for_foreign` found, or nothing."""
    if not done.get("other_language"):
        return []
    known = " and ".join(map(name_of_language, languages_of(stage) or ()))
    return [
        f"{done['other_language']:,} of {done['languages_checked']:,} dialogues don't look {known}; model "
        f"{stage.model!r} knows {known} only"
    ]


def _knows(languages: Sequence[str] | None, language: str) -> bool:
    return languages is None or any(same_language(known, language) for known in languages)
