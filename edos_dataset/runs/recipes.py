"""Recipes: a pipeline as YAML and back. The Python list is the truth; the YAML is its serialisation."""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, asdict, fields, is_dataclass, replace
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path, PurePath
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, Protocol, TypeVar, Union, get_args, get_origin, get_type_hints

import yaml

from edos_dataset.runs.foreign import ForeignError, read_yaml, shown, yaml_of
from edos_dataset.runs.pipeline import CorpusStep, Output, Pipeline, Stage, parameter_names
from edos_dataset.schema import BOOK_CONFIGS, CONFIGS

Item = Stage | CorpusStep | Output
Known = Mapping[str, type[Stage] | type[CorpusStep]]
"""Stage name to class."""


_LONGEST_NAME = 100
"""Characters of a name that are compared with the known ones."""


class RecipeError(ValueError):
    """A recipe that cannot be carried out; the message says where and what would be right."""


def dump_recipe(pipeline: Pipeline, published: bool = False) -> str:
    """Return a pipeline as YAML: the stages in order, each with all its parameters.

    Args:
        pipeline: the stages.
        published: it is for others: of a parameter that is a path on this machine, such as a model's folder, only the
            name is told. Who runs it gives a path in its place.
    """
    stages = [_as_yaml(item, published) for item in pipeline]
    return yaml.safe_dump({"stages": stages}, sort_keys=False, allow_unicode=True)


def _as_yaml(item: Item, published: bool) -> str | dict[str, Any]:
    if isinstance(item, Output):
        return {"output": item.config}
    given = asdict(item)
    parameters = {
        key: list(given[key]) if isinstance(given[key], tuple) else given[key] for key in parameter_names(item)
    }
    if published:
        parameters = {key: _name_of(value) if isinstance(value, str) else value for key, value in parameters.items()}
    kind = type(item)
    ours = kind.__module__.partition(".")[0] == __name__.partition(".")[0]
    name = item.name if ours else f"{kind.__module__}:{kind.__qualname__}"
    return {name: parameters} if parameters else name


def _name_of(value: str) -> str:
    """Return the last part of a path from the root or the home of this machine, and another text as it is."""
    return PurePath(value).name if PurePath(value).is_absolute() or value.startswith("~") else value


def load_recipe(path: Path, known: Known, custom: bool = False) -> list[Item]:
    """Read a recipe. A parameter that it does not name keeps its default.

    Args:
        path: the YAML file.
        known: the stages that may be named.
        custom: stages of other packages may be named, too, as "package.module:Class". Their code is imported, so this
            is for recipes of the user's own, not for those that came with data of others.

    Raises:
        RecipeError: the file is no recipe, or it names an unknown stage, parameter or config, or a value is of the
            wrong type or out of range.
    """
    try:
        return _items(read_yaml(path), str(path), known, custom)
    except ForeignError as error:
        raise RecipeError(f"cannot read the recipe {path}: {error}") from error


def parse_recipe(text: str, where: str, known: Known, custom: bool = False) -> list[Item]:
    """Return the pipeline that a YAML text says, as `load_recipe` does; `where` names it in messages."""
    try:
        return _items(yaml_of(text), where, known, custom)
    except ForeignError as error:
        raise RecipeError(f"cannot read the recipe {where}: {error}") from error


def _items(content: object, where: str, known: Known, custom: bool) -> list[Item]:
    if not isinstance(content, dict) or not isinstance(content.get("stages"), list):
        raise RecipeError(
            f"{where} is no recipe: expected a key 'stages' with a list; `edos recipe` prints the default one"
        )
    for key in content:
        if key != "stages":
            raise RecipeError(f"{where}: unknown key {shown(key)}; the only one is 'stages'")
    return [
        _item(entry, f"{where}, stage {number}", known, custom) for number, entry in enumerate(content["stages"], 1)
    ]


def _item(entry: object, where: str, known: Known, custom: bool) -> Item:
    if isinstance(entry, str):
        entry = {entry: {}}
    if not isinstance(entry, dict) or len(entry) != 1:
        raise RecipeError(f"{where}: expected one stage name with its parameters, got {shown(entry)}")
    ((name, parameters),) = entry.items()
    if name == "output":
        configs = (*CONFIGS, *BOOK_CONFIGS)
        if parameters not in configs:
            raise RecipeError(f"{where}: unknown config {shown(parameters)}{nearest(str(parameters), configs)}")
        return Output(parameters)
    if ":" in str(name) and not custom:
        raise RecipeError(
            f"{where}: {shown(name)} is code of another package, which is run only for a recipe of your own"
        )
    kind = _imported(name, where) if ":" in str(name) else known.get(name)
    if kind is None:
        raise RecipeError(f"{where}: unknown stage {shown(name)}{nearest(str(name), [*known, 'output'])}")
    return build(kind, {} if parameters is None else parameters, where)


