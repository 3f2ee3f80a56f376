"""What the models that label learn from."""
