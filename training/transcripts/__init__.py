"""Transcripts, screenplays and timed cues with speakers, on which turn segmentation is trained."""
