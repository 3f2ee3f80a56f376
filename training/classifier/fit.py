"""The training loop of a classifier: updates, evaluations and checkpoints."""

import argparse
import hashlib
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.optimizer import AcceleratedOptimizer
from accelerate.utils import gather_object
from transformers import AutoModelForSequenceClassification, PreTrainedModel, PreTrainedTokenizerBase

from edos_dataset.arrays import Floats, Ints
from edos_dataset.encoders import encoder as batches
from edos_dataset.metrics.classification import cross_entropy, softmax
from training.classifier.model import parameter_groups, token_ids
from training.classifier.parts import Data, Part, mix_in
from training.classifier.recipe import ClassifierRecipe
from training.loop import Log, Progress, each_update, rate_factor, resume


@dataclass(frozen=True)
class Examples:
    """The training split as the model reads it: token ids, target probabilities and loss weights; replayed examples
    come last.

    With history dropout, all examples follow once more without their history.
    """

    inputs: list[list[int]]
    targets: torch.Tensor
    weights: torch.Tensor
    own: int
    count: int
    several: bool = False

    @classmethod
    def of(cls, data: Data, recipe: ClassifierRecipe, tokenizer: PreTrainedTokenizerBase) -> "Examples":
        """Tokenise the training part."""
        parts = (data.train, data.replay)
        targets = np.concatenate([part.targets for part in parts])
        smooth = recipe.label_smoothing / targets.shape[1] + (1 - recipe.label_smoothing) * targets
        weights = np.concatenate([part.weights for part in parts])
        forms = [recipe, replace(recipe, context=0)] if recipe.history_dropout else [recipe]
        inputs = [ids for form in forms for part in parts for ids in token_ids(form, tokenizer, part.dialogues)]
        targets, weights = np.tile(smooth.astype(np.float32), (len(forms), 1)), np.tile(weights, len(forms))
        own, several = len(data.train), data.several
        return cls(inputs, torch.from_numpy(targets), torch.from_numpy(weights), own, len(smooth), several)

    def epoch(self, number: int, recipe: ClassifierRecipe) -> list[Ints]:
        """Return the rows of every update of an epoch: all own examples and a sample of the replayed ones, shuffled by
        the recipe's seed.
        """
        generator = np.random.default_rng([recipe.seed, number])
        further = np.arange(self.own, self.count)
        sample = generator.permutation(further)[: round(recipe.replay_share * len(further))]
        rows = generator.permutation(np.concatenate([np.arange(self.own), sample]))
        if recipe.history_dropout:
            rows = rows + self.count * (generator.random(len(rows)) < recipe.history_dropout)
        return [rows[start : start + recipe.batch] for start in range(0, len(rows), recipe.batch)]


def micro_batches(rows: Ints, inputs: Sequence[list[int]], budget: int) -> list[Ints]:
    """Return the rows sorted by length, longest first, in batches of at most `budget` tokens with padding. A longer row
    is a batch of its own.
    """
    return [rows[batch] for batch in batches.token_batches([len(inputs[row]) for row in rows], budget)]


