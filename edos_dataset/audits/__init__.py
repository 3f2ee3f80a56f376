"""Dialogues judged by people: the page that shows them in their film or book, and the resulting error rates."""
