"""Updates, looks at the validation parts and checkpoints of the turn encoder's training."""

import argparse
import hashlib
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.optimizer import AcceleratedOptimizer
from transformers import PreTrainedTokenizerBase

from edos_dataset.arrays import Floats, Ints
from edos_dataset.crowd.splits import plain_text
from training.classifier.batches import WeightAverage, micro_batches, pad
from training.classifier.checkpoints import Progress, resume
from training.classifier.log import Log
from training.labels.loss import loss_of
from training.labels.model import TurnModel, turn_ids
from training.labels.plan import Texts, updates_of
from training.labels.recipe import LabelsRecipe
from training.labels.sources import Taught

_LOOKED_AT = 2000
"""Held-out turns of a source that a look takes at most."""


def fit(
    model: TurnModel,
    texts: Texts,
    held: Mapping[str, Sequence[Taught]],
    tokenizer: PreTrainedTokenizerBase,
    recipe: LabelsRecipe,
    accelerator: Accelerator,
    arguments: argparse.Namespace,
) -> Progress:
    """Train for all updates, and leave the model with the averaged weights. The validation parts are looked at and
    decide nothing.

    Raises:
        ValueError: an update has fewer texts than there are processes, or the folder is of another training.
    """
    if recipe.batch < accelerator.num_processes:
        raise ValueError(
            f"batch is {recipe.batch}, but {accelerator.num_processes} processes run: each needs a text of an update"
        )
    inputs = turn_ids(texts.texts, tokenizer, recipe.turn_tokens)
    plan = updates_of(texts, [len(ids) for ids in inputs], recipe)
    looks = set(np.linspace(0, len(plan), recipe.evaluations + 1).round().astype(int).tolist())
    prepared, optimizer = accelerator.prepare(
        model, torch.optim.AdamW(model.groups(recipe), betas=(0.9, recipe.beta_2))
    )
    average = WeightAverage(model, recipe.averaging)
    rates = torch.optim.lr_scheduler.LambdaLR(
        optimizer.optimizer, lambda update: rate_factor(update, len(plan), recipe.warmup)
    )
    accelerator.register_for_checkpointing(average, rates)
    progress = resume(arguments.out, fingerprint(recipe, inputs, texts), accelerator)
    log, begun = Log(arguments.out, progress.update, accelerator), time.perf_counter() - progress.seconds
    for rows in plan[progress.update :]:
        loss = take_step(prepared, optimizer, rows, inputs, texts, tokenizer.pad_token_id or 0, recipe, accelerator)
        log.update(progress.update + 1, len(plan), loss, float(rates.get_last_lr()[-1]), time.perf_counter() - begun)
        rates.step()
        average.add()
        progress.update, progress.seconds = progress.update + 1, time.perf_counter() - begun
        if progress.update in looks:
            with average.applied():
                log.look(progress.update, look(model, held, tokenizer, recipe, accelerator))
        if progress.update % arguments.checkpoint_every == 0 or progress.update == len(plan):
            progress.save(arguments.out, accelerator)
    accelerator.wait_for_everyone()
    average.apply()
    return progress


def take_step(
    model: torch.nn.Module,
    optimizer: AcceleratedOptimizer,
    rows: Ints,
    inputs: Sequence[list[int]],
    texts: Texts,
    padding: int,
    recipe: LabelsRecipe,
    accelerator: Accelerator,
) -> float:
    """Update the weights by some texts, each process by its share of them; return the mean loss (nats) over all."""
    model.train()
    own = rows[accelerator.process_index :: accelerator.num_processes]
    batches = micro_batches(own, inputs, recipe.micro_tokens)
    total = torch.zeros((), device=accelerator.device)
    for number, batch in enumerate(batches, start=1):
        ids, mask = (tensor.to(accelerator.device) for tensor in pad([inputs[row] for row in batch], padding))
        values, wide, kinds = (part[batch].to(accelerator.device) for part in (texts.values, texts.wide, texts.kinds))
        with nullcontext() if number == len(batches) else accelerator.no_sync(model):
            logits = model(ids, mask)
            losses = loss_of(logits.float(), values, wide, kinds, recipe.silent_weight, recipe.label_smoothing)
            loss = losses.sum() / len(rows)
            # Gradients are averaged over the processes, and the loss is a sum over them.
            accelerator.backward(loss * accelerator.num_processes)
        total += loss.detach()
    accelerator.clip_grad_norm_(model.parameters(), recipe.gradient_norm)
    optimizer.step()
    optimizer.zero_grad()
    return float(accelerator.reduce(total, "sum"))


def look(
    model: TurnModel,
    held: Mapping[str, Sequence[Taught]],
    tokenizer: PreTrainedTokenizerBase,
    recipe: LabelsRecipe,
    accelerator: Accelerator,
) -> dict[str, float]:
    """Return for each source the share of held-out turns whose most probable label is among the right ones."""
    found = {}
    for name, dialogues in held.items():
        taught = [
            (text, target)
            for each in dialogues
            for text, target in zip(each.turns, each.targets, strict=True)
            if target is not None and plain_text(text)
        ][:_LOOKED_AT]
        logits = predict(model, [text for text, _ in taught], tokenizer, recipe, accelerator)
        right = [target.holds(int(label)) for (_, target), label in zip(taught, logits.argmax(axis=1), strict=True)]
        found[name] = float(np.mean(right)) if right else 0.0
    return found


def predict(
    model: TurnModel,
    texts: Sequence[str],
    tokenizer: PreTrainedTokenizerBase,
    recipe: LabelsRecipe,
    accelerator: Accelerator,
) -> Floats:
    """Return the logits of turns, float32 [n, 41], before any temperature."""
    inputs = turn_ids(texts, tokenizer, recipe.turn_tokens)
    logits = np.zeros((len(inputs), 41), np.float32)
    model.eval()
    with torch.inference_mode(), accelerator.autocast():
        for batch in micro_batches(np.arange(len(inputs)), inputs, 2048):
            ids, mask = pad([inputs[row] for row in batch], tokenizer.pad_token_id or 0)
            logits[batch] = model(ids.to(accelerator.device), mask.to(accelerator.device)).float().cpu().numpy()
    return logits


def rate_factor(update: int, updates: int, warmup: float) -> float:
    """Return the learning rate of an update (from 0) relative to its highest: linear warm-up, then a linear decay to
    zero.
    """
    rising = max(1, round(warmup * updates))
    return (update + 1) / rising if update < rising else (updates - update) / max(1, updates - rising)


def fingerprint(recipe: LabelsRecipe, inputs: Sequence[list[int]], texts: Texts) -> dict[str, Any]:
    """Return what must be equal for a checkpoint to be gone on from; the number of processes need not be, and what is
    trained after the encoder has no part in it.
    """
    settings = {name: value for name, value in asdict(recipe).items() if not name.startswith("context_")}
    digest = hashlib.sha256(repr(inputs).encode())
    digest.update(texts.values.numpy().tobytes() + texts.kinds.numpy().tobytes())
    return {"recipe": settings, "texts": digest.hexdigest()}
