"""The command line `edos`, with one module per group of commands."""

import os

# Arrow's own allocator does not return freed memory. With that of the system, workers take a quarter less memory in the
# same time, and memory grows less with the corpus (BENCHMARKS.md, Growth). Arrow reads the variable when it is
# imported, also in workers.
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
