"""The command line `edos`, a file a command."""

import os

# Arrow's own allocator keeps what it once took. By the system's, workers take a quarter less memory in the same time,
# and it grows less with the corpus (BENCHMARKS.md, Growth). It is chosen when Arrow is imported, by workers, too.
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
