"""Where scenes begin: labels from scripts and from dialogues that are scenes, and how the scorer is fitted to them."""
