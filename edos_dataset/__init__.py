"""Subtitles and books in, emotion-labelled dialogues out."""

from edos_dataset.loading import load

__all__ = ["load"]

__version__ = "0.1.0"
