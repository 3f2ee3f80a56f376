"""Code shared by the training loops: processes, learning rates, checkpoints, logs, and the
circumstances for records.
"""

import json
import math
import os
import platform
import shutil
import signal
import threading
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import is_cuda_available, is_npu_available, is_xpu_available
from torch.nn.modules.utils import consume_prefix_in_state_dict_if_present

from edos_dataset.runs.engines.base import available_cores
from edos_dataset.runs.shards import replacing, write_text

T = TypeVar("T")

PACKAGES = ("torch", "transformers", "accelerate", "numpy")


def circumstances() -> dict[str, Any]:
    """Return `date`, `hardware` and `versions`."""
    gpu = f", {torch.cuda.get_device_name()}" if torch.cuda.is_available() else ""
    return {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "hardware": f"{platform.machine()}, {os.cpu_count()} processors{gpu}",
        "versions": {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}},
    }


Schedule = Literal["linear", "constant", "inverse_root"]
"""What follows the warm-up: a linear decay to zero, a constant rate, or a decay with the inverse square root of the
number of updates (Vaswani et al., 2017).
"""


def rate_factor(update: int, updates: int, warmup: float, schedule: Schedule) -> float:
    """Return the learning rate of an update (from 0) relative to the peak: linear warm-up over a fraction of the
    updates, then the schedule.
    """
    if schedule == "linear":
        return linear_rate(update, updates, warmup)
    rising = max(1, round(warmup * updates))
    if schedule == "constant" or update < rising:
        return min(1.0, (update + 1) / rising)
    return float((rising / (update + 1)) ** 0.5)


def linear_rate(update: int, updates: int, warmup: float) -> float:
    """Return the learning rate of an update (from 0) relative to the peak: linear warm-up over a fraction of the
    updates, then linear decay to zero.
    """
    rising = max(1, round(warmup * updates))
    return (update + 1) / rising if update < rising else (updates - update) / max(1, updates - rising)


