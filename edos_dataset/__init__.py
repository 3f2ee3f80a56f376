"""Subtitles and books in, emotion-labelled dialogues out."""

__version__ = "0.1.0"
