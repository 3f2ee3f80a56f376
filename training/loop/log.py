"""What a training says while it runs, and its learning curves."""

import json
from pathlib import Path

import numpy as np
from accelerate import Accelerator

from edos_dataset.runs.shards import write_text


class Log:
    """`log.jsonl` in the model's folder, a line for every update and evaluation; TensorBoard's files beside it; and now
    and then a line on the terminal.
    """

    def __init__(self, folder: Path, update: int, accelerator: Accelerator) -> None:
        """Open the log; lines after `update`, of a training that was killed, are dropped."""
        self.path, self.accelerator = folder / "log.jsonl", accelerator
        if accelerator.is_main_process:
            lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.is_file() else []
            kept = [line for line in lines if line.endswith("}") and json.loads(line)["update"] <= update]
            write_text(self.path, "".join(f"{line}\n" for line in kept))
        accelerator.init_trackers("tensorboard")

    def update(self, update: int, updates: int, loss: float, rate: float, seconds: float) -> None:
        """Log an update: mean loss (nats), learning rate of the head, seconds since the start."""
        self._write({"update": update, "loss": loss, "learning_rate": rate, "seconds": round(seconds, 1)})
        if update % 20 == 0 or update == updates:
            self.accelerator.print(
                f"update {update} of {updates}: loss {loss:.3f}, {seconds / 60:.1f} min, "
                f"{seconds / update * (updates - update) / 60:.0f} to go"
            )

    def evaluation(self, update: int, value: float, **figures: float) -> None:
        """Log an evaluation of the validation part: its cross-entropy (nats) and other figures by name, such as
        `accuracy` (a share) or `perplexity`.
        """
        named = {f"validation_{name}": figure for name, figure in figures.items()}
        self._write({"update": update, "validation_cross_entropy": value, **named})
        told = "".join(f", {name.replace('_', ' ')} {figure:.4g}" for name, figure in figures.items())
        self.accelerator.print(f"update {update}: validation cross-entropy {value:.4f}{told}")

    def look(self, update: int, head: str, right: dict[str, float]) -> None:
        """Log which share of each source's held-out turns a head gets right."""
        key = f"right_{head.replace(' ', '_')}"
        self._write({"update": update, **{f"{key}_{name}": value for name, value in right.items()}})
        told = ", ".join(f"{name} {value:.1%}" for name, value in right.items())
        self.accelerator.print(f"update {update}, held-out turns {head}: right: {told}")

    def _write(self, entry: dict[str, float]) -> None:
        self.accelerator.log(
            {name: value for name, value in entry.items() if name != "update"}, step=int(entry["update"])
        )
        if self.accelerator.is_main_process:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")


def draw_learning_curves(folder: Path, second: str = "accuracy", scale: float = 100, unit: str = " (%)") -> None:
    """Draw `learning_curves.png` of a folder's `log.jsonl`: training and validation cross-entropy, and another figure
    of the validation part, by update.

    Args:
        folder: the model's.
        second: the other figure, as `Log.evaluation` was given it.
        scale: that it is multiplied by.
        unit: that stands behind its name.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    entries = [json.loads(line) for line in (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    updates, evaluations = ([entry for entry in entries if key in entry] for key in ("loss", f"validation_{second}"))
    figure = Figure(figsize=(11, 4), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    width = max(1, len(updates) // 100)
    losses = np.array([entry["loss"] for entry in updates])
    starts = range(0, len(losses), width)
    smoothed = f"training (mean of {width} updates, smoothed targets)"
    means = [losses[start : start + width].mean() for start in starts]
    left.plot([updates[start]["update"] for start in starts], means, label=smoothed)
    at = [entry["update"] for entry in evaluations]
    left.plot(at, [entry["validation_cross_entropy"] for entry in evaluations], "o-", label="validation")
    left.set(xlabel="update", ylabel="cross-entropy (nats)", title="Cross-entropy")
    left.legend()
    name = second.replace("_", " ")
    right.plot(at, [scale * entry[f"validation_{second}"] for entry in evaluations], "o-", color="C1")
    right.set(xlabel="update", ylabel=f"{name}{unit}", title=f"Validation {name}")
    for axes in (left, right):
        axes.grid(alpha=0.3)
    figure.savefig(folder / "learning_curves.png", dpi=110)
