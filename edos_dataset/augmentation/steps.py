"""The steps of `edos extend` as data: those of the papers, and others from YAML or the command line."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import yaml

from edos_dataset.augmentation.self_labeling import SelfLabelingRules
from edos_dataset.augmentation.spreading import SpreadingRules
from edos_dataset.encoders.encoder import DEFAULT_MODEL
from edos_dataset.runs.recipes import RecipeError, build
from edos_dataset.runs.stores.paths import place_of
from edos_dataset.runs.untrusted import UntrustedInputError, read_yaml, shown, yaml_of


@dataclass(frozen=True)
class SpreadStep(SpreadingRules):
    """A round of similarity spreading.

    Args:
        around: which labels spread: "last" for those of the previous step (the seed's in the first step), or "all".
    """

    around: Literal["last", "all"] = "last"

    name: ClassVar[str] = "spread"


Step = SpreadStep | SelfLabelingRules
KINDS: dict[str, type[Step]] = {SpreadStep.name: SpreadStep, SelfLabelingRules.name: SelfLabelingRules}

PAPERS: tuple[Step, ...] = (SpreadStep(threshold=0.92), SelfLabelingRules(), SpreadStep(threshold=0.9))
"""The steps of EDOS, Section 3.3: spreading around the crowd's dialogues, self-labelling, and spreading around
self-labelled dialogues. The first of the paper's four stages is the seed.
"""

PAPERS_COUNTS = (3196, 4100, 2118)
"""Number of new labels of each of these steps in the paper."""


MINILM: tuple[Step, ...] = (SpreadStep(threshold=0.75), SelfLabelingRules(), SpreadStep(threshold=0.75))
"""The same for the packaged encoder, whose cosines are lower: down to this threshold, near seeds have the same label as
often as at 0.85 (evaluation/spreading.json).
"""

BUILT_IN: dict[str, Sequence[Step]] = {"papers": PAPERS, "minilm": MINILM}


def steps_of(recipe: str | None, encoder: str) -> Sequence[Step]:
    """Return the steps of a recipe.

    Args:
        recipe: one of BUILT_IN, or the path of a YAML file; None for the default of the encoder.
        encoder: name of the encoder.

    Raises:
        RecipeError: as for `read_steps`.
    """
    if recipe is None:
        return MINILM if encoder == DEFAULT_MODEL else PAPERS
    return BUILT_IN[recipe] if recipe in BUILT_IN else read_steps(place_of(recipe))


def read_steps(path: Path) -> list[Step]:
    """Read a recipe of the form `steps: [spread: {threshold: 0.9}, self_label: {top: 50}, ...]`.

    Parameters that it does not name keep their defaults.

    Raises:
        RecipeError: the file has another form, names an unknown step or parameter, or has a value of the wrong type or
            out of range.
    """
    try:
        content = read_yaml(path)
    except UntrustedInputError as error:
        raise RecipeError(f"cannot read the recipe {path}: {error}") from error
    if (
        not isinstance(content, dict)
        or set(content) != {"steps"}
        or not isinstance(content["steps"], list)
        or not content["steps"]
    ):
        raise RecipeError(
            f"{path} is no recipe of `edos extend`: expected one key 'steps' with a list, such as\n{dump_steps(PAPERS)}"
        )
    return [_step(entry, f"{path}, step {number}") for number, entry in enumerate(content["steps"], 1)]


def _step(entry: object, where: str) -> Step:
    if isinstance(entry, str):
        entry = {entry: {}}
    if not isinstance(entry, dict) or len(entry) != 1 or next(iter(entry)) not in KINDS:
        raise RecipeError(f"{where}: expected {' or '.join(KINDS)} with its parameters, got {shown(entry)}")
    ((name, parameters),) = entry.items()
    return build(KINDS[name], {} if parameters is None else parameters, where)


def dump_steps(steps: Sequence[Step]) -> str:
    """Return steps as YAML, with all their parameters."""
    return yaml.safe_dump({"steps": [{step.name: asdict(step)} for step in steps]}, sort_keys=False)


def override_steps(steps: Sequence[Step], settings: Sequence[str]) -> list[Step]:
    """Change parameters of steps.

    Args:
        steps: the steps.
        settings: "NUMBER.PARAMETER=VALUE" with the number of the step, from 1, and the value as YAML, such as
            "1.threshold=0.85".

    Raises:
        RecipeError: a setting has another form, or names a step or parameter that does not exist.
    """
    changed = list(steps)
    for setting in settings:
        target, equals, value = setting.partition("=")
        number, dot, parameter = target.partition(".")
        if not (equals and dot and number.isdigit() and 1 <= int(number) <= len(changed)):
            raise RecipeError(
                f"--set expects STEP.PARAMETER=VALUE with a step from 1 to {len(changed)}, as in 1.threshold=0.85; got "
                f"{setting!r}"
            )
        old = changed[int(number) - 1]
        try:
            parameters: dict[str, Any] = {**asdict(old), parameter: yaml_of(value)}
        except UntrustedInputError as error:
            raise RecipeError(
                f"--set {setting}: {shown(value)} is not a YAML value ({error}); put a text with special "
                "signs in quotes"
            ) from error
        changed[int(number) - 1] = build(type(old), parameters, f"--set {setting}")
    return changed
