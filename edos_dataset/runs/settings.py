"""Parameters of a pipeline changed one by one, as `--set dialogues.gap=4.0` does."""

from collections.abc import Sequence
from typing import Any, get_type_hints

from edos_dataset.runs.foreign import ForeignError, shown, yaml_of
from edos_dataset.runs.pipeline import Output, parameter_names
from edos_dataset.runs.recipes import Item, RecipeError, build, nearest


def override(pipeline: Sequence[Item], settings: Sequence[str]) -> list[Item]:
    """Change parameters of a pipeline.

    Args:
        pipeline: the stages.
        settings: texts "STAGE.PARAMETER=VALUE", the value as YAML: "dialogues.gap=4.0".

    Raises:
        RecipeError: a text of another form, or a stage or parameter that is not there.
    """
    for setting in settings:
        target, equals, text = setting.partition("=")
        if not (equals and "." in target):
            raise RecipeError(f"--set expects STAGE.PARAMETER=VALUE, as in dialogues.gap=4.0; got {shown(setting)}")
        try:
            value = yaml_of(text)
        except ForeignError as error:
            raise RecipeError(
                f"--set {setting}: {shown(text)} is not a YAML value ({error}); put a text with special signs in quotes"
            ) from error
        place, parameter = _find(pipeline, target, f"--set {setting}")
        if get_type_hints(type(pipeline[place]))[parameter] is str and not isinstance(value, str):
            value = text  # YAML reads `no`, the code of Norwegian, as false
        pipeline = assign(pipeline, target, value, f"--set {setting}")
    return list(pipeline)


def assign(pipeline: Sequence[Item], target: str, value: Any, where: str) -> list[Item]:  # noqa: ANN401 - as `_typed`
    """Change one parameter of a pipeline.

    Args:
        pipeline: the stages.
        target: "STAGE.PARAMETER".
        value: what it becomes.
        where: names the wish in messages: "--set dialogues.gap=4.0".

    Raises:
        RecipeError: the stage or parameter is not there, or the value is of the wrong type or out of range.
    """
    items = list(pipeline)
    place, parameter = _find(pipeline, target, where)
    old = items[place]
    assert not isinstance(old, Output)
    parameters = {name: getattr(old, name) for name in parameter_names(old)}
    items[place] = build(type(old), {**parameters, parameter: value}, where)
    return items


def _find(pipeline: Sequence[Item], target: str, where: str) -> tuple[int, str]:
    """Return the place of the stage and the name of the parameter that "STAGE.PARAMETER" names."""
    stages = {item.name: place for place, item in enumerate(pipeline) if not isinstance(item, Output)}
    stage, _, parameter = target.partition(".")
    if stage not in stages:
        raise RecipeError(f"{where}: unknown stage {stage!r}{nearest(stage, list(stages))}")
    known = {item.name: parameter_names(item) for item in pipeline if not isinstance(item, Output)}
    if parameter not in known[stage]:
        others = [name for name, parameters in known.items() if parameter in parameters]
        hint = f"; there is {others[0]}.{parameter}" if others else nearest(parameter, known[stage])
        raise RecipeError(f"{where}: stage {stage!r} has no parameter {parameter!r}{hint}")
    return stages[stage], parameter
