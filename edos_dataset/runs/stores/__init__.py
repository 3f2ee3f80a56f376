"""Where data lie when it is no file system: object stores, by addresses such as `s3://bucket/edos`.

An object store has no rename and no locks that end with a process. What is written is written as a whole, looked at
there, and only then named in a record. Nothing of this knows what a run is.
"""
