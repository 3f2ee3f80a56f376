"""Labels for dialogues: the sentence encoder, the shipped linear heads, and the stages that annotate and select."""
