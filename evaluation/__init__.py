"""Measurements of what the package makes: labels, turns, cuts, classifiers. Each module is a script."""
