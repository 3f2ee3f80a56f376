"""The readers of subtitle files."""
