"""Sentence encoders, and the folders in which what was learned lies."""
