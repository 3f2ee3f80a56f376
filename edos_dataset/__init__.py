"""Subtitles and books in, emotion-labelled dialogues out."""

from typing import TYPE_CHECKING, Any

from edos_dataset.releases.load import load
from edos_dataset.version import __version__

if TYPE_CHECKING:
    from edos_dataset.commands.map_pipeline import map_pipeline

__all__ = ["__version__", "load", "map_pipeline"]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - `map_pipeline` needs all stages, which `import edos_dataset` need not wait for
    """Return what is imported only when it is asked for."""
    if name == "map_pipeline":
        from edos_dataset.commands.map_pipeline import map_pipeline

        return map_pipeline
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