def _imported(name: str, where: str) -> type[Stage] | type[CorpusStep]:
    """Return the stage of another package that a recipe names as "package.module:Class"."""
    module, _, attribute = name.partition(":")
    try:
        kind = getattr(import_module(module), attribute)
    except (ImportError, ValueError) as error:
        raise RecipeError(
            f"{where}: cannot import the module of {name!r} ({error}): is its package installed?"
        ) from error
    except AttributeError as error:
        raise RecipeError(f"{where}: {module} has no {attribute!r}, which {name!r} names") from error
    if not (isinstance(kind, type) and issubclass(kind, Stage | CorpusStep) and is_dataclass(kind)):
        raise RecipeError(f"{where}: {name!r} is no stage: expected a frozen dataclass below Stage or CorpusStep")
    if lacking := [
        field.name for field in fields(kind) if field.default is MISSING and field.default_factory is MISSING
    ]:
        raise RecipeError(
            f"{where}: the parameter {lacking[0]!r} of {name!r} has no default, which every parameter needs"
        )
    return kind


class Named(Protocol):
    """What a recipe may name: a frozen dataclass whose fields, all with defaults, are its parameters."""

    name: ClassVar[str]
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


N = TypeVar("N", bound=Named)


def build(kind: type[N], parameters: Mapping[str, Any], where: str) -> N:
    """Make a stage, or another thing with a name, from named parameters.

    Raises:
        RecipeError: an unknown name (the message gives the nearest known one), or a value of the wrong type or out of
            range.
    """
    names = parameter_names(kind)
    if not isinstance(parameters, Mapping):
        raise RecipeError(
            f"{where}: the parameters of {kind.name!r} must be `name: value` pairs, got {shown(parameters)}"
        )
    for key in parameters:
        if key not in names:
            raise RecipeError(f"{where}: stage {kind.name!r} has no parameter {shown(key)}{nearest(str(key), names)}")
    try:
        hints = get_type_hints(kind)
        return replace(kind(), **{key: _typed(hints[key], value, key) for key, value in parameters.items()})
    except ValueError as error:
        raise RecipeError(f"{where}, stage {kind.name!r}: {error}") from error


def _typed(hint: Any, value: Any, key: str) -> Any:  # noqa: ANN401 - a parameter may be anything that YAML writes
    """Return a value that YAML read as the type that a parameter is annotated with."""
    if get_origin(hint) is Literal:
        if not isinstance(value, str | int) or value not in get_args(hint):
            raise ValueError(f"{key} must be one of {', '.join(map(repr, get_args(hint)))}, got {shown(value)}")
        return value
    if get_origin(hint) in (Union, UnionType):  # X | None
        (inner,) = set(get_args(hint)) - {NoneType}
        return None if value is None else _typed(inner, value, key)
    if get_origin(hint) is tuple and isinstance(value, list | tuple):  # tuple[X, ...]
        return tuple(_typed(get_args(hint)[0], item, f"{key}[{place}]") for place, item in enumerate(value))
    if get_origin(hint) is dict and isinstance(value, dict):  # dict[str, X]
        return {name: _typed(get_args(hint)[1], item, f"{key}.{name}") for name, item in value.items()}
    if hint is float and type(value) is int:
        return float(value)
    if type(value) is not hint:
        name = "list" if get_origin(hint) is tuple else hint.__name__
        # YAML 1.1 reads `no`, the code of Norwegian, as false.
        quoted = "; put a text in quotes" if hint is str and value is not None else ""
        raise ValueError(f"{key} must be of type {name}, got {shown(value)}{quoted}")
    return value


def nearest(name: str, names: Sequence[str]) -> str:
    """Return what to add to a message about an unknown name: the known one that is near, or all."""
    close = get_close_matches(name[:_LONGEST_NAME], names, n=1, cutoff=0.4)
    return f"; did you mean {close[0]!r}?" if close else f"; there are {', '.join(names) or 'none'}"
