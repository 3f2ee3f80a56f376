"""Learn the encoder of `edos_dataset.segmentation.turns.context`: binary cross-entropy over labelled seams, windows of
like length a batch, AdamW.
"""

import hashlib
import math
import time
from collections.abc import Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn

from edos_dataset.encoders.changes import restore
from edos_dataset.encoders.encoder import quiet
from edos_dataset.segmentation.turns.context import tokenizer_of
from edos_dataset.segmentation.turns.context_module import ContextNet
from edos_dataset.segmentation.turns.windows import Marks, batch_of
from training.loop.checkpoints import resume
from training.loop.log import Log
from training.turns.context_lessons import ContextSettings, Lesson, Part, draw_batches, read_lessons
from training.turns.passes import forms_of

_STATE = "model.pt"


def begin(settings: ContextSettings, start: Path | None) -> ContextNet:
    """Return the network that training begins with: the backbone's weights, or those of an earlier training.

    Args:
        settings: name the backbone.
        start: folder of the earlier one (`keep_state`).

    Raises:
        ValueError: the folder holds no state of such a network.
    """
    with quiet():
        net = ContextNet(settings.backbone, attention="eager")
    encoder = restore({}, net.state_dict().keys(), settings.backbone)
    net.load_state_dict({name: torch.from_numpy(value) for name, value in encoder.items()}, strict=False)
    if start is not None:
        try:
            net.load_state_dict(torch.load(start / _STATE, map_location="cpu", weights_only=True))
        except (OSError, RuntimeError) as error:
            told = " ".join(str(error).split())[:200]
            raise ValueError(f"{start / _STATE} is no state to begin with: {told}; name a training's folder") from error
    net.encoder.get_input_embeddings().requires_grad_(False)
    return net


def keep_state(net: ContextNet, folder: Path) -> None:
    """Write all weights, float32, for a training that begins with them."""
    torch.save(net.state_dict(), folder / _STATE)


def fit_context(
    table: pa.Table,
    settings: ContextSettings,
    accelerator: Accelerator,
    folder: Path,
    every: int = 100,
    start: Path | None = None,
) -> ContextNet:
    """Learn from labelled documents. Where a training of the same was killed it goes on, to the same weights.

    Args:
        table: as for `passes.weigh`, with `corpus`.
        settings: how.
        accelerator: of one process; its precision is that of the settings.
        folder: keeps checkpoints and `log.jsonl`.
        every: updates between two checkpoints.
        start: as for `begin`.

    Raises:
        ValueError: the labels are not of both classes, the folder is of another training, or the loss is no number.
    """
    lessons = read_lessons(table, settings.backbone)
    set_seed(settings.seed)
    net = begin(settings, start)
    training = {"settings": asdict(settings), "lessons": _digest(lessons), "start": _digest_of(net)}
    mine = [parameter for name, parameter in net.named_parameters() if not name.startswith("encoder.")]
    learned = [parameter for parameter in net.encoder.parameters() if parameter.requires_grad]
    groups = [{"params": learned, "lr": settings.rate}, {"params": mine, "lr": settings.head_rate}]
    prepared, optimizer = accelerator.prepare(net, torch.optim.AdamW(groups, weight_decay=settings.decay))
    rates = torch.optim.lr_scheduler.LambdaLR(optimizer.optimizer, lambda update: _rate(update, settings))
    accelerator.register_for_checkpointing(rates)
    progress = resume(folder, training, accelerator)
    log, begun = Log(folder, progress.update, accelerator), time.perf_counter() - progress.seconds
    marks = Marks.of(tokenizer_of(settings.backbone))
    stream = draw_batches(lessons, forms_of(table), settings)
    for parts in islice(stream, progress.update, settings.updates):
        loss = _loss(prepared, parts, marks, accelerator.device)
        optimizer.zero_grad()
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(net.parameters(), settings.gradient_norm)
        optimizer.step()
        told = float(loss.detach())
        if not math.isfinite(told):
            raise ValueError(f"the loss of update {progress.update + 1} is {told}: lower the rates, or take float32")
        log.update(
            progress.update + 1, settings.updates, told, float(rates.get_last_lr()[0]), time.perf_counter() - begun
        )
        rates.step()
        progress.update, progress.seconds = progress.update + 1, time.perf_counter() - begun
        if progress.update % every == 0 or progress.update == settings.updates:
            progress.save(folder, accelerator)
    return net


def _loss(net: nn.Module, parts: Sequence[Part], marks: Marks, device: torch.device) -> torch.Tensor:
    """Return the mean loss (nats) of the seams that the windows decide, by the weights of their labels."""
    batch = batch_of([(lesson.sentences, window) for lesson, window in parts], marks)
    label, weight = [], []
    for lesson, window in parts:
        at = np.arange(window.begin, window.end)
        label.append(lesson.label[at])
        weight.append(np.where((at >= window.first) & (at < window.stop), lesson.weight[at], 0))
    net.train()
    arrays = (batch.ids, batch.mask, batch.marks, batch.evidence)
    log_odds = net(*(torch.from_numpy(array).to(device) for array in arrays))
    truth = torch.from_numpy(np.concatenate(label)).to(device).clamp(min=0).float()
    counts = torch.from_numpy(np.concatenate(weight).astype(np.float32)).to(device)
    losses = nn.functional.binary_cross_entropy_with_logits(log_odds.float(), truth, counts, reduction="sum")
    mean: torch.Tensor = losses / counts.sum().clamp(min=1)
    return mean


def _rate(update: int, settings: ContextSettings) -> float:
    return min(1.0, (update + 1) / settings.warmup) * max(0.0, 1 - update / max(1, settings.updates))


def _digest(lessons: Sequence[Lesson]) -> str:
    digest = hashlib.sha256()
    for lesson in lessons:
        digest.update(repr(lesson.sentences.tokens).encode() + lesson.sentences.evidence.tobytes())
        digest.update(lesson.label.tobytes() + lesson.weight.tobytes())
    return digest.hexdigest()


def _digest_of(net: nn.Module) -> str:
    digest = hashlib.sha256()
    for value in net.state_dict().values():
        digest.update(value.numpy().tobytes())
    return digest.hexdigest()
