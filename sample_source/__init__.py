"""Source of the packaged sample: invented screenplays and the renderer that turns them into subtitle files."""
