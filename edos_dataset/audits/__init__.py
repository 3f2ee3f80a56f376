"""Dialogues read by people: a page that shows them in their film or book, and the error rates that reading them gives."""
