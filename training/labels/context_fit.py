"""The context layers and their head, trained on the vectors of an encoder that is trained already."""

import time
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import torch
from accelerate import Accelerator

from edos_dataset.arrays import Floats, Ints
from edos_dataset.labeling.models.context import ContextClassifier
from edos_dataset.labels import LABELS
from training.labels.fit import rate_factor
from training.labels.loss import loss_of
from training.labels.plan import shares_of
from training.labels.recipe import LabelsRecipe
from training.labels.vectors import Vectors

_BLOCK = 500  # dialogues that are labelled at once


def fit_context(
    model: ContextClassifier, train: Vectors, held: Vectors, recipe: LabelsRecipe, accelerator: Accelerator
) -> list[dict[str, float]]:
    """Train what sees the dialogue; the encoder and the head for the turn alone stay as they are. The head starts as a
    copy of that for the turn alone.

    Every process does the same: the vectors are small, and so is the layer.

    Returns:
        For each look the update, the loss (nats), and the share of held-out turns of each source that are right.
    """
    start_from_turn_head(model)
    torch.manual_seed(recipe.seed)
    parts = [model.context_layers, model.context_norm, model.dialogue_head]
    trained = [parameter for part in parts for parameter in part.parameters()]
    optimizer = torch.optim.AdamW(trained, lr=recipe.context_rate, weight_decay=recipe.weight_decay)
    plan, begun, looks, losses = list(_plan(train, recipe)), time.perf_counter(), [], []
    for update, dialogues in enumerate(plan):
        for group in optimizer.param_groups:
            group["lr"] = recipe.context_rate * rate_factor(update, len(plan), recipe.warmup)
        losses.append(_step(model, optimizer, train, dialogues, recipe, accelerator))
        if (update + 1) % max(1, len(plan) // recipe.evaluations) == 0:
            right = hits(held, logits_of(model, held, accelerator))
            looks.append({"update": update + 1, "loss": float(np.mean(losses[-100:])), **right})
            told = ", ".join(f"{name} {value:.1%}" for name, value in right.items())
            seconds = time.perf_counter() - begun
            accelerator.print(f"context {update + 1} of {len(plan)}, {seconds / 60:.1f} min: right: {told}")
    return looks


def start_from_turn_head(model: ContextClassifier) -> None:
    """Let the head for the turn in its dialogue say what the one for the turn alone says."""
    head, alone = cast(Any, model.dialogue_head), cast(Any, model.turn_head)
    first, own = head[1], alone[1]
    with torch.no_grad():
        first.weight.zero_()
        first.weight[:, : own.weight.shape[1]] = own.weight
        first.bias.copy_(own.bias)
        head[4].load_state_dict(alone[4].state_dict())


def _plan(train: Vectors, recipe: LabelsRecipe) -> Iterator[list[int]]:
    """Yield the dialogues of every update: `context_turns` labelled turns, sources in the parts that the recipe says,
    each dialogue's first for as many turns as it has.
    """
    generator = np.random.default_rng([recipe.seed, 1])
    taught = np.add.reduceat(train.labelled >= 0, train.bounds[:-1])
    turns = {name: (0, int(taught[start:stop].sum())) for name, (start, stop) in train.sources.items()}
    shares = shares_of(turns, recipe)
    means = {name: turns[name][1] / max(1, np.subtract(*train.sources[name][::-1])) for name in shares}
    odds = np.array([shares[name] / means[name] for name in shares])  # of a dialogue, whose turns all come
    for _ in range(recipe.context_updates):
        chosen: list[int] = []
        count = 0
        while count < recipe.context_turns:
            name = generator.choice(list(shares), p=odds / odds.sum())
            dialogue = int(generator.integers(*train.sources[name]))
            chosen.append(dialogue)
            count += int(taught[dialogue])
        yield chosen


def _step(
    model: ContextClassifier,
    optimizer: torch.optim.Optimizer,
    train: Vectors,
    dialogues: list[int],
    recipe: LabelsRecipe,
    accelerator: Accelerator,
) -> float:
    model.train()
    vectors, starts, chosen, rows = train.take(dialogues)
    vectors = torch.nn.functional.dropout(vectors, recipe.context_dropout)
    device = accelerator.device
    logits = model.label_dialogues(vectors.to(device), starts.to(device))[chosen.to(device)]
    values, wide, kinds = (part[rows].to(device) for part in (train.targets, train.wide, train.kinds))
    loss = loss_of(logits, values, wide, kinds, recipe.silent_weight, recipe.label_smoothing).mean()
    loss.backward()  # type: ignore[no-untyped-call]
    torch.nn.utils.clip_grad_norm_([p for group in optimizer.param_groups for p in group["params"]], 1.0)
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


def logits_of(model: ContextClassifier, vectors: Vectors, accelerator: Accelerator) -> Floats:
    """Return the logits of all labelled turns, seen in their dialogues, float32 [targets, 41]."""
    model.eval()  # type: ignore[no-untyped-call]
    logits = np.zeros((len(vectors.targets), len(LABELS)), np.float32)
    with torch.inference_mode():
        for start in range(0, len(vectors.bounds) - 1, _BLOCK):
            block = range(start, min(start + _BLOCK, len(vectors.bounds) - 1))
            values, starts, chosen, rows = vectors.take(block)
            found = model.label_dialogues(values.to(accelerator.device), starts.to(accelerator.device))
            logits[rows.numpy()] = found.float().cpu().numpy()[chosen.numpy()]
    return logits


def hits(vectors: Vectors, logits: Floats) -> dict[str, float]:
    """Return for each source the share of labelled turns whose most probable label is among the right ones."""
    right = vectors.targets.numpy()[np.arange(len(logits)), logits.argmax(axis=1)] > 0
    return {name: float(right[rows].mean()) for name in vectors.sources if len(rows := rows_of(vectors, name))}


def rows_of(vectors: Vectors, name: str) -> Ints:
    """Return the rows of the targets of a source."""
    start, stop = vectors.sources[name]
    own = vectors.labelled[vectors.bounds[start] : vectors.bounds[stop]]
    found: Ints = own[own >= 0]
    return found
