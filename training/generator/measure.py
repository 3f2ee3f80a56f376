"""What a model loses by the pairs of a part, computed by all processes of a training; and what a model loses that
knows only how often each token comes.
"""

import math
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import gather_object

from edos_dataset.arrays import Doubles, Ints
from training.generator.batches import forward_passes
from training.generator.pairs import Pairs
from training.generator.recipe import GeneratorRecipe
from training.generator.tasks import OwnTask, Task, among_strangers

_OF_GAIN = 1000
"""Most pairs by which it is told what histories are worth."""


def costs_of(
    model: torch.nn.Module,
    task: Task,
    pairs: Pairs,
    rows: Ints,
    recipe: GeneratorRecipe,
    accelerator: Accelerator,
    strange: bool = False,
) -> tuple[Doubles, Ints]:
    """Return what the targets of some pairs cost, nats [rows], and how many of them are the most probable, [rows];
    every process computes a part and gets them all. `strange` puts every target behind the history of another pair.
    """
    model.eval()
    parts: list[tuple[Ints, Doubles, Ints]] = []
    passes = forward_passes(rows, pairs, 2 * recipe.micro_tokens)
    with torch.inference_mode(), accelerator.autocast():
        for batch in passes[accelerator.process_index :: accelerator.num_processes]:
            inputs = {name: value.to(accelerator.device) for name, value in task.batch(pairs, batch).items()}
            nats, right = task.losses(model, among_strangers(inputs) if strange else inputs, 0.0)
            parts.append((batch, nats.double().cpu().numpy(), right.cpu().numpy()))
    parts = gather_object(parts)  # a process may have had none
    nats_of, right_of = np.zeros(len(pairs)), np.zeros(len(pairs), np.int64)
    for batch, nats_here, right_here in parts:
        nats_of[batch], right_of[batch] = nats_here, right_here
    return nats_of[rows], right_of[rows]


def history_gain(
    model: torch.nn.Module, task: Task, pairs: Pairs, recipe: GeneratorRecipe, accelerator: Accelerator
) -> float | None:
    """Return how many nats a target costs more behind the history of another pair than behind its own, on some pairs
    of a part: near 0, the model doesn't read what it answers, however low its perplexity. None where it reads history
    and answer in one row, or there is one pair alone.
    """
    if not isinstance(task, OwnTask) or len(pairs) < 2:
        return None
    rows = np.sort(np.random.default_rng([recipe.seed, len(pairs)]).permutation(len(pairs))[:_OF_GAIN])
    own, others = (
        costs_of(model, task, pairs, rows, recipe, accelerator, strange)[0].sum() for strange in (False, True)
    )
    return float(others - own) / int(task.targets(pairs)[rows].sum())


def figures_of(task: Task, pairs: Pairs, rows: Ints, nats: Doubles, right: Ints) -> dict[str, float]:
    """Return cross-entropy (nats a target), perplexity, share of targets that are the most probable, and, for answers,
    the perplexity of a word: all nats, those of the ends too, shared among the words.
    """
    targets = int(task.targets(pairs)[rows].sum())
    words = int(pairs.words[pairs.answer[rows]].sum())
    cross_entropy = float(nats.sum()) / targets
    found = {"cross_entropy": cross_entropy, "perplexity": _exp(cross_entropy)}
    if targets > len(rows):
        found["perplexity_per_word"] = _exp(float(nats.sum()) / max(1, words))
    return found | {"accuracy": float(right.sum()) / targets}


def measured(
    model: torch.nn.Module, task: Task, pairs: Pairs, recipe: GeneratorRecipe, accelerator: Accelerator
) -> dict[str, Any]:
    """Return the figures of a whole part, with how many pairs, targets and words it has."""
    rows = np.arange(len(pairs))
    nats, right = costs_of(model, task, pairs, rows, recipe, accelerator)
    sizes = {"pairs": len(pairs), "targets": int(task.targets(pairs).sum())}
    sizes |= {"words": int(pairs.words[pairs.answer].sum()), **pairs.left_out}
    gain = history_gain(model, task, pairs, recipe, accelerator)
    told = {} if gain is None else {"history_gain": gain}
    return figures_of(task, pairs, rows, nats, right) | told | sizes


def unigram(task: Task, train: Pairs, part: Pairs, vocabulary: int, of_labels: bool) -> dict[str, float]:
    """Return the figures of a model that gives each token (or, of the predictor, each label) its share in the answers
    of the training part, one more counted of each.
    """
    counts = target_counts(train, vocabulary, of_labels)
    nats = -np.log(counts / counts.sum())
    rows = np.arange(len(part))
    asked = _targets(part, rows, of_labels)
    figures = figures_of(task, part, rows, nats[asked], (asked == counts.argmax()).astype(np.int64))
    return {name: round(value, 4) for name, value in figures.items()}


def target_counts(train: Pairs, vocabulary: int, of_labels: bool) -> Doubles:
    """Return how often each token comes in the answers of the training part, or each of their labels, and once more,
    [vocabulary].
    """
    counts = np.ones(vocabulary)
    for batch in np.array_split(np.arange(len(train)), max(1, len(train) // 10_000)):
        found, times = np.unique(_targets(train, batch, of_labels), return_counts=True)
        counts[found] += times
    return counts


def _targets(pairs: Pairs, rows: Ints, of_labels: bool) -> Ints:
    if of_labels:
        return pairs.labels[pairs.answer[rows]].astype(np.int64)
    answer = pairs.answer[rows]
    begin, lengths = pairs.bounds[answer] + pairs.before[answer], pairs.answer_tokens[rows]
    steps = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return pairs.tokens[np.repeat(begin, lengths) + steps].astype(np.int64)


def _exp(nats: float) -> float:
    return math.exp(nats) if nats < 700 else math.inf
