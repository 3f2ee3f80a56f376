"""Recipes: a pipeline as YAML and back. The Python list is the truth; the YAML is its serialisation."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

from edos_dataset.pipeline import CorpusStep, Output, Pipeline, Stage

Item = Stage | CorpusStep | Output
Known = Mapping[str, type[Stage] | type[CorpusStep]]
"""Stage name to class."""


class RecipeError(ValueError):
    """A recipe that cannot be carried out; the message says where and what would be right."""


def dump_recipe(pipeline: Pipeline) -> str:
    """Return a pipeline as YAML: the stages in order, each with all its parameters."""
    return yaml.safe_dump({"stages": [_as_yaml(item) for item in pipeline]}, sort_keys=False, allow_unicode=True)


def _as_yaml(item: Item) -> str | dict[str, Any]:
    if isinstance(item, Output):
        return {"output": item.config}
    parameters = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(item).items()}
    return {item.name: parameters} if parameters else item.name


def load_recipe(path: Path, known: Known) -> list[Item]:
    """Read a recipe. A parameter that it does not name keeps its default.

    Args:
        path: the YAML file.
        known: the stages that may be named.

    Raises:
        RecipeError: the file is no recipe, or it names an unknown stage or parameter, or a value is out of range.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise RecipeError(f"cannot read the recipe {path}: {error}") from error
    if not isinstance(content, dict) or not isinstance(content.get("stages"), list):
        raise RecipeError(f"{path} is no recipe: expected a key 'stages' with a list; `edos recipe` prints the default one")
    for key in content:
        if key != "stages":
            raise RecipeError(f"{path}: unknown key {key!r}; the only one is 'stages'")
    return [_item(entry, f"{path}, stage {number}", known) for number, entry in enumerate(content["stages"], 1)]


def _item(entry: object, where: str, known: Known) -> Item:
    if isinstance(entry, str):
        entry = {entry: {}}
    if not isinstance(entry, dict) or len(entry) != 1:
        raise RecipeError(f"{where}: expected one stage name with its parameters, got {entry!r}")
    ((name, parameters),) = entry.items()
    if name == "output":
        return Output(str(parameters))
    if name not in known:
        raise RecipeError(f"{where}: unknown stage {name!r}{_nearest(str(name), [*known, 'output'])}")
    return build(known[name], parameters or {}, where)


def build(kind: type[Stage] | type[CorpusStep], parameters: Mapping[str, Any], where: str) -> Stage | CorpusStep:
    """Make a stage from named parameters.

    Raises:
        RecipeError: an unknown name (the message gives the nearest known one), or a value of the wrong type or out of range.
    """
    names = [field.name for field in fields(kind)]
    if not isinstance(parameters, Mapping):
        raise RecipeError(f"{where}: the parameters of {kind.name!r} must be `name: value` pairs, got {parameters!r}")
    for key in parameters:
        if key not in names:
            raise RecipeError(f"{where}: stage {kind.name!r} has no parameter {key!r}{_nearest(str(key), names)}")
    try:
        default = kind()
        return replace(default, **{key: _like(getattr(default, key), value, key) for key, value in parameters.items()})
    except ValueError as error:
        raise RecipeError(f"{where}, stage {kind.name!r}: {error}") from error


def _like(default: Any, value: Any, key: str) -> Any:  # noqa: ANN401 - a parameter may be anything that YAML writes
    """Return a value in the type of the parameter's default."""
    if isinstance(default, tuple) and isinstance(value, list):
        return tuple(value)
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if default is not None and value is not None and type(value) is not type(default):
        raise ValueError(f"{key} must be of type {type(default).__name__}, got {value!r}")
    return value


def override(pipeline: Sequence[Item], settings: Sequence[str]) -> list[Item]:
    """Change parameters of a pipeline.

    Args:
        pipeline: the stages.
        settings: texts "STAGE.PARAMETER=VALUE", the value as YAML: "dialogues.gap=4.0".

    Raises:
        RecipeError: a text of another form, or a stage or parameter that is not there.
    """
    items = list(pipeline)
    stages = {item.name: index for index, item in enumerate(items) if not isinstance(item, Output)}
    for setting in settings:
        target, equals, value = setting.partition("=")
        stage, dot, parameter = target.partition(".")
        if not (equals and dot):
            raise RecipeError(f"--set expects STAGE.PARAMETER=VALUE, as in dialogues.gap=4.0; got {setting!r}")
        if stage not in stages:
            raise RecipeError(f"--set {setting}: unknown stage {stage!r}{_nearest(stage, list(stages))}")
        old = items[stages[stage]]
        assert not isinstance(old, Output)
        parameters = {field.name: getattr(old, field.name) for field in fields(old)}
        if parameter not in parameters:
            raise RecipeError(f"--set {setting}: stage {stage!r} has no parameter {parameter!r}{_nearest(parameter, list(parameters))}")
        items[stages[stage]] = build(type(old), {**parameters, parameter: yaml.safe_load(value)}, f"--set {setting}")
    return items


def _nearest(name: str, names: Sequence[str]) -> str:
    close = get_close_matches(name, names, n=1, cutoff=0.4)
    return f"; did you mean {close[0]!r}?" if close else f"; there are {', '.join(names) or 'none'}"