def start_processes(precision: str, out: Path, threads: int | None = None, processes: int | None = None) -> Accelerator:
    """Connect to the other processes of this training, if there are any.

    Args:
        precision: of the forward pass: "no", "bf16", "fp16", or "auto" (`precision_of`).
        out: the model's folder; TensorBoard's files are written beside its log.
        threads: number of threads of this process; by default the processors divided among the machine's processes.
        processes: the required number of processes, if any.

    Raises:
        ValueError: another number of processes is running.
    """
    # accelerate launch limits every process to one thread (OMP_NUM_THREADS=1), even if it starts only one.
    torch.set_num_threads(threads or max(1, available_cores() // int(os.environ.get("LOCAL_WORLD_SIZE", "1"))))
    on_cpu = meant_for_cpu()
    accelerator = Accelerator(
        mixed_precision=precision_of(precision, on_cpu), cpu=on_cpu, log_with="tensorboard", project_dir=str(out)
    )
    if processes and accelerator.num_processes != processes:
        raise ValueError(
            f"{accelerator.num_processes} processes run, not {processes}: check how accelerate launch is configured"
        )
    return accelerator


def meant_for_cpu() -> bool:
    """Return whether to compute on the CPU: a variable of accelerate asks for it, or this is one of several launched
    processes on a machine without a GPU.

    accelerate passes `use_cpu` to a single process, but not to several (`recipes/two_cpu_processes.yaml`); without it,
    each of these finds no device and acts as if it were the only one. accelerate finds GPUs by itself.
    """
    if os.environ.get("ACCELERATE_USE_CPU", "").lower() in ("1", "true", "yes"):
        return True
    return "LOCAL_RANK" in os.environ and not (is_cuda_available() or is_xpu_available() or is_npu_available())


def precision_of(wanted: str, on_cpu: bool = False) -> str:
    """Return the precision of the forward pass; "auto" is bf16 if the processor or GPU supports it."""
    if wanted != "auto":
        return wanted
    if torch.cuda.is_available() and not on_cpu:
        return "bf16" if torch.cuda.is_bf16_supported() else "no"
    capable = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return "bf16" if capable else "no"


PROGRESS = "progress.json"
BEST = "best.pt"
_BEGUN = "of-edos-dataset"


@dataclass
class Progress:
    """The progress of a training.

    Attributes:
        training: identifies the training; a checkpoint of another one is refused.
        update: number of updates done.
        seconds: duration of these updates.
        best: the lowest validation cross-entropy (nats) so far; `best_update` is its update.
        waited: number of evaluations since then.
        stopped: whether patience has run out.
    """

    training: dict[str, Any] = field(default_factory=dict)
    update: int = 0
    seconds: float = 0.0
    best: float = float("inf")
    best_update: int = 0
    waited: int = 0
    stopped: bool = False

    def judge(self, value: float, patience: int) -> bool:
        """Record a validation cross-entropy; return whether it is the lowest so far.

        Raises:
            ValueError: it is not a number.
        """
        if not math.isfinite(value):
            raise ValueError(
                f"the validation cross-entropy of update {self.update} is {value}: lower the recipe's learning rates, "
                "or set precision to no"
            )
        if value < self.best:
            self.best, self.best_update, self.waited = value, self.update, 0
            return True
        self.waited += 1
        self.stopped = bool(patience) and self.waited >= patience
        return False

    def keep_best(self, model: torch.nn.Module, folder: Path) -> None:
        """Write the model's trained weights."""
        weights = {name: parameter.detach() for name, parameter in model.named_parameters() if parameter.requires_grad}
        with replacing(folder / BEST) as temporary:
            torch.save(weights, temporary)

    def load_best(self, model: torch.nn.Module, folder: Path) -> None:
        """Load the weights that `keep_best` wrote."""
        model.load_state_dict(torch.load(folder / BEST, map_location="cpu", weights_only=True), strict=False)

    def save(self, folder: Path, accelerator: Accelerator) -> None:
        """Write a checkpoint of everything that accelerate prepared or registered. Its progress.json, written last,
        makes it valid.
        """
        target = folder / f"checkpoint-{self.update}"
        if accelerator.is_main_process:
            write_text(target / _BEGUN, "")
        accelerator.wait_for_everyone()
        accelerator.save_state(str(target), safe_serialization=False)
        accelerator.wait_for_everyone()
        if accelerator.is_main_process:
            write_text(target / PROGRESS, json.dumps(asdict(self)))
            for other in set(folder.glob("checkpoint-*")) - {target}:
                shutil.rmtree(other)
        accelerator.wait_for_everyone()


def resume(folder: Path, training: dict[str, Any], accelerator: Accelerator) -> Progress:
    """Return the progress of the last complete checkpoint and load its state, or start a new training.

    Raises:
        ValueError: the folder contains a checkpoint of another training, or of another program.
    """
    for path in sorted(folder.glob("checkpoint-*")):
        if not (path / _BEGUN).is_file():  # this training removes its checkpoints when it ends
            raise ValueError(f"{path} is of another program: choose another --out, or move it away")
    whole = [path for path in folder.glob("checkpoint-*") if (path / PROGRESS).is_file()]
    if not whole:
        return Progress(training)
    last = max(whole, key=lambda path: int(path.name.rpartition("-")[2]))
    progress = Progress(**json.loads((last / PROGRESS).read_text(encoding="utf-8")))
    if progress.training != json.loads(json.dumps(training)):
        other = sorted(key for key in training if progress.training.get(key) != json.loads(json.dumps(training[key])))
        raise ValueError(
            f"{last} belongs to another training ({', '.join(other)} differ): choose another --out, or remove the "
            "folder to start again"
        )
    accelerator.register_load_state_pre_hook(lambda models, source: _load_weights(models, Path(source), accelerator))
    accelerator.load_state(str(last))
    return progress


def _load_weights(models: list[torch.nn.Module], source: Path, accelerator: Accelerator) -> None:
    """Load the model's weights, which accelerate cannot do if several processes saved them and one resumes, or the
    reverse.
    """
    weights = torch.load(source / "pytorch_model.bin", map_location="cpu", weights_only=True)
    consume_prefix_in_state_dict_if_present(weights, "module.")
    accelerator.unwrap_model(models.pop()).load_state_dict(weights)


class Stop:
    """Turns Ctrl-C and SIGTERM into a request that a training obeys after its update; a second one ends it at once.

    Only with one process: several would not obey after the same update.

    Attributes:
        asked: whether the training is to stop.
    """

    def __init__(self, accelerator: Accelerator) -> None:
        self.asked = False
        self._alone = accelerator.num_processes == 1 and threading.current_thread() is threading.main_thread()
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "Stop":
        if self._alone:
            self._before = {kind: signal.signal(kind, self._ask) for kind in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *_: object) -> None:
        self._restore()

    def _ask(self, *_: object) -> None:
        self.asked = True
        self._restore()

    def _restore(self) -> None:
        for kind, handler in self._before.items():
            signal.signal(kind, handler)

    def obey(self, progress: Progress, folder: Path, accelerator: Accelerator) -> None:
        """Write a checkpoint and end the process, if that was asked for."""
        if self.asked:
            progress.save(folder, accelerator)
            raise SystemExit(f"stopped after update {progress.update}; the same command continues from there")


def each_update(
    rest: Iterable[T],
    progress: Progress,
    total: int,
    model: torch.nn.Module,
    folder: Path,
    every: int,
    accelerator: Accelerator,
) -> Iterator[T]:
    """Yield what the remaining updates learn from. It says what is trained before the first one, writes a checkpoint
    after every few of them and after the last one, and ends where patience has run out, or where Ctrl-C or SIGTERM asks
    for it (`Stop`).

    Args:
        rest: what each remaining update learns from.
        progress: the progress; the caller counts each update before it asks for the next.
        total: number of updates of the whole training.
        model: the model.
        folder: where checkpoints are written.
        every: number of updates between two checkpoints.
        accelerator: of this process.
    """
    weights = sum(each.numel() for each in model.parameters() if each.requires_grad)
    begun = f", {progress.update:,} of them done before" * (progress.update > 0)
    accelerator.print(
        f"training {weights:,} weights on {accelerator.device}: {total:,} updates{begun}, a checkpoint after every "
        f"{every:,} and where it is stopped (Ctrl-C)"
    )
    with Stop(accelerator) as stop:
        for each in rest:
            if progress.stopped:
                return
            yield each
            if progress.update % every == 0 or progress.update == total:
                progress.save(folder, accelerator)
            stop.obey(progress, folder, accelerator)


def remove_checkpoints(folder: Path) -> None:
    """Remove the files that only an unfinished training needs."""
    for path in folder.glob("checkpoint-*"):
        shutil.rmtree(path)
    (folder / BEST).unlink(missing_ok=True)


class Log:
    """Writes `log.jsonl` in the model's folder with a line for every update and evaluation, TensorBoard's files beside
    it, and occasional lines on the terminal.
    """

    def __init__(self, folder: Path, update: int, accelerator: Accelerator) -> None:
        """Open the log; lines after `update`, from an interrupted training, are dropped."""
        self.path, self.accelerator = folder / "log.jsonl", accelerator
        if accelerator.is_main_process:
            lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.is_file() else []
            kept = [line for line in lines if line.endswith("}") and json.loads(line)["update"] <= update]
            write_text(self.path, "".join(f"{line}\n" for line in kept))
        accelerator.init_trackers("tensorboard")

    def update(self, update: int, updates: int, loss: float, rate: float, seconds: float) -> None:
        """Log an update: mean loss (nats), learning rate of the head, seconds since the start."""
        self._write({"update": update, "loss": loss, "learning_rate": rate, "seconds": round(seconds, 1)})
        if update in (3, 10) or update % 20 == 0 or update == updates:
            self.accelerator.print(
                f"update {update} of {updates}: loss {loss:.3f}, {seconds / 60:.1f} min, "
                f"{seconds / update * (updates - update) / 60:.0f} to go"
            )

    def evaluation(self, update: int, value: float, **figures: float) -> None:
        """Log an evaluation on the validation split: its cross-entropy (nats) and other metrics by name, such as
        `accuracy` (a fraction) or `perplexity`.
        """
        named = {f"validation_{name}": figure for name, figure in figures.items()}
        self._write({"update": update, "validation_cross_entropy": value, **named})
        text = "".join(f", {name.replace('_', ' ')} {figure:.4g}" for name, figure in figures.items())
        self.accelerator.print(f"update {update}: validation cross-entropy {value:.4f}{text}")

    def look(self, update: int, head: str, right: dict[str, float]) -> None:
        """Log the fraction of each source's held-out turns that a head labels right."""
        key = f"right_{head.replace(' ', '_')}"
        self._write({"update": update, **{f"{key}_{name}": value for name, value in right.items()}})
        text = ", ".join(f"{name} {value:.1%}" for name, value in right.items())
        self.accelerator.print(f"update {update}, held-out turns {head}: right: {text}")

    def _write(self, entry: dict[str, float]) -> None:
        self.accelerator.log(
            {name: value for name, value in entry.items() if name != "update"}, step=int(entry["update"])
        )
        if self.accelerator.is_main_process:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")


def draw_learning_curves(folder: Path, second: str = "accuracy", scale: float = 100, unit: str = " (%)") -> None:
    """Draw `learning_curves.png` from a folder's `log.jsonl`: training and validation cross-entropy, and another metric
    of the validation split, by update.

    Args:
        folder: the model's folder.
        second: the other metric, as named in `Log.evaluation`.
        scale: factor of the metric.
        unit: appended to its name.
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
