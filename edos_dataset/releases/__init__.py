"""Third-party releases, read and repaired; datasets of this package, loaded; and users' dialogues in any format."""
