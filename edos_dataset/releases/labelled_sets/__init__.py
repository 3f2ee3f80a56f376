"""Third-party sets of labelled dialogues and sentences: readers, and the maps from their labels to ours."""
