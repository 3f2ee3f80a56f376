"""Metrics: plain functions over arrays and strings."""
