"""Checkpoints of a training: whole or absent, and only ever of the same training."""

import json
import math
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from torch.nn.modules.utils import consume_prefix_in_state_dict_if_present

from edos_dataset.runs.shards import replacing, write_text

PROGRESS = "progress.json"
BEST = "best.pt"
_BEGUN = "of-edos-dataset"


@dataclass
class Progress:
    """Where a training is.

    Attributes:
        training: what it learns from: a checkpoint of another one is refused.
        update: updates done.
        seconds: time they took.
        best: the lowest validation cross-entropy (nats) so far, and `best_update`, the update it was found at.
        waited: evaluations since then.
        stopped: no further update is wanted.
    """

    training: dict[str, Any] = field(default_factory=dict)
    update: int = 0
    seconds: float = 0.0
    best: float = float("inf")
    best_update: int = 0
    waited: int = 0
    stopped: bool = False

    def judge(self, value: float, patience: int) -> bool:
        """Take in a validation cross-entropy; return whether it is the lowest so far.

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
        """Give the model the weights that `keep_best` wrote."""
        model.load_state_dict(torch.load(folder / BEST, map_location="cpu", weights_only=True), strict=False)

    def save(self, folder: Path, accelerator: Accelerator) -> None:
        """Write a checkpoint of all that accelerate prepared or registered; its progress.json, written last, makes it
        count.
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
    """Return the progress of the last whole checkpoint, its state loaded, or that of a new training.

    Raises:
        ValueError: the folder holds a checkpoint of another training, or of another program.
    """
    for path in sorted(folder.glob("checkpoint-*")):
        if not (path / _BEGUN).is_file():  # when this training ends it removes its checkpoints
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
            "folder to start anew"
        )
    accelerator.register_load_state_pre_hook(lambda models, source: _load_weights(models, Path(source), accelerator))
    accelerator.load_state(str(last))
    return progress


def _load_weights(models: list[torch.nn.Module], source: Path, accelerator: Accelerator) -> None:
    """Load the model's weights in the place of accelerate, which cannot if they were saved by several processes and one
    goes on, or the other way round.
    """
    weights = torch.load(source / "pytorch_model.bin", map_location="cpu", weights_only=True)
    consume_prefix_in_state_dict_if_present(weights, "module.")
    accelerator.unwrap_model(models.pop()).load_state_dict(weights)


def remove_checkpoints(folder: Path) -> None:
    """Remove what only an unfinished training needs."""
    for path in folder.glob("checkpoint-*"):
        shutil.rmtree(path)
    (folder / BEST).unlink(missing_ok=True)
