"""Training of the network of `edos_dataset.segmentation.turns.net`: binary cross-entropy over labelled boundaries,
batches of whole documents, AdamW.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from torch import nn

from edos_dataset.arrays import Bools, Floats
from edos_dataset.segmentation.turns.evidence import Reading, read
from edos_dataset.segmentation.turns.net import (
    BINS,
    CASES,
    EDGE,
    EVIDENCE,
    SPECIAL,
    STRIDE,
    NetInputs,
    NetScorer,
    read_inputs,
)
from edos_dataset.segmentation.turns.tokens import MARK, NAME, NUMBER, OTHER_CASE
from training.turns.boundaries import LAID_OUT, draw_pass, forms_of, hide, hide_layout, weigh
from training.turns.teacher import soft_targets

_WITHOUT_CAPITALS = 0.1  # fraction of the pieces


@dataclass(frozen=True)
class NetSettings:
    """The settings of the training.

    Args:
        embedding: length of a word's embedding.
        filters: number of convolution filters over three words, and over the edges of a sentence.
        evidence: length of the embedding of a sentence's evidence.
        hidden: width of the layers over sentences.
        dropout: dropout probability after each layer.
        unknown_words: fraction of words that are hidden in training, so that the embedding of unknown words is trained.
        unknown_evidence: fraction of documents in which one kind of evidence is hidden.
        least: minimum number of occurrences for a word to have an embedding.
        epochs: passes over the documents; of a document with several forms, each pass uses one.
        marks_only: read no words, only marks, numbers, capitals, names and evidence that needs no words, so that the
            scorer is for all languages; in a tenth of the pieces capitals are hidden, as many scripts have none.
        share: corpus → fraction of its documents in a pass, if not all.
        taught: weight of the teacher's probabilities beside the labels, 0 to 1, where there are any (`teacher.py`).
        wide: a third layer, over sentences farther away (`NetScorer.wide`).
        product: the first layer also sees the products of the vectors of a sentence and the one before, which tell what
            both share (Conneau et al., 2017).
        piece: sentences of a document that stay together; the pieces of all documents of a pass are shuffled, so that
            with a small number a batch is of many films.
        sentences: approximate number of sentences in a batch.
        rate: peak learning rate; it rises over the first 60 batches and then decays linearly to zero.
        decay: weight decay.
        seed: seed of all randomness.
    """

    embedding: int = 24
    filters: int = 48
    evidence: int = 24
    hidden: int = 64
    dropout: float = 0.2
    unknown_words: float = 0.15
    unknown_evidence: float = 0.1
    least: int = 4
    epochs: int = 6
    share: Mapping[str, float] = field(default_factory=dict)
    taught: float = 0.5
    marks_only: bool = False
    wide: bool = False
    product: bool = False
    piece: int = 1_000_000
    sentences: int = 1600
    rate: float = 3e-3
    decay: float = 1e-4
    seed: int = 0


class Net(nn.Module):
    """The network in training, which NetScorer evaluates.

    Args:
        vocabulary: number of words with an embedding.
        settings: sizes and dropout.
    """

    def __init__(self, vocabulary: int, settings: NetSettings) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary + SPECIAL, settings.embedding, padding_idx=0)
        self.cases = nn.Embedding(1 + 2 * CASES, settings.embedding, padding_idx=0)
        self.evidence = nn.Embedding(BINS * len(EVIDENCE), settings.evidence)
        for table in (self.words, self.cases, self.evidence):
            # With smaller values the first passes, and sometimes all passes, learn nothing.
            nn.init.normal_(table.weight, 0, 0.5)
        with torch.no_grad():
            self.words.weight[0], self.cases.weight[0] = 0, 0
        self.filter = nn.Linear(3 * settings.embedding, settings.filters)
        self.edge = nn.Linear(2 * EDGE * settings.embedding, settings.filters)
        width = 2 * settings.filters + settings.evidence
        self.first = nn.Linear(5 * width, settings.hidden)
        self.product = nn.Linear(2 * settings.filters, settings.hidden, bias=False) if settings.product else None
        self.second = nn.Linear(3 * settings.hidden, settings.hidden)
        self.third = nn.Linear(3 * settings.hidden, settings.hidden) if settings.wide else None
        self.out = nn.Linear(settings.hidden, 1)
        self.dropout = nn.Dropout(settings.dropout)

    def forward(
        self, documents: list[NetInputs], unknown_words: float = 0.0, generator: torch.Generator | None = None
    ) -> torch.Tensor:
        """Return the log-odds of "same turn", [sentences of all documents]."""
        words = torch.from_numpy(np.concatenate([document.words for document in documents]))
        if unknown_words:
            hidden = (torch.rand(len(words), generator=generator) < unknown_words) & (words > 0)
            words = torch.where(hidden, 1, words)
        cases = torch.from_numpy(np.concatenate([document.cases for document in documents]))
        vectors = self.dropout(self._sentence_vectors(self.words(words) + self.cases(cases), documents))
        evidence = torch.from_numpy(np.concatenate([document.evidence for document in documents]))
        sentences = torch.cat([vectors, torch.relu(self.evidence(evidence).sum(1))], 1)
        number = torch.from_numpy(
            np.repeat(np.arange(len(documents)), [len(document.evidence) for document in documents])
        )
        first = self.first(_around(sentences, number, 2))
        if self.product is not None:
            first = first + self.product(vectors * _around(vectors, number, 1)[:, : vectors.shape[1]])
        hidden = self.dropout(torch.relu(first))
        hidden = self.dropout(hidden + torch.relu(self.second(_around(hidden, number, 1))))
        if self.third is not None:
            hidden = self.dropout(hidden + torch.relu(self.third(_around(hidden, number, 1, STRIDE))))
        log_odds: torch.Tensor = self.out(hidden)[:, 0]
        return log_odds

    def _sentence_vectors(self, words: torch.Tensor, documents: list[NetInputs]) -> torch.Tensor:
        lengths = np.array([len(document.words) for document in documents])
        shifts = np.cumsum(lengths) - lengths
        begin = torch.from_numpy(
            np.concatenate([document.starts[:-1] + shift for document, shift in zip(documents, shifts, strict=True)])
        )
        end = torch.from_numpy(
            np.concatenate([document.starts[1:] + shift for document, shift in zip(documents, shifts, strict=True)])
        )
        nothing = torch.zeros(1, words.shape[1])
        near = torch.cat([torch.cat([nothing, words[:-1]]), words, torch.cat([words[1:], nothing])], 1)
        filtered = torch.relu(self.filter(near))
        sentence = torch.cumsum(torch.zeros(len(words), dtype=torch.long).index_fill_(0, begin, 1), 0) - 1
        inside = torch.ones(len(words), 1).index_fill_(0, begin, 0)
        inside[torch.from_numpy(shifts + lengths - 1)] = 0
        pooled = torch.zeros(len(begin), filtered.shape[1]).scatter_reduce(
            0, sentence[:, None].expand_as(filtered), filtered * inside, "amax"
        )
        steps = torch.arange(1, EDGE + 1)
        edges = torch.cat(
            [torch.minimum(begin[:, None] + steps, end[:, None]), torch.maximum(end[:, None] - steps, begin[:, None])],
            1,
        )
        return torch.cat([pooled, torch.relu(self.edge(words[edges].flatten(1)))], 1)


def _around(values: torch.Tensor, document: torch.Tensor, reach: int, stride: int = 1) -> torch.Tensor:
    """Return each row with the `reach` rows before and after it, every `stride`-th, zeros in place of rows of another
    document.
    """
    rows = torch.arange(len(values))
    columns = []
    for step in range(-reach * stride, reach * stride + 1, stride):
        there = (rows + step).clamp(0, len(values) - 1)
        near = ((rows + step == there) & (document[there] == document))[:, None]
        columns.append(values[there] * near)
    return torch.cat(columns, 1)


@dataclass(frozen=True, eq=False)
class Example:
    """A document, its targets (0 to 1, same turn) and their weights, [sentences]; and whether its times and blocks were
    laid out by rule.
    """

    inputs: NetInputs
    target: Floats
    weight: Floats
    laid_out: bool = False

    def pieces(self, size: int) -> Iterator["Example"]:
        """Yield the document in pieces of at most `size` sentences."""
        starts = self.inputs.starts
        for begin in range(0, len(self.target), size):
            end = min(begin + size, len(self.target))
            tokens = slice(starts[begin], starts[end] + 1)
            inputs = NetInputs(
                self.inputs.words[tokens],
                self.inputs.cases[tokens],
                starts[begin : end + 1] - starts[begin],
                self.inputs.evidence[begin:end],
            )
            yield Example(inputs, self.target[begin:end], self.weight[begin:end], self.laid_out)


def fit_net(table: pa.Table, chosen: Bools, settings: NetSettings, log: bool = False) -> NetScorer:
    """Train a scorer on labelled documents.

    Args:
        table: SENTENCES with `same_turn` (1, 0, or -1 if unknown), `label_confidence` (0 to 1, the weight of a
            boundary) and `corpus`, with the column TAUGHT if there is a teacher.
        chosen: [sentences], the boundaries to train on, as for `boundaries.weigh`.
        settings: the settings.
        log: print the loss of every pass.

    Raises:
        ValueError: the chosen boundaries are all of one class.
    """
    target, weight = soft_targets(table, *weigh(table, chosen), settings.taught)
    reading = read(table, "en")
    vocabulary = _vocabulary(reading, settings)
    bounds = pairwise(reading.offsets.tolist())
    inputs = read_inputs(reading, vocabulary, settings.wide, not settings.marks_only)
    examples = [
        Example(document, target[a:b], weight[a:b], corpus in LAID_OUT)
        for document, (a, b), corpus in zip(inputs, bounds, table["corpus"].to_pylist(), strict=True)
    ]
    rng, generator = np.random.default_rng(settings.seed), torch.Generator().manual_seed(settings.seed)
    with torch.random.fork_rng():  # dropout and initial weights use torch's global generator
        torch.manual_seed(settings.seed)
        net = Net(len(vocabulary), settings)
        name = int(np.searchsorted(vocabulary, NAME)) + SPECIAL
        _descend(net, examples, forms_of(table), name, settings, rng, generator, log)
    return export(net, vocabulary, None if settings.marks_only else ("en",))


def _vocabulary(reading: Reading, settings: NetSettings) -> npt.NDArray[np.uint64]:
    """Return the hashes of frequent words without names, since those of one show are useless for others; or of what is
    no word.
    """
    tokens = reading.tokens
    chosen = (tokens.kind == MARK) | np.isin(tokens.surface, (NAME, NUMBER)) | (not settings.marks_only)
    words, counts = np.unique(tokens.surface[chosen], return_counts=True)
    frequent: npt.NDArray[np.uint64] = words[counts >= settings.least]
    return frequent


def _without_capitals(inputs: NetInputs, name: int) -> NetInputs:
    """Return a document as a script without capitals has it; `name` is the row of names."""
    cases = np.where(inputs.cases > 0, (inputs.cases - 1) // CASES * CASES + 1 + OTHER_CASE, 0)
    return replace(inputs, words=np.where(inputs.words == name, 1, inputs.words), cases=cases)


def _shuffled(rows: list[int], examples: list[Example], size: int, rng: np.random.Generator) -> list[Example]:
    """Return the pieces of some documents, in any order."""
    pieces = [piece for row in rows for piece in examples[row].pieces(size)]
    return [pieces[place] for place in rng.permutation(len(pieces))]


def _batches(examples: list[Example], size: int) -> Iterator[list[Example]]:
    ends = np.cumsum([len(example.target) for example in examples])
    for _, batch in groupby(zip(examples, ends // size, strict=True), key=lambda pair: pair[1]):
        yield [example for example, _ in batch]


def _descend(
    net: Net,
    examples: list[Example],
    forms: Mapping[str, list[list[int]]],
    name: int,
    settings: NetSettings,
    rng: np.random.Generator,
    generator: torch.Generator,
    log: bool,
) -> None:
    passes = [
        list(
            _batches(
                _shuffled(draw_pass(forms, settings.share, rng), examples, settings.piece, rng), settings.sentences
            )
        )
        for _ in range(settings.epochs)
    ]
    steps = sum(map(len, passes))
    optimizer = torch.optim.AdamW(net.parameters(), lr=settings.rate, weight_decay=settings.decay)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 60) * (1 - step / steps))
    for number, batches in enumerate(passes):
        total = 0.0
        for batch in batches:
            seen = [
                hide_layout(example.inputs.evidence, rng)
                if example.laid_out
                else hide(example.inputs.evidence, settings.unknown_evidence, rng)
                for example in batch
            ]
            inputs = [replace(each.inputs, evidence=rows) for each, rows in zip(batch, seen, strict=True)]
            if settings.marks_only:
                hidden = rng.random(len(inputs)) < _WITHOUT_CAPITALS
                inputs = [
                    _without_capitals(each, name) if bare else each for each, bare in zip(inputs, hidden, strict=True)
                ]
            target = torch.from_numpy(np.concatenate([example.target for example in batch]))
            weight = torch.from_numpy(np.concatenate([example.weight for example in batch]))
            logits = net(inputs, settings.unknown_words, generator)
            loss = (
                nn.functional.binary_cross_entropy_with_logits(logits, target, weight, reduction="sum")
                / settings.sentences
            )
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
            total += float(loss.detach())
        if log:
            print(f"pass {number + 1} of {settings.epochs}: loss {total / len(batches):.4f}", flush=True)  # noqa: T201


def export(net: Net, vocabulary: npt.NDArray[np.uint64], languages: tuple[str, ...] | None = ("en",)) -> NetScorer:
    """Return the scorer with the rounded weights of a network: word embeddings in 8 bits, all others in 16."""
    words = net.words.weight.detach().numpy()
    scale = np.maximum(np.abs(words).max(axis=0), 1e-6) / 127
    weights = {"words": np.rint(words / scale).astype(np.int8), "words_scale": scale.astype(np.float32)}
    for name in ("cases", "evidence"):
        weights[name] = getattr(net, name).weight.detach().numpy().astype(np.float16)
    for name, steps in (
        ("filter", 3),
        ("edge", 1),
        ("first", 5),
        ("product", 1),
        ("second", 3),
        ("third", 3),
        ("out", 1),
    ):
        if (layer := getattr(net, name)) is None:
            continue
        # One block of weights for each step, which NetScorer multiplies once and then shifts.
        joined = np.hstack(np.split(layer.weight.detach().numpy().T, steps))
        # In C order, as when read from a file, since the rounding of sums depends on the layout.
        weights[f"{name}.weight"] = joined.astype(np.float16, order="C")
        if layer.bias is not None:
            weights[f"{name}.bias"] = layer.bias.detach().numpy().astype(np.float16)
    return NetScorer(weights, vocabulary, languages)
