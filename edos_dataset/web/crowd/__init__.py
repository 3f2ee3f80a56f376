"""Pages for a crowd: labelling dialogues and judging responses, with a live page for the administrator.

Read `server` first (the routes), then `visitors` (their handlers) and `pages` (HTML from `assets/`). Everything else
is in `edos_dataset.crowd`.
"""
