"""Web pages: those of `crowd`, and the shared parts of the Spaces in `spaces/`."""
