"""Questions in the forms of tools that people run already, and their answers back."""
