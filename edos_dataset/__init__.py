"""Dialogues with emotion labels from subtitles and books.

Every command of `edos` is a function here: `curate`, `books`, `segment`, `label`, `respond`, and so on; those for
labelling by people are in `edos_dataset.crowd`. They are imported when first used.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from edos_dataset.version import __version__

if sys.version_info < (3, 10):  # noqa: UP036 - a checkout, or a copied folder; Python 3.8 must parse this file
    sys.exit(
        "edos-dataset needs Python 3.10 or later, and this is Python {}.{}: make an environment with a later one, such "
        "as `python3.12 -m venv .venv`".format(*sys.version_info)  # noqa: UP032
    )

if TYPE_CHECKING:
    from edos_dataset import crowd, stages
    from edos_dataset.commands.audit import audit
    from edos_dataset.commands.books import books
    from edos_dataset.commands.curate import curate
    from edos_dataset.commands.download import download, sample
    from edos_dataset.commands.evaluate import evaluate
    from edos_dataset.commands.export import export
    from edos_dataset.commands.extend import extend
    from edos_dataset.commands.hydrate import hydrate
    from edos_dataset.commands.inspect import inspect, rejects
    from edos_dataset.commands.label import label
    from edos_dataset.commands.labels import labels_list, labels_map, labels_show
    from edos_dataset.commands.labels_only import labels_only
    from edos_dataset.commands.map_pipeline import map_pipeline
    from edos_dataset.commands.options import Result, RunOptions
    from edos_dataset.commands.plan import plan
    from edos_dataset.commands.publish import publish
    from edos_dataset.commands.report import report
    from edos_dataset.commands.reproduce import reproduce
    from edos_dataset.commands.respond import respond
    from edos_dataset.commands.segment import segment
    from edos_dataset.label_sets import LabelSet, load_label_set
    from edos_dataset.recipes import Pipeline, recipe
    from edos_dataset.releases.load import load
    from edos_dataset.releases.views import flat

__all__ = [
    "LabelSet",
    "Pipeline",
    "Result",
    "RunOptions",
    "__version__",
    "audit",
    "books",
    "crowd",
    "curate",
    "download",
    "evaluate",
    "export",
    "extend",
    "flat",
    "hydrate",
    "inspect",
    "label",
    "labels_list",
    "labels_map",
    "labels_only",
    "labels_show",
    "load",
    "load_label_set",
    "map_pipeline",
    "plan",
    "publish",
    "recipe",
    "rejects",
    "report",
    "reproduce",
    "respond",
    "sample",
    "segment",
    "stages",
]

_IN_MODULE = {
    "LabelSet": "label_sets",
    "Pipeline": "recipes",
    "Result": "commands.options",
    "RunOptions": "commands.options",
    "flat": "releases.views",
    "labels_list": "commands.labels",
    "labels_map": "commands.labels",
    "labels_show": "commands.labels",
    "load": "releases.load",
    "load_label_set": "label_sets",
    "recipe": "recipes",
    "rejects": "commands.inspect",
    "sample": "commands.download",
}
"""Modules of the names that are not in the module of `commands` with the same name."""


def __getattr__(name: str) -> Any:  # noqa: ANN401 - verbs need all stages; `import edos_dataset` stays light
    """Import a public name when it is first used."""
    if name in ("crowd", "stages"):
        return import_module(f"{__name__}.{name}")
    if name in __all__:
        return getattr(import_module(f"{__name__}.{_IN_MODULE.get(name, f'commands.{name}')}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
