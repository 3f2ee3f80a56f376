"""Measures of responses: the 17 of dialog-eval, and what readers ask for beside them.

`dialog_eval.measure` takes texts and returns a value for each response; `summary.summarise` makes a figure of them.
"""
