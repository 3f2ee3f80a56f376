"""Pages for people: what they share. The pages themselves are Spaces, each a folder of `spaces/`."""
