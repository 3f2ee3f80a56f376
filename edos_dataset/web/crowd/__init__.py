"""Pages for a crowd: labelling dialogues and judging responses, with a live page for whoever runs it.

`application` is read first (which address does what), with `guard` around it, `sessions` (who it is), `pages` (HTML out
of `assets/`), `admin`, and `serving`. All that is known stands in `edos_dataset.crowd`.
"""
