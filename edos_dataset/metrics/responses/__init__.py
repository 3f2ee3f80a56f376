"""Metrics of responses: the 17 of dialog-eval, and others that papers report.

`dialog_eval.measure` takes texts and returns a value for each response; `dialog_eval.summarise` averages them.
"""
