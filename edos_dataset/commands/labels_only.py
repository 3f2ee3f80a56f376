"""The verb `labels_only`: writes the labels of a run without the text, and the recipe from which `hydrate` rebuilds
it.
"""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from edos_dataset.cleaning.duplicates import KeyTurns
from edos_dataset.commands.options import Result, verb
from edos_dataset.labeling.models.shipped import SHIPPED
from edos_dataset.labeling.stages import EncodeTurns, LabelTurns
from edos_dataset.publishing.labels_only import write_labels_only
from edos_dataset.recipes.subtitles import KNOWN
from edos_dataset.runs.arguments import check_apart
from edos_dataset.runs.folder import config_files
from edos_dataset.runs.manifest import read_manifest
from edos_dataset.runs.pipeline import Stage
from edos_dataset.runs.provenance import Provenance, inputs_of, parameters_of
from edos_dataset.runs.recipes import Item, dump_recipe, load_recipe, parse_recipe
from edos_dataset.runs.stores.paths import place_of
from edos_dataset.segmentation.dialogues import JudgeDialogues
from edos_dataset.sources.read import ReadFilms

_NOT_OF_TEXT = KeyTurns | JudgeDialogues | EncodeTurns | LabelTurns


def text_stages(recipe: Sequence[Item]) -> list[Stage]:
    """Return the stages of a recipe that determine the text of the dialogues.

    These are all stages except those that compute keys for corpus steps, estimate certainty, or label.

    Raises:
        ValueError: there are none, or the first does not read films.
    """
    stages = [item for item in recipe if isinstance(item, Stage) and not isinstance(item, _NOT_OF_TEXT)]
    if not stages or not isinstance(stages[0], ReadFilms):
        raise ValueError(
            f"the recipe of these labels does not begin with the stage {ReadFilms.name!r}, so no text can be made by it"
        )
    return stages


@verb
def labels_only(
    run: str | Path,
    out: str | Path,
    config: str = "edos",
    recipe: str | Path | None = None,
    *,
    force: bool = False,
) -> Result:
    """Write the labels of a run without any text: ids, hashes of the turns, labels.

    Args:
        run: folder written by `curate` or `label`.
        out: output folder, new, empty or with earlier labels.
        config: "edos" or "edos_initial".
        recipe: YAML file of the recipe that made the dialogues; by default the one in the run's manifest.
        force: replace finished labels of another config, recipe or run, and files that were edited since.

    Returns:
        The manifest of the labels.

    Raises:
        FolderError: `run` holds no finished run, or `out` holds something else.
        ValueError: the run has no such config, or there is no recipe that can rebuild the text.
    """
    run, out = place_of(run), place_of(out)
    check_apart(out, [run])
    facts = read_manifest(run)
    if recipe is None and "recipe" not in facts:
        raise ValueError(
            f"{run} does not say how its dialogues were made: give the recipe of the `edos curate` run that made them "
            "as --recipe"
        )
    pipeline = (
        load_recipe(place_of(recipe), KNOWN)
        if recipe
        else parse_recipe(str(facts["recipe"]), f"{run / 'manifest.json'}, recipe", KNOWN)
    )
    text_stages(pipeline)
    records = {name: record for item in labelling(pipeline) for name, record in item.records().items()}
    files = chain.from_iterable(config_files(run, config).values())
    made_of = Provenance({"config": config, **parameters_of(pipeline, contents=False)}, inputs_of(run, files))
    text = dump_recipe(pipeline, published=True)
    manifest = write_labels_only(run, out, config, facts, text, records, made_of, force)
    counted = {f"labelled {unit}": sum(manifest[unit].values()) for unit in ("dialogues", "turns")}
    return Result("labels_only", manifest, out, counted, '.load("labels_only")')


def labelling(recipe: Sequence[Item], shipped_only: bool = False) -> list[LabelTurns]:
    """Return the labelling stages of a recipe whose models are available.

    Args:
        recipe: stages, corpus steps and outputs.
        shipped_only: only stages with a model that ships with this package; for an untrusted recipe, whose other models
            must be neither loaded nor downloaded.
    """
    stages = []
    for item in recipe:
        try:
            if isinstance(item, LabelTurns) and (not shipped_only or item.model in SHIPPED) and item.records():
                stages.append(item)
        except (ValueError, OSError, ImportError):  # a private model, which the labels nevertheless name
            continue
    return stages
