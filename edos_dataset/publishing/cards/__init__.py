"""The cards (README.md) of datasets: templates, filled with counted and measured figures."""
