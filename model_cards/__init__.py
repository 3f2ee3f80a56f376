"""The cards of models: their templates, the code that fills them, and the cards of the shipped models."""
