"""Measures: plain functions over arrays and strings."""
