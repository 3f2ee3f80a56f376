"""Labelers."""
