"""The READMEs of data sets and models: rendered from what was counted and measured, never typed."""
