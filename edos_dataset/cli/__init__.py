"""The command line `edos`, a file a command."""

import os

# Arrow's own allocator keeps what it once took: by the system's a run takes a quarter less memory, which grows less with
# the corpus, in the same time (BENCHMARKS.md, Growth). It is chosen when Arrow is imported, by workers, too.
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
