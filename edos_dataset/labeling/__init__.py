"""Labelling of dialogues: labelers, and the stages that embed, label and select."""
