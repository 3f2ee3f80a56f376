"""`Pipeline`: the stages of a recipe, which can be changed and passed to `edos_dataset.curate` or
`edos_dataset.books`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from html import escape
from typing import Any, overload

from edos_dataset.runs.pipeline import CorpusStep, Output, Stage, check_order, parameter_names
from edos_dataset.runs.recipes import Item, RecipeError, assign, dump_recipe, nearest
from edos_dataset.wording import counted

_NOT_GIVEN: Any = object()


class Pipeline(Sequence[Item]):
    """The stages of a recipe, in order. A pipeline is immutable: each method returns a new one.

        pipeline = recipe("default").set("dialogues.gap", 4.0).without("cap").insert_after("clean", NoQuestions())

    Stages are named as in `edos recipe`, and outputs by their config ("os"). A pipeline is a sequence of its stages;
    `pipeline["dialogues"]` is the stage of that name.

    Args:
        items: stages, corpus steps and outputs.

    Raises:
        TypeError: an item is something else, such as a class in place of a stage.
    """

    def __init__(self, items: Iterable[Item] = ()) -> None:
        self._items = tuple(map(_checked, items))

    @property
    def names(self) -> list[str]:
        """The names of the stages, and the configs of the outputs, in order."""
        return [_name(item) for item in self._items]

    def insert_before(self, name: str, *items: Item) -> "Pipeline":
        """Return the pipeline with stages inserted before a named stage.

        Raises:
            RecipeError: no stage has that name; the message suggests the nearest. The other methods also raise this.
        """
        place = self._place(name)
        return Pipeline([*self._items[:place], *items, *self._items[place:]])

    def insert_after(self, name: str, *items: Item) -> "Pipeline":
        """Return the pipeline with stages inserted after a named stage."""
        place = self._place(name) + 1
        return Pipeline([*self._items[:place], *items, *self._items[place:]])

    def replace(self, name: str, *items: Item) -> "Pipeline":
        """Return the pipeline with one or more stages in place of a named stage."""
        place = self._place(name)
        return Pipeline([*self._items[:place], *items, *self._items[place + 1 :]])

    def without(self, *names: str) -> "Pipeline":
        """Return the pipeline without the named stages."""
        left_out = set(map(self._place, names))
        return Pipeline(item for place, item in enumerate(self._items) if place not in left_out)

    def set(self, parameter: str | Mapping[str, Any], value: Any = _NOT_GIVEN) -> "Pipeline":  # noqa: ANN401 - any type
        """Return the pipeline with changed parameters.

            pipeline.set("dialogues.gap", 4.0)
            pipeline.set({"dialogues.gap": 4.0, "clean.min_length": 3})

        Args:
            parameter: "STAGE.PARAMETER", or several with their values.
            value: the new value, if a single parameter is named.

        Raises:
            RecipeError: there is no such parameter, or the value is of the wrong type or out of range.
        """
        if isinstance(parameter, str) == (value is _NOT_GIVEN):
            raise TypeError('give set("STAGE.PARAMETER", value) or set({"STAGE.PARAMETER": value, ...})')
        changes = {parameter: value} if isinstance(parameter, str) else parameter
        items: Sequence[Item] = self._items
        for target, new in changes.items():
            if "." not in target:
                raise RecipeError(f"set({target!r}): expected 'STAGE.PARAMETER', as in 'dialogues.gap'")
            items = assign(items, target, new, f"set({target!r})")
        return Pipeline(items)

    def check(self) -> "Pipeline":
        """Return the pipeline if every stage comes after the stages that make what it needs; a run also checks this.

        Raises:
            ValueError: the order is wrong, or a stage occurs twice.
        """
        check_order(self._items)
        return self

    def to_yaml(self) -> str:
        """Return the pipeline as a recipe, which `recipe(path)` and `edos curate --recipe PATH` read."""
        return dump_recipe(self._items)

    @overload
    def __getitem__(self, key: int | str) -> Item: ...
    @overload
    def __getitem__(self, key: slice) -> "Pipeline": ...
    def __getitem__(self, key: int | str | slice) -> "Item | Pipeline":
        """Return a stage, by place or name, or a part of the pipeline."""
        if isinstance(key, slice):
            return Pipeline(self._items[key])
        return self._items[self._place(key) if isinstance(key, str) else key]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Item]:
        return iter(self._items)

    def __contains__(self, item: object) -> bool:
        return item in self.names if isinstance(item, str) else item in self._items

    def __eq__(self, other: object) -> bool:
        """Return whether another pipeline or list has the same stages with the same parameters."""
        return tuple(other) == self._items if isinstance(other, Pipeline | list | tuple) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Return one line per stage, with the parameters that differ from their defaults."""
        rows = list(self._rows())
        width = max((len(name) for _, name, _ in rows), default=0)
        stages = sum(not isinstance(item, Output) for item in self._items)
        return "\n".join(
            [
                f"Pipeline of {counted(stages, 'stages')}",
                *(f"  {name:{width}}  {text}".rstrip() for _, name, text in rows),
            ]
        )

    def _repr_html_(self) -> str:
        rows = (
            f"<tr><td>{number}</td><td><b>{escape(name)}</b></td><td>{escape(text)}</td></tr>"
            for number, name, text in self._rows()
        )
        head = "<tr><th></th><th>stage</th><th>parameters that differ from their defaults</th></tr>"
        return f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"

    def _rows(self) -> Iterator[tuple[int, str, str]]:
        for number, item in enumerate(self._items, 1):
            if isinstance(item, Output):
                yield number, f"→ {item.config}", "published here"
            else:
                yield number, item.name, ", ".join(f"{name}={value!r}" for name, value in _changed(item).items())

    def _place(self, name: str) -> int:
        if name not in self.names:
            raise RecipeError(f"the pipeline has no stage {name!r}{nearest(str(name), self.names)}")
        return self.names.index(name)


def _checked(item: Item) -> Item:
    if isinstance(item, type):
        raise TypeError(f"a pipeline holds stages, not classes: give {item.__name__}()")
    if not isinstance(item, Stage | CorpusStep | Output):
        raise TypeError(f"{item!r} is no stage: give a Stage, a CorpusStep or an Output (see edos_dataset.stages)")
    return item


def _name(item: Item) -> str:
    return item.config if isinstance(item, Output) else item.name


def _changed(stage: Stage | CorpusStep) -> dict[str, Any]:
    defaults = {
        field.name: field.default if field.default_factory is MISSING else field.default_factory()
        for field in fields(stage)
    }
    given = {name: getattr(stage, name) for name in parameter_names(stage)}
    return {name: value for name, value in given.items() if value != defaults[name]}
