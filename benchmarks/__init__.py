"""Measurements of speed and memory, one script for each claim; the figures are stored beside them as JSON."""
