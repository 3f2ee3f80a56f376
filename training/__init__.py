"""The scripts that make the models that the package ships, and what they share. They live in the repository, not in the
wheel.
"""