def pad(inputs: Sequence[list[int]], padding: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return token ids and attention mask, [n, longest]."""
    ids, mask = batches.pad(inputs, np.array([len(row) for row in inputs]), padding)
    return torch.from_numpy(ids), torch.from_numpy(mask)


class WeightAverage:
    """The moving average of the trained weights; with a decay of 0, the weights themselves.

    The decay starts small and grows to its value, so that the average soon forgets the initial weights.
    """

    def __init__(self, model: torch.nn.Module, decay: float) -> None:
        self.trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.decay, self.updates = decay, 0
        self.values = [parameter.detach().clone() for parameter in self.trained] if decay else []

    @torch.no_grad()
    def add(self) -> None:
        """Add the weights after an update."""
        self.updates += 1
        if self.decay:
            decay = min(self.decay, self.updates / (self.updates + 9))
            torch._foreach_lerp_(self.values, [parameter.detach() for parameter in self.trained], 1 - decay)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Use the averaged weights in the model within the `with` block."""
        self._exchange()
        try:
            yield
        finally:
            self._exchange()

    def apply(self) -> None:
        """Replace the model's weights by the averaged ones."""
        self._exchange()

    @torch.no_grad()
    def _exchange(self) -> None:
        for parameter, value in zip(self.trained, self.values, strict=False):
            kept = parameter.detach().clone()
            parameter.copy_(value)
            value.copy_(kept)

    def state_dict(self) -> dict[str, Any]:
        """Return the state for a checkpoint."""
        return {"updates": self.updates, "values": self.values}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the state from a checkpoint."""
        self.updates = state["updates"]
        for value, stored in zip(self.values, state["values"], strict=True):
            value.copy_(stored)


def logits_of(
    model: torch.nn.Module,
    dialogues: Sequence[Sequence[str]],
    recipe: ClassifierRecipe,
    tokenizer: PreTrainedTokenizerBase,
    accelerator: Accelerator,
) -> Floats:
    """Return the logits of the last turns of dialogues; see `predict`."""
    inputs = token_ids(recipe, tokenizer, dialogues)
    return predict(model, inputs, recipe.micro_tokens, tokenizer.pad_token_id, accelerator)


def predict(
    model: torch.nn.Module, inputs: Sequence[list[int]], budget: int, padding: int, accelerator: Accelerator
) -> Floats:
    """Return the logits of inputs, float32 [n, labels], before any temperature. Every process computes a part and
    receives all.
    """
    model.eval()
    parts: list[tuple[Ints, Floats]] = []
    with torch.inference_mode(), accelerator.autocast():
        for batch in micro_batches(np.arange(len(inputs)), inputs, budget)[
            accelerator.process_index :: accelerator.num_processes
        ]:
            ids, mask = (tensor.to(accelerator.device) for tensor in pad([inputs[row] for row in batch], padding))
            parts.append((batch, model(input_ids=ids, attention_mask=mask).logits.float().cpu().numpy()))
    parts = gather_object(parts)  # a process may have had no inputs
    logits = np.zeros((len(inputs), parts[0][1].shape[1] if parts else 0), np.float32)
    for batch, values in parts:
        logits[batch] = values
    return logits


def teach(data: Data, recipe: ClassifierRecipe, tokenizer: PreTrainedTokenizerBase, accelerator: Accelerator) -> Data:
    """Return the data with the mean calibrated probabilities of the recipe's teachers mixed into
    the training targets.
    """
    parts = []
    teachers = [
        AutoModelForSequenceClassification.from_pretrained(folder, trust_remote_code=False).to(accelerator.device)
        for folder in recipe.distil
    ]
    names = dict(enumerate(data.label_set.labels))
    if data.several or any(teacher.config.id2label != names for teacher in teachers):
        raise ValueError(
            f"distil: a teacher has other labels than the data, {data.label_set.listed()}: leave it out of the recipe"
        )
    for part in (data.train, data.replay):
        if len(part):
            answers = [
                softmax(logits_of(teacher, part.dialogues, recipe, tokenizer, accelerator)) for teacher in teachers
            ]
            part = mix_in(part, np.mean(answers, axis=0), recipe.distil_share)
        parts.append(part)
    return replace(data, train=parts[0], replay=parts[1])


def fit(
    model: PreTrainedModel,
    examples: Examples,
    data: Data,
    tokenizer: PreTrainedTokenizerBase,
    recipe: ClassifierRecipe,
    accelerator: Accelerator,
    arguments: argparse.Namespace,
) -> Progress:
    """Train until the epochs end or patience runs out, and leave the model with the weights of the lowest validation
    cross-entropy.
    """
    plan = [rows for epoch in range(recipe.epochs) for rows in examples.epoch(epoch, recipe)]
    evaluations = set(np.linspace(0, len(plan), recipe.epochs * recipe.evaluations + 1).round().astype(int).tolist())
    prepared, optimizer = accelerator.prepare(
        model, torch.optim.AdamW(parameter_groups(model, recipe), betas=(0.9, recipe.beta_2), eps=recipe.epsilon)
    )
    average = WeightAverage(model, recipe.averaging)
    rates = torch.optim.lr_scheduler.LambdaLR(
        optimizer.optimizer, lambda update: rate_factor(update, len(plan), recipe.warmup, recipe.schedule)
    )
    accelerator.register_for_checkpointing(average, rates)
    progress = resume(arguments.out, fingerprint(recipe, examples, arguments), accelerator)
    validation = token_ids(recipe, tokenizer, data.validation.dialogues)
    log, begun = Log(arguments.out, progress.update, accelerator), time.perf_counter() - progress.seconds
    rest = plan[progress.update :]
    for rows in each_update(rest, progress, len(plan), model, arguments.out, arguments.checkpoint_every, accelerator):
        loss = take_step(prepared, optimizer, rows, examples, tokenizer.pad_token_id, recipe, accelerator)
        log.update(progress.update + 1, len(plan), loss, float(rates.get_last_lr()[-1]), time.perf_counter() - begun)
        rates.step()
        average.add()
        progress.update, progress.seconds = progress.update + 1, time.perf_counter() - begun
        if progress.update in evaluations:
            with average.applied():
                logits = predict(model, validation, recipe.micro_tokens, tokenizer.pad_token_id, accelerator)
                value, right = judged(logits, data.validation, data.several)
                if progress.judge(value, recipe.patience) and accelerator.is_main_process:
                    progress.keep_best(model, arguments.out)
            log.evaluation(progress.update, value, accuracy=right)
    accelerator.wait_for_everyone()
    progress.load_best(model, arguments.out)
    return progress


def take_step(
    model: torch.nn.Module,
    optimizer: AcceleratedOptimizer,
    rows: Ints,
    examples: Examples,
    padding: int,
    recipe: ClassifierRecipe,
    accelerator: Accelerator,
) -> float:
    """Update the weights on some examples, split over the processes; return the weighted mean loss (nats) over all of
    them.
    """
    model.train()
    total = float(examples.weights[rows].sum())
    # Sorted by length before they are distributed, so that all processes have about the same work.
    ranked = rows[np.argsort([len(examples.inputs[row]) for row in rows], kind="stable")]
    own = ranked[accelerator.process_index :: accelerator.num_processes]
    silent = len(own) == 0  # every process must take part in the gradient exchange
    batches = micro_batches(ranked[:1] if silent else own, examples.inputs, recipe.micro_tokens)
    loss_sum = torch.zeros((), device=accelerator.device)
    for number, batch in enumerate(batches, start=1):
        ids, mask = (tensor.to(accelerator.device) for tensor in pad([examples.inputs[row] for row in batch], padding))
        targets, weights = (
            examples.targets[batch].to(accelerator.device),
            examples.weights[batch].to(accelerator.device) * (not silent),
        )
        with nullcontext() if number == len(batches) else accelerator.no_sync(model):
            logits = model(input_ids=ids, attention_mask=mask).logits
            loss = (losses_of(logits.float(), targets, examples.several) * weights).sum() / total
            # Gradients are averaged over processes, but the loss is a sum over them.
            accelerator.backward(loss * accelerator.num_processes)
        loss_sum += loss.detach()
    accelerator.clip_grad_norm_(model.parameters(), recipe.gradient_norm)
    optimizer.step()
    optimizer.zero_grad()
    return float(accelerator.reduce(loss_sum, "sum"))


def fingerprint(recipe: ClassifierRecipe, examples: Examples, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what must match for a training to be resumed from a checkpoint; the number of processes may differ."""
    digest = hashlib.sha256(repr(examples.inputs).encode())
    digest.update(examples.targets.numpy().tobytes() + examples.weights.numpy().tobytes())
    return {"recipe": asdict(recipe), "examples": digest.hexdigest(), "start": str(arguments.start)}


def losses_of(logits: torch.Tensor, targets: torch.Tensor, several: bool) -> torch.Tensor:
    """Return the loss of each example, [n], in nats: the cross-entropy, or where a turn can have several labels the
    mean over the labels of their binary cross-entropies.
    """
    if several:
        return torch.nn.functional.binary_cross_entropy_with_logits(logits, targets, reduction="none").mean(dim=1)
    return torch.nn.functional.cross_entropy(logits, targets, reduction="none")


def judged(logits: Floats, part: Part, several: bool) -> tuple[float, float]:
    """Return the mean loss (nats) of logits on a part, and the fraction of examples whose labels are all right."""
    if several:
        value = float((np.logaddexp(0, logits) - part.targets * logits).mean())
        return value, float(((logits > 0) == (part.targets > 0.5)).all(axis=1).mean())
    right = float(np.mean(logits.argmax(axis=1) == part.labels))
    return cross_entropy(softmax(logits), part.labels), right
