"""From a run to a repository that `datasets` loads."""
