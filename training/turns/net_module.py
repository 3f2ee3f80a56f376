"""The network of `edos_dataset.segmentation.turns.net` as PyTorch learns it, and its settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import nn

from edos_dataset.segmentation.turns.net import BINS, CASES, EDGE, EVIDENCE, SPECIAL, NetInputs


@dataclass(frozen=True)
class NetSettings:
    """How to learn.

    Args:
        embedding: numbers a word.
        filters: numbers that three words, and the edges of a sentence, are filtered to.
        evidence: numbers that the evidence of a sentence is embedded in.
        hidden: numbers a sentence in the layers over sentences.
        dropout: share of numbers that are dropped after each layer.
        unknown_words: share of words that are hidden in training, so that unknown ones are known.
        unknown_evidence: share of documents of which one kind of evidence is hidden.
        least: a word that occurs less often has no embedding of its own.
        epochs: passes over the documents; of one that comes in several forms each pass takes one.
        share: corpus → share of its documents in a pass, where not all.
        sentences: a batch, about.
        rate: highest step; it rises over the first 60 batches and falls to zero evenly.
        decay: of the weights.
        seed: of everything that is drawn.
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
    sentences: int = 1600
    rate: float = 3e-3
    decay: float = 1e-4
    seed: int = 0


class Net(nn.Module):
    """The network, as NetScorer carries it out.

    Args:
        vocabulary: words with an embedding of their own.
        settings: sizes and dropout.
    """

    def __init__(self, vocabulary: int, settings: NetSettings) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary + SPECIAL, settings.embedding, padding_idx=0)
        self.cases = nn.Embedding(1 + 2 * CASES, settings.embedding, padding_idx=0)
        self.evidence = nn.Embedding(BINS * len(EVIDENCE), settings.evidence)
        for table in (self.words, self.cases, self.evidence):
            # With less, the first passes learn nothing, and now and then all of them.
            nn.init.normal_(table.weight, 0, 0.5)
        with torch.no_grad():
            self.words.weight[0], self.cases.weight[0] = 0, 0
        self.filter = nn.Linear(3 * settings.embedding, settings.filters)
        self.edge = nn.Linear(2 * EDGE * settings.embedding, settings.filters)
        width = 2 * settings.filters + settings.evidence
        self.first = nn.Linear(5 * width, settings.hidden)
        self.second = nn.Linear(3 * settings.hidden, settings.hidden)
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
        hidden = self.dropout(torch.relu(self.first(_around(sentences, number, 2))))
        hidden = self.dropout(hidden + torch.relu(self.second(_around(hidden, number, 1))))
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


def _around(values: torch.Tensor, document: torch.Tensor, reach: int) -> torch.Tensor:
    """Return each row beside the `reach` rows before and behind it, zeros where these are of another document."""
    rows = torch.arange(len(values))
    columns = []
    for step in range(-reach, reach + 1):
        there = (rows + step).clamp(0, len(values) - 1)
        near = ((rows + step == there) & (document[there] == document))[:, None]
        columns.append(values[there] * near)
    return torch.cat(columns, 1)
