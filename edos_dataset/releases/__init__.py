"""The raw releases of others, read and repaired, and everything of ours, loaded."""
