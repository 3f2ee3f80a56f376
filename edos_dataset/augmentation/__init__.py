"""Growing a labelled set: vectors of dialogues, similarity search, and the rules by which labels spread."""
