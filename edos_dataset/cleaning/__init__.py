"""Removal of unwanted text: line by line, turn by turn, and over the whole corpus."""
