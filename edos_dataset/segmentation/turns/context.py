"""An encoder that reads the context of a boundary: the most accurate scorer, and by far the slowest.

A pretrained sentence encoder reads some twenty sentences at once, with a mark at every boundary (`windows`), and a head
judges each boundary by the encoder's state at its mark (`context_module`). `training/train_context_scorer.py` trains
it. Changes to the encoder's weights in training are stored in few bits (`encoders.changes`); it runs in float32, on a
GPU if there is one.

Each document is scored separately, on a processor by one thread, so its scores are bit-identical whatever else is in a
batch; between processors they differ by rounding.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from edos_dataset.arrays import Doubles, Floats, Ints, unnest
from edos_dataset.encoders.changes import adapters, changes, restore
from edos_dataset.encoders.encoder import (
    CPU_TOKENS,
    DEFAULT_MODEL,
    GPU_TOKENS,
    Encoder,
    default_device,
    limit_threads,
    model_folder,
    pack_linears,
    pad,
    token_batches,
)
from edos_dataset.encoders.encoder import quiet as quietly
from edos_dataset.encoders.folders import identify, pack, read_folder, usable, write_folder
from edos_dataset.segmentation.turns.evidence import Reading, probabilities, read
from edos_dataset.segmentation.turns.net import EVIDENCE, evidence_rows

if TYPE_CHECKING:
    from edos_dataset.segmentation.turns.context_module import ContextNet

TOKENS = 256
"""Maximum number of tokens of a window, marks included."""

MARGIN = 3
"""Sentences at either end of a window that are read as context, while another window decides their boundaries."""

LONGEST = 30
"""Maximum number of tokens read of a sentence; of a longer one, half are from its beginning and half from its end."""


@dataclass(frozen=True)
class Window:
    """A stretch of a document's sentences.

    Attributes:
        begin: the first sentence that is read.
        end: one past the last sentence that is read.
        first: the first sentence whose boundary is decided.
        stop: one past the last sentence whose boundary is decided.
    """

    begin: int
    end: int
    first: int
    stop: int


@dataclass(frozen=True, eq=False)
class Sentences:
    """The sentences of a document.

    Attributes:
        tokens: token ids of each, without marks, at most LONGEST.
        evidence: int64 [sentences, len(EVIDENCE)], rows of the embedding of evidence.
    """

    tokens: Sequence[Sequence[int]]
    evidence: Ints

    def windows(self, shift: int = 0) -> Iterator[Window]:
        """Yield the windows of the document; `shift` as for `windows`."""
        return windows([len(ids) for ids in self.tokens], shift)

    def size(self, window: Window) -> int:
        """Return the number of tokens of a window, marks included."""
        return sum(len(ids) + 1 for ids in self.tokens[window.begin : window.end]) + 1


@dataclass(frozen=True)
class Marks:
    """Ids of the special tokens: the start of a window, the marks before and after sentences, and padding."""

    opening: int
    between: int
    padding: int

    @classmethod
    def of(cls, tokenizer: Any) -> "Marks":  # noqa: ANN401 - any tokenizer of transformers
        """Return the special tokens of a tokenizer."""
        return cls(tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.pad_token_id)


@dataclass(frozen=True, eq=False)
class Batch:
    """Windows that are read at once.

    Attributes:
        ids: int64 [windows, longest], tokens.
        mask: int64 [windows, longest], 1 for tokens and 0 for padding.
        marks: int64 [sentences, 2], window and position of the mark before each sentence, window after window.
        evidence: int64 [sentences, len(EVIDENCE)].
    """

    ids: Ints
    mask: Ints
    marks: Ints
    evidence: Ints


def windows(lengths: Sequence[int] | Ints, shift: int = 0) -> Iterator[Window]:
    """Yield the windows of a document in order; each boundary is decided in one of them.

    Args:
        lengths: number of tokens of each sentence, at most LONGEST.
        shift: tokens by which the first window is shorter; training varies it from epoch to epoch.
    """
    ends = np.cumsum(np.asarray(lengths, np.int64) + 1)
    decided, total = 0, len(ends)
    while decided < total:
        begin = max(0, decided - MARGIN)
        limit = TOKENS - 1 - (0 if decided else shift) + (int(ends[begin - 1]) if begin else 0)
        end = min(total, max(int(np.searchsorted(ends, limit, side="right")), decided + 1))
        stop = total if end == total else max(decided + 1, end - MARGIN)
        yield Window(begin, end, decided, stop)
        decided = stop


def read_sentences(reading: Reading, tokenizer: Any) -> Iterator[Sentences]:  # noqa: ANN401 - any of transformers
    """Yield the sentences of each document."""
    sentences, _ = unnest(reading.table, "sentences")
    ids, evidence = token_ids(tokenizer, sentences.field("text")), evidence_rows(reading, rhythm=True)
    for begin, end in zip(reading.offsets[:-1].tolist(), reading.offsets[1:].tolist(), strict=True):
        yield Sentences(ids[begin:end], evidence[begin:end])


def token_ids(tokenizer: Any, texts: pa.StringArray) -> list[list[int]]:  # noqa: ANN401 - any of transformers
    """Return the tokens of sentences without marks, at most LONGEST each; equal sentences are tokenized once."""
    coded = texts.dictionary_encode()
    distinct = coded.dictionary.to_pylist()
    ids = tokenizer(distinct, add_special_tokens=False)["input_ids"] if distinct else []
    half = LONGEST // 2
    short = [each if len(each) <= LONGEST else each[:half] + each[-half:] for each in ids]
    return [short[code] for code in coded.indices.to_pylist()]


def batch_of(parts: Sequence[tuple[Sentences, Window]], marks: Marks) -> Batch:
    """Return one or more windows as arrays, padded at the right."""
    sequences, places = [], []
    for row, (sentences, window) in enumerate(parts):
        sequence: list[int] = []
        for ids in sentences.tokens[window.begin : window.end]:
            places.append((row, len(sequence)))
            sequence += [marks.between if sequence else marks.opening, *ids]
        sequences.append([*sequence, marks.between])
    filled, mask = pad(sequences, np.array(list(map(len, sequences)), np.int64), marks.padding)
    evidence = np.concatenate([sentences.evidence[window.begin : window.end] for sentences, window in parts])
    return Batch(filled, mask, np.array(places, np.int64).reshape(-1, 2), evidence)


_FILE = "context.safetensors"


@dataclass(frozen=True, eq=False)
class ContextScorer:
    """Scores boundaries by the encoder's P(same turn).

    Attributes:
        weights: the parameters by name, those of a `ContextNet` as packed by `encoders.changes`.
        backbone: the encoder that they change, by a name that `model_folder` accepts.
        languages: ISO 639-1 codes of the languages that it was trained on.
        record: how it was made: data, metrics, licences.
        threads: number of torch threads; with more than 1, the last bits of a score may depend on the number.
        half: compute in bfloat16, which a processor that multiplies in it does in half the time; the scores differ by
            some hundredths.
    """

    weights: Mapping[str, npt.NDArray[Any]]
    backbone: str = DEFAULT_MODEL
    languages: tuple[str, ...] = ("en",)
    record: dict[str, Any] = field(default_factory=dict)
    threads: int = 1
    half: bool = False

    def __post_init__(self) -> None:
        """Build the network and try it out.

        Raises:
            ModuleNotFoundError: the backbone's package is missing.
            ValueError: the weights do not fit the network, or a language is not a code.
        """
        if not self.languages or not all(isinstance(language, str) for language in self.languages):
            raise ValueError(f"languages must be codes, one at least, got {self.languages!r}")
        trial = Sentences([[self._marks.between]] * 2, np.zeros((2, len(EVIDENCE)), np.int64))
        tried = self._log_odds([trial])
        if not np.isfinite(tried[1]):
            raise ValueError(f"the weights give {tried.tolist()} for two sentences of a word, which are no scores")

    @classmethod
    def of(
        cls,
        net: "ContextNet",
        backbone: str,
        by_adapters: bool = False,
        **facts: Any,  # noqa: ANN401 - see Attributes
    ) -> "ContextScorer":
        """Return the scorer of a network, with its weights rounded as in the shipped files; `by_adapters` says that its
        backbone was trained by LoRA adapters.
        """
        weights = {name: value.detach().cpu().numpy() for name, value in net.state_dict().items()}
        packed = adapters(weights, backbone, bits=8) if by_adapters else changes(weights, backbone)
        return cls(packed, backbone, **facts)

    @property
    def identity(self) -> str:
        """Digest (32 hex digits) of everything that affects a score, the backbone included, for fingerprints."""
        return identify(self._packed()) + Encoder(self.backbone).identity.rpartition("@")[2]

    def same_turn(self, table: pa.Table) -> Floats:
        """Score every sentence of the documents; see TurnScorer."""
        return probabilities(self.log_odds(read(table, self.languages[0])))

    def log_odds(self, reading: Reading) -> Doubles:
        """Return the log-odds of "same turn" of every sentence; NaN for the first of a document."""
        return self._log_odds(read_sentences(reading, self._tokenizer))

    def _log_odds(self, documents: Iterable[Sentences]) -> Doubles:
        with limit_threads(self.threads):
            return np.concatenate([np.zeros(0), *map(self._judge, documents)])

    def _judge(self, document: Sentences) -> Floats:
        """Return the log-odds of a document, [sentences]."""
        import torch

        log_odds = np.full(len(document.tokens), np.nan, np.float32)
        found, budget = list(document.windows()), CPU_TOKENS if self._device == "cpu" else GPU_TOKENS
        for rows in token_batches([document.size(window) for window in found], budget):
            chosen = [found[row] for row in rows]
            batch = batch_of([(document, window) for window in chosen], self._marks)
            arrays = (batch.ids, batch.mask, batch.marks, batch.evidence)
            with torch.inference_mode():
                judged = self._net(*(torch.from_numpy(array).to(self._device) for array in arrays)).cpu().numpy()
            ends = np.cumsum([window.end - window.begin for window in chosen])
            for window, end in zip(chosen, ends.tolist(), strict=True):
                last = end - (window.end - window.stop)
                log_odds[window.first : window.stop] = judged[last - (window.stop - window.first) : last]
        log_odds[:1] = np.nan
        return log_odds

    @cached_property
    def _net(self) -> "ContextNet":
        import torch

        from edos_dataset.segmentation.turns.context_module import ContextNet

        with quietly():
            net = ContextNet(self.backbone).eval()
        expected = net.state_dict()
        weights = restore(dict(self.weights), expected.keys(), self.backbone)
        for name, value in expected.items():
            if weights[name].shape != value.shape:
                raise ValueError(f"{name} must be {list(value.shape)}, got {list(weights[name].shape)}")
        if strange := sorted(weights.keys() - expected.keys()):
            raise ValueError(f"the network has no place for {strange[0]}")
        net.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in weights.items()})
        if self.half:
            net.to(torch.bfloat16)
        elif self._device == "cpu":
            pack_linears(net)
        return net.to(self._device)

    @cached_property
    def _device(self) -> str:
        return default_device()

    @cached_property
    def _tokenizer(self) -> Any:  # noqa: ANN401 - any tokenizer of transformers
        return tokenizer_of(self.backbone)

    @cached_property
    def _marks(self) -> Marks:
        return Marks.of(self._tokenizer)

    def save(self, folder: str | Path) -> None:
        """Write `context.safetensors` and `record.json` into a folder, made if needed."""
        write_folder(folder, _FILE, self._packed(), self.record)

    @classmethod
    def load(cls, folder: str | Path) -> "ContextScorer":
        """Load a scorer that `save` wrote.

        Raises:
            FileNotFoundError: the folder holds no such scorer.
            ModuleNotFoundError: the backbone's package is missing.
            ValueError: one of its files is damaged, or the Hub does not give the backbone.
        """
        weights, facts, record = read_folder(folder, _FILE)
        with usable(Path(folder) / _FILE):
            given = json.loads(facts["scorer"])
            backbone, languages = str(given["backbone"]), tuple(given["languages"])
        try:
            model_folder(backbone)
        except ValueError as error:
            why = f"the turn scorer in {folder} is changes of {backbone}, which could not be had"
            raise ValueError(f"{why}; without a network use 'scripts', which needs nothing: {error}") from error
        with usable(Path(folder) / _FILE):
            return cls(weights, backbone, languages, record)

    def _packed(self) -> bytes:
        facts = {"backbone": self.backbone, "languages": self.languages}
        return pack(self.weights, {"scorer": json.dumps(facts, sort_keys=True)})


def tokenizer_of(backbone: str) -> Any:  # noqa: ANN401 - any tokenizer of transformers
    """Return the tokenizer of an encoder, set to read "[SEP]" in a sentence as text rather than a mark."""
    with quietly():
        from transformers import AutoTokenizer

        tokenizers: Any = AutoTokenizer
        return tokenizers.from_pretrained(model_folder(backbone), split_special_tokens=True, trust_remote_code=False)
