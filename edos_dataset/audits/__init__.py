"""Dialogues read by people: the page that shows them in their film or book, and the error rates that come of it."""
