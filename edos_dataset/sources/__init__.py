"""Files in, documents of timed lines out."""
