"""Recipes: convert a pipeline to YAML and back, and change its parameters. The YAML is a serialisation of the Python
list.
"""

import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, asdict, fields, is_dataclass, replace
from importlib import import_module
from pathlib import Path, PurePath
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, Protocol, TypeVar, Union, get_args, get_origin, get_type_hints

import yaml

from edos_dataset.runs.pipeline import CorpusStep, Output, Stage, Steps, parameter_names
from edos_dataset.runs.untrusted import UntrustedInputError, read_yaml, shown, yaml_of
from edos_dataset.schema import BOOK_CONFIGS, CONFIGS, REGISTRY
from edos_dataset.text import nearest as nearest

Item = Stage | CorpusStep | Output
Known = Mapping[str, type[Stage] | type[CorpusStep]]
"""Stage name to class."""

WIDTH = 120

_SECTION = re.compile(r"^(?:Args|Attributes):\n((?:(?: {4}.*)?(?:\n|$))*)", re.MULTILINE)
_ENTRY = re.compile(r"^ {4}(\w+): *(.+(?:\n {8,}.*)*)", re.MULTILINE)


class RecipeError(ValueError):
    """A recipe that cannot be used; the message says where it is wrong and what would be right."""


def dump_recipe(pipeline: Steps, published: bool = False) -> str:
    """Return a pipeline as YAML: the stages in order, each with all its parameters.

    Args:
        pipeline: the stages.
        published: whether it is for others; then a path on this machine, such as a model's folder, is shortened to its
            last name, which a user of the recipe replaces by a path.
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
    """Return the last part of an absolute path or a path from the home folder; other texts unchanged."""
    return PurePath(value).name if PurePath(value).is_absolute() or value.startswith("~") else value


def parameter_docs(kind: type) -> dict[str, str]:
    """Return the descriptions of a class's parameters in its Google-style docstring, by name, each on one line.

    Args:
        kind: the class; `Args:` and `Attributes:` are read. Without a docstring of its own, that of its base is used.
    """
    sections = _SECTION.findall(inspect.getdoc(kind) or "")
    return {name: " ".join(text.split()) for section in sections for name, text in _ENTRY.findall(section)}


def described_recipe(pipeline: Steps) -> str:
    """Return the output of `dump_recipe` with comment lines that explain each stage and each parameter."""
    return "stages:\n" + "".join(line for item in pipeline for line in _described(item))


def _described(item: Item) -> Iterator[str]:
    kind = type(item)
    if isinstance(item, Output):
        summary, meanings = f"The dialogues that arrive here are a config: {REGISTRY[item.config].description}.", {}
    else:
        summary, meanings = " ".join((inspect.getdoc(kind) or "").partition("\n\n")[0].split()), parameter_docs(kind)
    yield from _comment(summary, "")
    for line in dump_recipe([item]).splitlines(keepends=True)[1:]:
        parameter = re.match(r" {4}(\w+):", line)
        yield from _comment(meanings.get(parameter[1], "") if parameter else "", "    ")
        yield line


def _comment(text: str, indent: str) -> Iterator[str]:
    for line in textwrap.wrap(text, WIDTH - len(indent) - 2, break_long_words=False, break_on_hyphens=False):
        yield f"{indent}# {line}\n"


def load_recipe(path: Path, known: Known, custom: bool = False) -> list[Item]:
    """Read a recipe. A parameter that it does not name keeps its default.

    Args:
        path: the YAML file.
        known: the stages that may be named.
        custom: whether stages of other packages may be named as well, as "package.module:Class". Their code is
            imported, so this is for a user's own recipes, not for untrusted input.

    Raises:
        RecipeError: the file is not a recipe, it names an unknown stage, parameter or config, or a value is of the
            wrong type or out of range.
    """
    try:
        return _items(read_yaml(path), str(path), known, custom)
    except UntrustedInputError as error:
        raise RecipeError(f"cannot read the recipe {path}: {error}") from error


def parse_recipe(text: str, where: str, known: Known, custom: bool = False) -> list[Item]:
    """Return the pipeline of a YAML text, as `load_recipe` does; `where` names it in messages."""
    try:
        return _items(yaml_of(text), where, known, custom)
    except UntrustedInputError as error:
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
    """A class that a recipe may name: a frozen dataclass whose fields, all with defaults, are its parameters."""

    name: ClassVar[str]
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


N = TypeVar("N", bound=Named)


def build(kind: type[N], parameters: Mapping[str, Any], where: str) -> N:
    """Return a stage, or another `Named` object, made from named parameters.

    Raises:
        RecipeError: a name is unknown (the message suggests the nearest), or a value is of the wrong type or out of
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
    return _make(kind, kind, parameters, where)


