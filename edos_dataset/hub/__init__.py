"""To the Hub: what goes there, under which version, and how it gets there."""
