"""Labels by people: selecting dialogues, measuring agreement, aggregating answers, and splitting without leaks.

The verbs of `edos crowd` are functions of this package (`VERBS`: `select`, `make_hits`, `serve`, ...), each imported on
first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edos_dataset.commands.crowd import (
        collect,
        export,
        import_answers,
        invite,
        judge_workers,
        make_hits,
        make_seed,
        measure_agreement,
        measure_judgements,
        select,
        serve,
    )
    from edos_dataset.commands.crowd_mturk import mturk_bonus, mturk_create, mturk_fetch, mturk_files, mturk_status

__all__ = [
    "collect",
    "export",
    "import_answers",
    "invite",
    "judge_workers",
    "make_hits",
    "make_seed",
    "measure_agreement",
    "measure_judgements",
    "mturk_bonus",
    "mturk_create",
    "mturk_fetch",
    "mturk_files",
    "mturk_status",
    "select",
    "serve",
]

VERBS = tuple(__all__)
"""Names of the public functions."""


def __getattr__(name: str) -> Any:  # noqa: ANN401 - the verbs import more than this package does
    """Import a verb on first use."""
    if name in VERBS:
        module = "crowd_mturk" if name.startswith("mturk_") else "crowd"
        return getattr(import_module(f"edos_dataset.commands.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *VERBS})
