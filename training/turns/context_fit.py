"""Training of the encoder of `edos_dataset.segmentation.turns.context`: binary cross-entropy over labelled boundaries,
batches of windows of similar length, AdamW.
"""

import hashlib
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import islice, pairwise
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn

from edos_dataset.arrays import Floats
from edos_dataset.encoders.changes import restore
from edos_dataset.encoders.encoder import DEFAULT_MODEL, quiet, token_batches
from edos_dataset.segmentation.turns.context import (
    TOKENS,
    Marks,
    Sentences,
    Window,
    batch_of,
    read_sentences,
    tokenizer_of,
)
from edos_dataset.segmentation.turns.context_module import ContextNet
from edos_dataset.segmentation.turns.evidence import read
from training.classifier.model import add_adapters, frozen_layers_in, merge_adapters
from training.loop import Log, each_update, resume
from training.turns.boundaries import LAID_OUT, draw_pass, forms_of, hide, hide_layout, weigh

_POOL = 400
"""Number of upcoming windows that are sorted into batches by length."""


@dataclass(frozen=True)
class ContextSettings:
    """The settings of the training.

    Args:
        backbone: the encoder to start from: all-MiniLM-L6-v2 (packaged), a folder or a Hub id. Its word embeddings are
            not trained.
        lora_rank: rank of LoRA adapters in all linear layers of the encoder, which is then frozen; they are merged into
            the weights at the end. 0 trains all weights.
        updates: number of updates; 0 only measures the initial weights.
        rate, head_rate: peak learning rates of the encoder and of all other weights; they rise over `warmup` updates,
            and over the last fraction `cooldown` of all updates they decay linearly to zero.
        decay: weight decay.
        gradient_norm: maximum norm of the gradient.
        tokens: maximum number of tokens per update, padding included.
        unknown_evidence: fraction of the documents in which one kind of evidence is hidden; in those that were laid
            out by rule (`boundaries.LAID_OUT`) it always is.
        share: corpus → fraction of its documents in a pass, if not all.
        precision: "no" (float32) or "bf16", of the forward pass.
        seed: seed of all randomness.
    """

    name: ClassVar[str] = "context"

    backbone: str = DEFAULT_MODEL
    lora_rank: int = 0
    updates: int = 2000
    rate: float = 2e-4
    head_rate: float = 1e-3
    warmup: int = 100
    cooldown: float = 1.0
    decay: float = 0.01
    gradient_norm: float = 1.0
    tokens: int = 4096
    unknown_evidence: float = 0.3
    share: dict[str, float] = field(default_factory=dict)
    precision: Literal["no", "bf16"] = "no"
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name, least in (("lora_rank", 0), ("updates", 0), ("warmup", 1), ("tokens", TOKENS)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, got {getattr(self, name)}")
        if not 0 <= self.cooldown <= 1:
            raise ValueError(f"cooldown must be from 0 to 1, got {self.cooldown}")


@dataclass(frozen=True, eq=False)
class Lesson:
    """A document, its labels and their weights, [sentences], and whether it was laid out by rule."""

    sentences: Sentences
    label: npt.NDArray[np.int8]
    weight: Floats
    laid_out: bool


Part = tuple[Lesson, Window]


def read_lessons(table: pa.Table, backbone: str) -> list[Lesson]:
    """Return labelled documents in the encoder's input form.

    Args:
        table: as for `boundaries.weigh`, with `corpus`.
        backbone: as in ContextSettings.

    Raises:
        ValueError: the labels are all of one class.
    """
    label, weight = weigh(table)
    reading = read(table, "en")
    documents = read_sentences(reading, tokenizer_of(backbone))
    bounds = pairwise(reading.offsets.tolist())
    laid_out = [corpus in LAID_OUT for corpus in table["corpus"].to_pylist()]
    return [
        Lesson(one, label[a:b], weight[a:b], by_rule)
        for one, (a, b), by_rule in zip(documents, bounds, laid_out, strict=True)
    ]


def draw_batches(
    lessons: Sequence[Lesson], forms: Mapping[str, list[list[int]]], settings: ContextSettings
) -> Iterator[list[Part]]:
    """Yield the windows of every update, endlessly; the same for the same seed."""
    rng = np.random.default_rng(settings.seed)
    stream = _windows(lessons, forms, settings, rng)
    while True:
        pool = list(islice(stream, _POOL))
        batches = list(token_batches([lesson.sentences.size(window) for lesson, window in pool], settings.tokens))
        for place in rng.permutation(len(batches)):
            yield [pool[row] for row in batches[place]]


def _windows(
    lessons: Sequence[Lesson], forms: Mapping[str, list[list[int]]], settings: ContextSettings, rng: np.random.Generator
) -> Iterator[Part]:
    while True:
        parts: list[Part] = []
        for row in draw_pass(forms, settings.share, rng):
            lesson, shift = lessons[row], int(rng.integers(TOKENS // 2))
            evidence = lesson.sentences.evidence
            hidden = hide_layout(evidence, rng) if lesson.laid_out else hide(evidence, settings.unknown_evidence, rng)
            seen = replace(lesson, sentences=replace(lesson.sentences, evidence=hidden))
            found = seen.sentences.windows(shift)
            parts += [(seen, window) for window in found if lesson.weight[window.first : window.stop].any()]
        for place in rng.permutation(len(parts)):
            yield parts[place]


_STATE = "model.pt"


def begin(settings: ContextSettings, start: Path | None) -> ContextNet:
    """Return the initial network: with the backbone's weights, or with those of an earlier training.

    Args:
        settings: names the backbone.
        start: folder of the earlier training (`keep_state`).

    Raises:
        ValueError: the folder contains no state of such a network.
    """
    with quiet():
        net = ContextNet(settings.backbone, attention="eager")
    encoder = restore({}, net.state_dict().keys(), settings.backbone)
    net.load_state_dict({name: torch.from_numpy(value) for name, value in encoder.items()}, strict=False)
    if start is not None:
        try:
            net.load_state_dict(torch.load(start / _STATE, map_location="cpu", weights_only=True))
        except (OSError, RuntimeError) as error:
            reason = " ".join(str(error).split())[:200]
            raise ValueError(
                f"{start / _STATE} is no state to begin with: {reason}; name a training's folder"
            ) from error
    net.encoder.get_input_embeddings().requires_grad_(False)
    return net


def keep_state(net: ContextNet, folder: Path) -> None:
    """Write all weights, float32, for a training that starts from them."""
    torch.save(net.state_dict(), folder / _STATE)


def fit_context(
    table: pa.Table,
    settings: ContextSettings,
    accelerator: Accelerator,
    folder: Path,
    every: int = 100,
    start: Path | None = None,
) -> ContextNet:
    """Train on labelled documents. An interrupted training resumes, and ends with the same weights.

    Args:
        table: as for `boundaries.weigh`, with `corpus`.
        settings: the settings.
        accelerator: of one process; its precision is that of the settings.
        folder: where checkpoints and `log.jsonl` are written.
        every: number of updates between two checkpoints.
        start: as for `begin`.

    Raises:
        ValueError: the labels are all of one class, the folder belongs to another training, or the loss is not a
            number.
    """
    lessons = read_lessons(table, settings.backbone)
    set_seed(settings.seed)
    net = begin(settings, start)
    training = {"settings": asdict(settings), "lessons": _digest(lessons), "start": _digest_of(net)}
    if settings.lora_rank:
        add_adapters(net.encoder, settings.lora_rank, 0.0)
    mine = [parameter for name, parameter in net.named_parameters() if not name.startswith("encoder.")]
    learned = [parameter for parameter in net.encoder.parameters() if parameter.requires_grad]
    groups = [{"params": learned, "lr": settings.rate}, {"params": mine, "lr": settings.head_rate}]
    prepared, optimizer = accelerator.prepare(net, torch.optim.AdamW(groups, weight_decay=settings.decay))
    rates = torch.optim.lr_scheduler.LambdaLR(optimizer.optimizer, lambda update: _rate(update, settings))
    accelerator.register_for_checkpointing(rates)
    progress = resume(folder, training, accelerator)
    log, begun = Log(folder, progress.update, accelerator), time.perf_counter() - progress.seconds
    marks = Marks.of(tokenizer_of(settings.backbone))
    rest = islice(draw_batches(lessons, forms_of(table), settings), progress.update, settings.updates)
    half = torch.bfloat16 if settings.lora_rank and settings.precision == "bf16" else None
    with frozen_layers_in(half, net.encoder):
        for parts in each_update(rest, progress, settings.updates, net, folder, every, accelerator):
            loss = _loss(prepared, parts, marks, accelerator.device)
            optimizer.zero_grad()
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(net.parameters(), settings.gradient_norm)
            optimizer.step()
            value = float(loss.detach())
            if not math.isfinite(value):
                raise ValueError(
                    f"the loss of update {progress.update + 1} is {value}: lower the rates, or take float32"
                )
            log.update(
                progress.update + 1, settings.updates, value, float(rates.get_last_lr()[0]), time.perf_counter() - begun
            )
            rates.step()
            progress.update, progress.seconds = progress.update + 1, time.perf_counter() - begun
    if settings.lora_rank:
        merge_adapters(net)
    return net


def _loss(net: nn.Module, parts: Sequence[Part], marks: Marks, device: torch.device) -> torch.Tensor:
    """Return the mean loss (nats) over the boundaries that the windows show, weighted by their labels: those in the
    margins too, which other windows decide.
    """
    batch = batch_of([(lesson.sentences, window) for lesson, window in parts], marks)
    label, weight = [], []
    for lesson, window in parts:
        at = np.arange(window.begin, window.end)
        label.append(lesson.label[at])
        weight.append(np.where(at > window.begin, lesson.weight[at], 0))  # before the first one nothing is read
    net.train()
    arrays = (batch.ids, batch.mask, batch.marks, batch.evidence)
    log_odds = net(*(torch.from_numpy(array).to(device) for array in arrays))
    truth = torch.from_numpy(np.concatenate(label)).to(device).clamp(min=0).float()
    counts = torch.from_numpy(np.concatenate(weight).astype(np.float32)).to(device)
    losses = nn.functional.binary_cross_entropy_with_logits(log_odds.float(), truth, counts, reduction="sum")
    mean: torch.Tensor = losses / counts.sum().clamp(min=1)
    return mean


def _rate(update: int, settings: ContextSettings) -> float:
    left = 1 - update / max(1, settings.updates)
    return min(1.0, (update + 1) / settings.warmup, left / settings.cooldown if settings.cooldown else 1.0)


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
