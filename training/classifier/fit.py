"""Updates, evaluations and checkpoints of a classifier's training."""

import argparse
import hashlib
import time
from contextlib import nullcontext
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.optimizer import AcceleratedOptimizer
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from edos_dataset.arrays import Ints
from edos_dataset.metrics.calibration import softmax
from edos_dataset.metrics.classification import cross_entropy
from training.classifier.batches import Examples, WeightAverage, micro_batches, pad
from training.classifier.data import Data
from training.classifier.model import parameter_groups, token_ids
from training.classifier.prediction import predict
from training.classifier.recipe import ClassifierRecipe
from training.loop.checkpoints import Progress, resume
from training.loop.log import Log
from training.loop.rates import rate_factor


def fit(
    model: PreTrainedModel,
    examples: Examples,
    data: Data,
    tokenizer: PreTrainedTokenizerBase,
    recipe: ClassifierRecipe,
    accelerator: Accelerator,
    arguments: argparse.Namespace,
) -> Progress:
    """Train to the end of the epochs or of patience, and leave the model with the weights of the lowest validation
    cross-entropy.
    """
    plan = [rows for epoch in range(recipe.epochs) for rows in examples.epoch(epoch, recipe)]
    evaluations = set(np.linspace(0, len(plan), recipe.epochs * recipe.evaluations + 1).round().astype(int).tolist())
    prepared, optimizer = accelerator.prepare(
        model, torch.optim.AdamW(parameter_groups(model, recipe), betas=(0.9, recipe.beta_2))
    )
    average = WeightAverage(model, recipe.averaging)
    rates = torch.optim.lr_scheduler.LambdaLR(
        optimizer.optimizer, lambda update: rate_factor(update, len(plan), recipe.warmup, recipe.schedule)
    )
    accelerator.register_for_checkpointing(average, rates)
    progress = resume(arguments.out, fingerprint(recipe, examples, arguments), accelerator)
    validation = token_ids(recipe, tokenizer, data.validation.dialogues)
    log, begun = Log(arguments.out, progress.update, accelerator), time.perf_counter() - progress.seconds
    for rows in plan[progress.update :]:
        if progress.stopped:
            break
        loss = take_step(prepared, optimizer, rows, examples, tokenizer.pad_token_id, recipe, accelerator)
        log.update(progress.update + 1, len(plan), loss, float(rates.get_last_lr()[-1]), time.perf_counter() - begun)
        rates.step()
        average.add()
        progress.update, progress.seconds = progress.update + 1, time.perf_counter() - begun
        if progress.update in evaluations:
            with average.applied():
                logits = predict(model, validation, recipe.micro_tokens, tokenizer.pad_token_id, accelerator)
                value = cross_entropy(softmax(logits), data.validation.labels)
                if progress.judge(value, recipe.patience) and accelerator.is_main_process:
                    progress.keep_best(model, arguments.out)
            right = float(np.mean(logits.argmax(axis=1) == data.validation.labels))
            log.evaluation(progress.update, value, accuracy=right)
        if progress.update % arguments.checkpoint_every == 0 and progress.update < len(plan):
            progress.save(arguments.out, accelerator)
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
    """Update the weights by some examples, each process by its share of them; return the weighted mean loss (nats) over
    all of them.
    """
    model.train()
    total = float(examples.weights[rows].sum())
    # Sorted by length before they are dealt out, so that the processes get equally much to do.
    ranked = rows[np.argsort([len(examples.inputs[row]) for row in rows], kind="stable")]
    own = ranked[accelerator.process_index :: accelerator.num_processes]
    silent = len(own) == 0  # every process must take part in the exchange of gradients
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
            loss = (
                torch.nn.functional.cross_entropy(logits.float(), targets, reduction="none") * weights
            ).sum() / total
            # Gradients are averaged over the processes, and the loss is a sum over them.
            accelerator.backward(loss * accelerator.num_processes)
        loss_sum += loss.detach()
    accelerator.clip_grad_norm_(model.parameters(), recipe.gradient_norm)
    optimizer.step()
    optimizer.zero_grad()
    return float(accelerator.reduce(loss_sum, "sum"))


def fingerprint(recipe: ClassifierRecipe, examples: Examples, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what must be equal for a checkpoint to be gone on from; the number of processes need not be."""
    digest = hashlib.sha256(repr(examples.inputs).encode())
    digest.update(examples.targets.numpy().tobytes() + examples.weights.numpy().tobytes())
    return {"recipe": asdict(recipe), "examples": digest.hexdigest(), "start": str(arguments.start)}
