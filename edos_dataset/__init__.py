"""Subtitles and books in, emotion-labelled dialogues out."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from edos_dataset.releases.load import load
from edos_dataset.version import __version__

if TYPE_CHECKING:
    from edos_dataset.commands.curated import books, curate
    from edos_dataset.commands.labelled import label
    from edos_dataset.commands.map_pipeline import map_pipeline
    from edos_dataset.commands.responded import respond
    from edos_dataset.releases.flat import flat

__all__ = ["__version__", "books", "curate", "flat", "label", "load", "map_pipeline", "respond"]

_WHERE = {
    "books": "edos_dataset.commands.curated",
    "curate": "edos_dataset.commands.curated",
    "flat": "edos_dataset.releases.flat",
    "label": "edos_dataset.commands.labelled",
    "map_pipeline": "edos_dataset.commands.map_pipeline",
    "respond": "edos_dataset.commands.responded",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - these need all stages, which `import edos_dataset` need not wait for
    """Return what is imported only when it is asked for."""
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
