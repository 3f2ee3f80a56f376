"""Users' dialogues in any form: files, standard input, datasets, and objects in memory.

`forms` is the table of file formats. `sources` recognises a source, `readers` and `sheets` yield its `records`,
`parsing` decides whether each is a dialogue or a turn, `survey` reads all of them once to report every fault, and
`grouping` forms the dialogues. Memory: one dialogue at a time and 19 bytes for each dialogue read before; only CSV
files of up to 256 MiB are read whole (`flat`). `writers` writes tables.
"""
