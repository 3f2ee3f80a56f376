"""Dialogues that somebody gives, in whatever form they are: files, standard input, data sets, what a notebook holds.

`sources` tells the forms apart, `streams`, `json_texts` and `tables` read one each and yield records, and `records`
makes dialogues of records. Nothing is held whole: a dialogue at a time, and 16 bytes for each that was seen.
"""
