"""Scene boundaries: reference boundaries from scripts and from released scenes, and the training of the scorer."""
