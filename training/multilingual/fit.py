"""The training loop: the student's vectors approach the teacher's, and so do its answers."""

import argparse
import hashlib
import time
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np
import numpy.typing as npt
import torch
from accelerate import Accelerator
from torch.nn import functional

from edos_dataset.arrays import Ints
from edos_dataset.encoders.encoder import token_batches
from training.classifier.fit import WeightAverage
from training.labels.fit import attention_of
from training.labels.targets import loss_of
from training.loop import Log, Progress, each_update, linear_rate, resume
from training.multilingual.examples import Lessons, updates_of
from training.multilingual.recipe import MultilingualRecipe
from training.multilingual.student import Plain, States

_TOKENS = 768  # in a forward pass, padding included


class Student(torch.nn.Module):
    """The student in training.

    Args:
        model: the student; only the upper layers of its encoder and its projection are trained.
        spread: float32 [width], the standard deviations of the teacher's vectors.
        recipe: the weights of the losses.
    """

    def __init__(self, model: Plain, spread: torch.Tensor, recipe: MultilingualRecipe) -> None:
        super().__init__()
        self.model, self.recipe = model, recipe
        self.spread: torch.Tensor
        self.register_buffer("spread", spread)
        self.convention = model.config.conventions.index("xed")

    def forward(
        self,
        batches: Sequence[tuple[torch.Tensor, torch.Tensor]],
        order: torch.Tensor,
        targets: torch.Tensor,
        taught: torch.Tensor,
        truth: tuple[torch.Tensor, ...],
        labelled: torch.Tensor,
    ) -> torch.Tensor:
        """Return the three mean losses of turns: of the vectors, the answers and the labels, [3].

        Args:
            batches: states and mask of turns of similar length.
            order: int64 [turns], the position in the concatenated batches of each turn.
            targets: float32 [turns, width], the teacher's vectors.
            taught: bool [turns], which turns have such a vector.
            truth: values, wide and kinds, as for `loss_of`.
            labelled: bool [turns], which turns have labels.
        """
        vectors = torch.cat([self.model.upper(states, mask) for states, mask in batches])[order]
        distance = (((vectors - targets)[taught] / self.spread) ** 2).mean()
        starts = torch.arange(len(vectors))
        logits, odds = self.model.see_dialogues(vectors, starts)
        answer = self.model.config.answer
        with torch.no_grad():
            wanted = self.model.label(targets, starts, answer).softmax(-1)[taught]
        said = self.model.mix(logits, odds, answer).log_softmax(-1)[taught]
        divergence = functional.kl_div(said, wanted, reduction="batchmean")
        values, wide, kinds = (each[labelled] for each in truth)
        labels = loss_of(logits[labelled][:, self.convention], values, wide, kinds, 0.4, 0.0).sum() / len(vectors)
        return torch.stack([distance, divergence, labels])


def fit(
    student: Student, states: States, lessons: Lessons, accelerator: Accelerator, arguments: argparse.Namespace
) -> Progress:
    """Train for all updates, and leave the model with the averaged weights.

    Raises:
        ValueError: the folder belongs to another training.
    """
    recipe = student.recipe
    plan = updates_of(lessons, recipe)
    trained = [parameter for parameter in student.parameters() if parameter.requires_grad]
    prepared, optimizer = accelerator.prepare(
        student, torch.optim.AdamW(trained, recipe.learning_rate, (0.9, 0.98), weight_decay=recipe.weight_decay)
    )
    average = WeightAverage(student, recipe.averaging)
    rates = torch.optim.lr_scheduler.LambdaLR(
        optimizer.optimizer, lambda update: linear_rate(update, len(plan), recipe.warmup)
    )
    accelerator.register_for_checkpointing(average, rates)
    digest = hashlib.sha256(states.offsets.tobytes() + lessons.vectors.tobytes()).hexdigest()
    progress = resume(arguments.out, {"recipe": asdict(recipe), "lessons": digest}, accelerator)
    log, begun = Log(arguments.out, progress.update, accelerator), time.perf_counter() - progress.seconds
    weights = torch.tensor([1.0, recipe.answer_weight, recipe.label_weight])
    rest = plan[progress.update :]
    for rows in each_update(rest, progress, len(plan), student, arguments.out, arguments.checkpoint_every, accelerator):
        with attention_of(accelerator.device):
            losses = prepared(*inputs_of(rows, states, lessons))
            accelerator.backward((losses * weights).sum())
        accelerator.clip_grad_norm_(trained, recipe.gradient_norm)
        optimizer.step()
        optimizer.zero_grad()
        parts = losses.tolist()
        log.update(
            progress.update + 1, len(plan), parts[0], float(rates.get_last_lr()[-1]), time.perf_counter() - begun
        )
        rates.step()
        average.add()
        progress.update, progress.seconds = progress.update + 1, time.perf_counter() - begun
        if progress.update % 20 == 0:
            accelerator.print(f"  vectors {parts[0]:.3f}, answers {parts[1]:.3f}, labels {parts[2]:.3f}")
    average.apply()
    return progress


Batches = list[tuple[torch.Tensor, torch.Tensor]]
"""States and masks of turns of similar length."""


def inputs_of(
    rows: Ints, states: States, lessons: Lessons
) -> tuple[Batches, torch.Tensor, torch.Tensor, torch.Tensor, tuple[torch.Tensor, ...], torch.Tensor]:
    """Return the arguments of `Student` for some examples."""
    lengths = states.offsets[rows + 1] - states.offsets[rows]
    groups = list(token_batches(lengths.tolist(), _TOKENS))
    order = torch.from_numpy(np.argsort(np.concatenate(groups), kind="stable"))
    batches = [states.padded(rows[group].tolist()) for group in groups]
    targets = torch.from_numpy(lessons.vectors[rows].astype(np.float32))
    truth = lessons.values[rows], lessons.wide[rows], lessons.kinds[rows]
    taught, labelled = torch.from_numpy(lessons.taught[rows]), torch.from_numpy(lessons.labelled[rows])
    return batches, order, targets, taught, truth, labelled


def spread_of(vectors: npt.NDArray[np.float16]) -> torch.Tensor:
    """Return the standard deviations of vectors [n, width], float32 [width]."""
    return torch.from_numpy(vectors.astype(np.float32).std(axis=0)).clamp(min=1e-3)
