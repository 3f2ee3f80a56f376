"""What each command does, from Python too; `curate.py` is read first."""
