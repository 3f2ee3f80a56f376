"""A package with a source format, installed as pip would: files and a `.dist-info` folder on the path."""

READER = '''"""Plain lines of text, one after the other each second."""

import numpy as np

from edos_dataset.sources.formats import Format
from edos_dataset.sources.parsed import Parsed, ReadError


def read_lines(data, language):
    """Read one line a second."""
    texts = data.decode().splitlines()
    if not texts[0].startswith("LINES"):
        raise ReadError("not_lines", f"begins with {texts[0][:20]!r}")
    index = np.arange(len(texts) - 1, dtype=np.int32)
    return Parsed(index + 1, texts[1:], index * 1.0, index + 1.0, index, index, 0, "utf-8", 1.0)


LINES = Format("lines", (".lines",), read_lines, bytes_per_sentence=40.0, packing=2.0)
'''


def install(site, module=READER, name="edos-lines", entry="lines = edos_lines:LINES"):
    """Write the package `name`, one module with an entry point of the group of formats, into a folder `site`."""
    top = name.replace("-", "_")
    info = site / f"{top}-1.0.dist-info"
    info.mkdir(parents=True)
    (site / f"{top}.py").write_text(module, encoding="utf-8")
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[edos_dataset.formats]\n{entry}\n", encoding="utf-8")
