"""A run: files that are whole or absent, stages over shards, engines. It knows no stage and no films."""