def _make(make: Callable[..., N], kind: type[N], parameters: Mapping[str, Any], where: str) -> N:
    try:
        hints = get_type_hints(kind)
        return make(**{key: _typed(hints[key], value, key) for key, value in parameters.items()})
    except (ValueError, TypeError) as error:
        raise RecipeError(f"{where}, stage {kind.name!r}: {error}") from error


def _typed(hint: Any, value: Any, key: str) -> Any:  # noqa: ANN401 - a parameter may be anything that YAML writes
    """Return a value read from YAML, converted to the annotated type of a parameter."""
    kind = get_origin(hint)
    if kind is Literal:
        return _one_of(get_args(hint), value, key)
    if kind in (Union, UnionType):
        return _one_typed(get_args(hint), value, key)
    if kind in (tuple, list) and isinstance(value, list | tuple):  # tuple[X, ...]
        return kind(_typed(get_args(hint)[0], item, f"{key}[{place}]") for place, item in enumerate(value))
    if kind is dict and isinstance(value, dict):  # dict[str, X]
        return {name: _typed(get_args(hint)[1], item, f"{key}.{name}") for name, item in value.items()}
    if hint is float and type(value) is int:
        return float(value)
    if hint is not Any and type(value) is not hint:
        raise ValueError(_wrong_type(hint, value, key))
    return value


def _one_of(choices: Sequence[Any], value: Any, key: str) -> Any:  # noqa: ANN401 - as above
    if not isinstance(value, str | int) or value not in choices:
        raise ValueError(f"{key} must be one of {', '.join(map(repr, choices))}, got {shown(value)}")
    return value


def _one_typed(hints: Sequence[Any], value: Any, key: str) -> Any:  # noqa: ANN401 - as above
    """Return a value as the first type that fits it, of several such as X | None."""
    *others, last = [hint for hint in hints if hint is not NoneType]
    if value is None and NoneType in hints:
        return None
    for hint in others:
        try:
            return _typed(hint, value, key)
        except ValueError:
            continue
    return _typed(last, value, key)


def _wrong_type(hint: Any, value: Any, key: str) -> str:  # noqa: ANN401 - as above
    name = "list" if get_origin(hint) is tuple else getattr(hint, "__name__", str(hint))
    # YAML 1.1 reads `no`, the code of Norwegian, as false.
    quoted = "; put a text in quotes" if hint is str and value is not None else ""
    return f"{key} must be of type {name}, got {shown(value)}{quoted}"


def override(pipeline: Sequence[Item], settings: Sequence[str]) -> list[Item]:
    """Change parameters of a pipeline, as `--set dialogues.gap=4.0` does.

    Args:
        pipeline: the stages.
        settings: texts "STAGE.PARAMETER=VALUE", the value as YAML: "dialogues.gap=4.0".

    Raises:
        RecipeError: a text has another form, or names an unknown stage or parameter.
    """
    for setting in settings:
        target, equals, text = setting.partition("=")
        if not (equals and "." in target):
            raise RecipeError(f"--set expects STAGE.PARAMETER=VALUE, as in dialogues.gap=4.0; got {shown(setting)}")
        try:
            value = yaml_of(text)
        except UntrustedInputError as error:
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
        value: its new value.
        where: names the change in messages: "--set dialogues.gap=4.0".

    Raises:
        RecipeError: the stage or parameter is unknown, or the value is of the wrong type or out of range.
    """
    items = list(pipeline)
    place, parameter = _find(pipeline, target, where)
    old = items[place]
    assert not isinstance(old, Output)
    items[place] = _make(lambda **changed: replace(old, **changed), type(old), {parameter: value}, where)
    return items


def _find(pipeline: Sequence[Item], target: str, where: str) -> tuple[int, str]:
    """Return the place of the stage and the name of the parameter in "STAGE.PARAMETER"."""
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
