"""The cards of the models that ship, the templates that they are made of, and the command that makes them."""
