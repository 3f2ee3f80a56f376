"""Dialogues in the forms that other programs read: chat messages, tables, subtitles and speech."""
