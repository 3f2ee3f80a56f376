"""Learn the network of `edos_dataset.segmentation.turns.net`: binary cross-entropy over labelled seams, whole documents
a batch, AdamW.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from torch import nn

from edos_dataset.arrays import Bools, Floats
from edos_dataset.segmentation.turns.evidence import UNKNOWN, Reading, read
from edos_dataset.segmentation.turns.net import (
    BINS,
    EVIDENCE,
    PLACES,
    NetInputs,
    NetScorer,
    read_inputs,
)
from training.turns.net_module import Net, NetSettings

VARIANTS = ("_dashes", "_plain")
"""Ends of the names of corpora that hold the documents of another one in another form."""


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
        seams_chosen: [sentences], the seams to learn from; those without a label are left out whatever it says.
        settings: how.
        log: print the loss of every pass.

    Raises:
        ValueError: the chosen seams are not of both classes.
    """
    label = table["same_turn"].combine_chunks().flatten().to_numpy()
    weight = np.where(
        seams_chosen & (label >= 0), table["label_confidence"].combine_chunks().flatten().to_numpy(), 0
    ).astype(np.float32)
    if len(np.unique(label[weight > 0])) < 2:
        raise ValueError(
            "the chosen seams must hold some where the turn goes on and some where a new one begins; there is one kind "
            "at most"
        )
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
        _descend(net, examples, _forms(table), settings, rng, generator, log)
    return export(net, vocabulary)


def _vocabulary(reading: Reading, least: int) -> npt.NDArray[np.uint64]:
    """Return the hashes of words that occur often enough, names apart: those of one show say nothing of another."""
    words, counts = np.unique(reading.tokens.surface, return_counts=True)
    frequent: npt.NDArray[np.uint64] = words[counts >= least]
    return frequent


def _forms(table: pa.Table) -> dict[str, list[list[int]]]:
    """Return by corpus the documents, each as the rows of its forms."""
    forms: dict[str, dict[str, list[int]]] = {}
    for row, (corpus, document) in enumerate(
        zip(table["corpus"].to_pylist(), table["document_id"].to_pylist(), strict=True)
    ):
        base = next((corpus.removesuffix(end) for end in VARIANTS if corpus.endswith(end)), corpus)
        forms.setdefault(base, {}).setdefault(document, []).append(row)
    return {corpus: list(documents.values()) for corpus, documents in forms.items()}


def _pass(forms: Mapping[str, list[list[int]]], settings: NetSettings, rng: np.random.Generator) -> list[int]:
    """Draw the documents of one pass, in the order in which they come."""
    chosen: list[int] = []
    for corpus, documents in forms.items():
        taken = rng.permutation(len(documents))[: round(settings.share.get(corpus, 1.0) * len(documents))]
        chosen += [documents[place][rng.integers(len(documents[place]))] for place in taken]
    return [chosen[place] for place in rng.permutation(len(chosen))]


def _batches(rows: list[int], examples: list[Example], size: int) -> Iterator[list[Example]]:
    ends = np.cumsum([len(examples[row].label) for row in rows])
    for _, batch in groupby(zip(rows, ends // size, strict=True), key=lambda pair: pair[1]):
        yield [examples[row] for row, _ in batch]


def _hide(inputs: NetInputs, share: float, rng: np.random.Generator) -> NetInputs:
    """Make one kind of evidence unknown in some documents: blocks, or all that times tell."""
    if rng.random() >= share:
        return inputs
    kinds = ("block",) if rng.random() < 0.5 else ("timing", "density")
    evidence = inputs.evidence.copy()
    for column, name in enumerate(EVIDENCE):
        if name.split(".")[0] in kinds:
            evidence[:, column] = PLACES[UNKNOWN] + BINS * column
    return NetInputs(inputs.words, inputs.cases, inputs.starts, evidence)


def _descend(
    net: Net,
    examples: list[Example],
    forms: Mapping[str, list[list[int]]],
    settings: NetSettings,
    rng: np.random.Generator,
    generator: torch.Generator,
    log: bool,
) -> None:
    passes = [list(_batches(_pass(forms, settings, rng), examples, settings.sentences)) for _ in range(settings.epochs)]
    steps = sum(map(len, passes))
    optimizer = torch.optim.AdamW(net.parameters(), lr=settings.rate, weight_decay=settings.decay)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 60) * (1 - step / steps))
    for number, batches in enumerate(passes):
        total = 0.0
        for batch in batches:
            inputs = [_hide(example.inputs, settings.unknown_evidence, rng) for example in batch]
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
