"""Publishing: from the shards of a run to a folder that `datasets` loads, with its card."""
