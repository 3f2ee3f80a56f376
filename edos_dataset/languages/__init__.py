"""Which languages there are, and which one a text is in."""
