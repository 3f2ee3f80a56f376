"""Where the shards of a run are made."""
