"""Measurements of speed and memory, one script a claim; the figures lie beside them as JSON."""
