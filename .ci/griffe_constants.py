"""Extension of griffe, which reads signatures for the reference: defaults that are constants are shown by value."""

import re
from importlib import import_module
from typing import Any

import griffe

_CONSTANT = re.compile(r"[A-Z][A-Z_]+")


class Constants(griffe.Extension):
    """Writes `20_000` where a signature says `SHARD_SENTENCES`, and `...` for a private mark of what was not given."""

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:  # noqa: ANN401 - as the base has it
        """Replace the defaults of a function that was read."""
        for parameter in func.parameters:
            default = str(parameter.default)
            if re.fullmatch(r"_[A-Z_]+", default):
                parameter.default = "..."
            elif _CONSTANT.fullmatch(default):
                parameter.default = shown(getattr(import_module(func.module.path), default))


def shown(value: object) -> str:
    """Return a value as one would write it."""
    return f"{value:_}" if isinstance(value, int) and not isinstance(value, bool) else repr(value)
