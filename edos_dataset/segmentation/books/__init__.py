"""Books → dialogues: what stands in quotes or behind dashes, who says it, and where a conversation ends."""
