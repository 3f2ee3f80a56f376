"""The picture of `benchmarks/growth.py`: time, memory and disk by the size of the corpus."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from edos_dataset.runs.shards import replacing

_BLUE, _ORANGE, _GREEN = "#2060a0", "#c06000", "#208040"


def draw(result: dict[str, Any], path: Path) -> None:
    """Draw what was measured as a PNG; the dashed lines are in proportion to the size."""
    figure = Figure(figsize=(15, 4.2), layout="constrained")
    time, memory, disk, keys = figure.subplots(1, 4)
    runs, rows = result["corpora"], result["keys"]
    sizes = [run["sentences"] for run in runs]
    _points(time, "time, two workers", "sentences", "seconds")
    _line(time, sizes, [run["seconds"] for run in runs], "clock", _BLUE)
    _line(time, sizes, [run["cpu_seconds"] for run in runs], "processors", _ORANGE)
    _points(memory, "peak memory", "sentences", "MiB")
    memory.set_yscale("linear")
    for name, label, colour in (("driver_mib", "driver", _BLUE), ("worker_mib", "largest worker", _ORANGE)):
        memory.plot(sizes, [run[name] for run in runs], "o-", label=label, color=colour)
    memory.set_ylim(bottom=0)
    _points(disk, "disk", "sentences", "bytes a sentence")
    for name, colour in (("run", _BLUE), ("published", _ORANGE)):
        disk.plot(sizes, [run["bytes_a_sentence"][name] for run in runs], "o-", label=name, color=colour)
    _points(keys, "corpus steps alone", "keys", "seconds of the processors")
    for step, colour in (("cap", _BLUE), ("duplicates", _GREEN)):
        own = [row for row in rows if row["step"] == step]
        _line(keys, [row["keys"] for row in own], [row["cpu_seconds"] for row in own], step, colour)
    for axes in (time, memory, disk, keys):
        if axes.lines:
            axes.legend(frameon=False)
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png", dpi=110, metadata={"Software": None})  # the same bytes whoever draws


def _points(axes: Axes, title: str, along: str, up: str) -> None:
    axes.set(title=title, xlabel=along, ylabel=up, xscale="log", yscale="log")
    axes.grid(True, which="major", color="#dddddd")
    axes.spines[["top", "right"]].set_visible(False)


def _line(axes: Axes, sizes: Sequence[float], values: Sequence[float], label: str, colour: str) -> None:
    """Draw points, and the line in proportion through the largest size."""
    if not sizes:
        return
    axes.plot(sizes, values, "o", label=label, color=colour)
    largest = max(range(len(sizes)), key=sizes.__getitem__)
    ends = [min(sizes), max(sizes)]
    axes.plot(ends, [values[largest] * end / sizes[largest] for end in ends], "--", color=colour, linewidth=1)
