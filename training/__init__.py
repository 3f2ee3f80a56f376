"""The scripts that train the shipped models, and their shared code. They are part of the
repository, not of the wheel.
"""
