"""`edos labels-only`: the labels of a run without its text, and with the recipe by which `edos
hydrate` makes the text.
"""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from edos_dataset.cleaning.duplicates import KeyTurns
from edos_dataset.commands.built_in import KNOWN
from edos_dataset.labeling.models.shipped import SHIPPED
from edos_dataset.labeling.stages import EncodeTurns, LabelTurns
from edos_dataset.publishing.labels_only import write_labels_only
from edos_dataset.runs.made_of import MadeOf, inputs_of, parameters_of
from edos_dataset.runs.manifest import read_manifest
from edos_dataset.runs.pipeline import Stage
from edos_dataset.runs.recipes import Item, dump_recipe, load_recipe, parse_recipe
from edos_dataset.runs.tables import config_files
from edos_dataset.segmentation.certainty import JudgeDialogues
from edos_dataset.sources.read import ReadFilms

_NOT_OF_TEXT = KeyTurns | JudgeDialogues | EncodeTurns | LabelTurns


def text_stages(recipe: Sequence[Item]) -> list[Stage]:
    """Return the stages of a recipe that make the text: all but the corpus steps, the keys that these need, what
    judges the dialogues that they leave, and the labelling.

    Raises:
        ValueError: there are none, or the first does not read films.
    """
    stages = [item for item in recipe if isinstance(item, Stage) and not isinstance(item, _NOT_OF_TEXT)]
    if not stages or not isinstance(stages[0], ReadFilms):
        raise ValueError(
            f"the recipe of these labels does not begin with the stage {ReadFilms.name!r}, so no text can be made by it"
        )
    return stages


def write_labels(
    run: Path, out: Path, config: str = "edos", recipe: Path | None = None, force: bool = False
) -> dict[str, Any]:
    """Write the labels of a run without text (`publishing.labels_only.write_labels_only`).

    Args:
        run: a folder that `edos curate` or `edos label` wrote.
        out: a new or empty folder, or one of earlier labels.
        config: "edos" or "edos_initial".
        recipe: YAML by which the dialogues were made; by default what the run's manifest says.
        force: replace finished labels by those of another config, recipe or run, and files that were edited since.

    Returns:
        The labels' manifest.

    Raises:
        FolderError: `run` holds no finished run, or `out` something else.
        ValueError: the run has no such config, or neither it nor the caller has a recipe by which the text can be
            rebuilt.
    """
    facts = read_manifest(run)
    if recipe is None and "recipe" not in facts:
        raise ValueError(
            f"{run} does not say how its dialogues were made: give the recipe of the `edos curate` run that made them "
            "as --recipe"
        )
    pipeline = (
        load_recipe(recipe, KNOWN)
        if recipe
        else parse_recipe(str(facts["recipe"]), f"{run / 'manifest.json'}, recipe", KNOWN)
    )
    text_stages(pipeline)
    records = {name: record for item in labelling(pipeline) for name, record in item.records().items()}
    files = chain.from_iterable(config_files(run, config).values())
    made_of = MadeOf({"config": config, **parameters_of(pipeline, contents=False)}, inputs_of(run, files))
    recipe_text = dump_recipe(pipeline, published=True)
    return write_labels_only(run, out, config, facts, recipe_text, records, made_of, force)


def labelling(recipe: Sequence[Item], shipped_only: bool = False) -> list[LabelTurns]:
    """Return the stages of a recipe that label, as far as their models are there.

    Args:
        recipe: the stages.
        shipped_only: only those with a model of this package, for a recipe of others: their models are neither read nor
            fetched.
    """
    stages = []
    for item in recipe:
        try:
            if isinstance(item, LabelTurns) and (not shipped_only or item.model in SHIPPED) and item.records():
                stages.append(item)
        except (ValueError, OSError, ImportError):  # a model that only its maker has; the labels name it all the same
            continue
    return stages
