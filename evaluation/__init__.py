"""Evaluations of labels, turns, scene cuts, classifiers and response models. Each module is a script."""
