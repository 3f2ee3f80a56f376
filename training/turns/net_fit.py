"""Learn the network of `edos_dataset.segmentation.turns.net`: binary cross-entropy over labelled seams, whole documents
a batch, AdamW.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from torch import nn

from edos_dataset.arrays import Bools, Floats
from edos_dataset.segmentation.turns.evidence import Reading, read
from edos_dataset.segmentation.turns.net import NetInputs, NetScorer, read_inputs
from training.turns.net_module import Net, NetSettings
from training.turns.passes import draw_pass, forms_of, hide, weigh


@dataclass(frozen=True, eq=False)
class Example:
    """A document, its labels and their weights: [sentences]."""

    inputs: NetInputs
    label: Floats
    weight: Floats


def fit_net(table: pa.Table, seams_chosen: Bools, settings: NetSettings, log: bool = False) -> NetScorer:
    """Learn a scorer from labelled documents.

    Args:
        table: SENTENCES with `same_turn` (1, 0, or -1 for not known), `label_confidence` (0 to 1, the weight of a seam)
            and `corpus`.
        seams_chosen: [sentences], the seams to learn from, as for `passes.weigh`.
        settings: how.
        log: print the loss of every pass.

    Raises:
        ValueError: the chosen seams are not of both classes.
    """
    label, weight = weigh(table, seams_chosen)
    reading = read(table, "en")
    vocabulary = _vocabulary(reading, settings.least)
    bounds = pairwise(reading.offsets.tolist())
    inputs = read_inputs(reading, vocabulary)
    examples = [
        Example(document, label[a:b].astype(np.float32), weight[a:b])
        for document, (a, b) in zip(inputs, bounds, strict=True)
    ]
    rng, generator = np.random.default_rng(settings.seed), torch.Generator().manual_seed(settings.seed)
    with torch.random.fork_rng():  # dropout and initial weights draw from torch's own generator
        torch.manual_seed(settings.seed)
        net = Net(len(vocabulary), settings)
        _descend(net, examples, forms_of(table), settings, rng, generator, log)
    return export(net, vocabulary)


def _vocabulary(reading: Reading, least: int) -> npt.NDArray[np.uint64]:
    """Return the hashes of words that occur often enough, names apart: those of one show say nothing of another."""
    words, counts = np.unique(reading.tokens.surface, return_counts=True)
    frequent: npt.NDArray[np.uint64] = words[counts >= least]
    return frequent


def _batches(rows: list[int], examples: list[Example], size: int) -> Iterator[list[Example]]:
    ends = np.cumsum([len(examples[row].label) for row in rows])
    for _, batch in groupby(zip(rows, ends // size, strict=True), key=lambda pair: pair[1]):
        yield [examples[row] for row, _ in batch]


def _descend(
    net: Net,
    examples: list[Example],
    forms: Mapping[str, list[list[int]]],
    settings: NetSettings,
    rng: np.random.Generator,
    generator: torch.Generator,
    log: bool,
) -> None:
    passes = [
        list(_batches(draw_pass(forms, settings.share, rng), examples, settings.sentences))
        for _ in range(settings.epochs)
    ]
    steps = sum(map(len, passes))
    optimizer = torch.optim.AdamW(net.parameters(), lr=settings.rate, weight_decay=settings.decay)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 60) * (1 - step / steps))
    for number, batches in enumerate(passes):
        total = 0.0
        for batch in batches:
            seen = [hide(example.inputs.evidence, settings.unknown_evidence, rng) for example in batch]
            inputs = [replace(each.inputs, evidence=rows) for each, rows in zip(batch, seen, strict=True)]
            label = torch.from_numpy(np.concatenate([example.label for example in batch]))
            weight = torch.from_numpy(np.concatenate([example.weight for example in batch]))
            logits = net(inputs, settings.unknown_words, generator)
            loss = (
                nn.functional.binary_cross_entropy_with_logits(logits, label.clamp(min=0), weight, reduction="sum")
                / settings.sentences
            )
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
            total += float(loss.detach())
        if log:
            print(f"pass {number + 1} of {settings.epochs}: loss {total / len(batches):.4f}", flush=True)  # noqa: T201


def export(net: Net, vocabulary: npt.NDArray[np.uint64]) -> NetScorer:
    """Return the scorer with the weights of a network, rounded: embeddings of words to 8 bits, all others to 16."""
    words = net.words.weight.detach().numpy()
    scale = np.maximum(np.abs(words).max(axis=0), 1e-6) / 127
    weights = {"words": np.rint(words / scale).astype(np.int8), "words_scale": scale.astype(np.float32)}
    for name in ("cases", "evidence"):
        weights[name] = getattr(net, name).weight.detach().numpy().astype(np.float16)
    for name, steps in (("filter", 3), ("edge", 1), ("first", 5), ("second", 3), ("out", 1)):
        layer = getattr(net, name)
        # A row of weights an input for each step: what NetScorer multiplies once and then shifts.
        joined = np.hstack(np.split(layer.weight.detach().numpy().T, steps))
        # In C order, as a file gives it back: sums round by layout.
        weights[f"{name}.weight"] = joined.astype(np.float16, order="C")
        weights[f"{name}.bias"] = layer.bias.detach().numpy().astype(np.float16)
    return NetScorer(weights, vocabulary)
