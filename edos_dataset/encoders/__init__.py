"""Sentence encoders, and the files of trained models."""
