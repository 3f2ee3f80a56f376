"""Subtitles and books in, emotion-labelled dialogues out."""

from edos_dataset.releases.load import load
from edos_dataset.version import __version__

__all__ = ["__version__", "load"]
