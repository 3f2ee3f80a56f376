"""Readers of subtitle files."""
