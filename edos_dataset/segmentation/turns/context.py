"""An encoder that reads around: the most accurate judge of seams, and by far the slowest.

A pretrained sentence encoder reads some twenty sentences at once, with a mark at every seam (`windows`), and a head
judges each seam by what the encoder made of its mark (`context_module`). `training/train_context_scorer.py` learns it.
What training changed of the encoder is kept in 8 bits (`encoders.changes`); it is carried out in float32.

A document is carried out by itself and by one thread, so that its scores are the same bits whatever else is in a
batch; between processors they differ by rounding.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from edos_dataset.arrays import Doubles, Floats
from edos_dataset.encoders.batches import token_batches
from edos_dataset.encoders.changes import changes, restore
from edos_dataset.encoders.encoder import CPU_TOKENS, DEFAULT_MODEL, Encoder, limit_threads, model_folder, pack_linears
from edos_dataset.encoders.encoder import quiet as quietly
from edos_dataset.encoders.folders import identify, pack, read_folder, usable, write_folder
from edos_dataset.segmentation.turns.evidence import Reading, probabilities, read
from edos_dataset.segmentation.turns.net import EVIDENCE
from edos_dataset.segmentation.turns.windows import Marks, Sentences, batch_of, read_sentences

if TYPE_CHECKING:
    from edos_dataset.segmentation.turns.context_module import ContextNet

_FILE = "context.safetensors"


@dataclass(frozen=True, eq=False)
class ContextScorer:
    """Score by P(same turn) of the encoder.

    Attributes:
        weights: the parameters by name, as `encoders.changes` packs those of a `ContextNet`.
        backbone: the encoder that they change, as `model_folder` knows it.
        languages: ISO 639-1 codes of the languages that it was trained on.
        record: how it was made: data, metrics, licences.
        threads: of torch; by more than 1 the last bits of a score may depend on their number.
    """

    weights: Mapping[str, npt.NDArray[Any]]
    backbone: str = DEFAULT_MODEL
    languages: tuple[str, ...] = ("en",)
    record: dict[str, Any] = field(default_factory=dict)
    threads: int = 1

    def __post_init__(self) -> None:
        """Make the network, and try it.

        Raises:
            ModuleNotFoundError: the backbone's package is missing.
            ValueError: the weights are no such network's, or the languages no codes.
        """
        if not self.languages or not all(isinstance(language, str) for language in self.languages):
            raise ValueError(f"languages must be codes, one at least, got {self.languages!r}")
        trial = Sentences([[self._marks.between]] * 2, np.zeros((2, len(EVIDENCE)), np.int64))
        tried = self._log_odds([trial])
        if not np.isfinite(tried[1]):
            raise ValueError(f"the weights give {tried.tolist()} for two sentences of a word, which are no scores")

    @classmethod
    def of(cls, net: "ContextNet", backbone: str, **facts: Any) -> "ContextScorer":  # noqa: ANN401 - see Attributes
        """Return the scorer of a network with its weights rounded, as they ship."""
        weights = {name: value.detach().cpu().numpy() for name, value in net.state_dict().items()}
        return cls(changes(weights, backbone), backbone, **facts)

    @property
    def identity(self) -> str:
        """Digest (32 hex digits) of all that decides a score, the backbone's among it, for fingerprints."""
        return identify(self._packed()) + Encoder(self.backbone).identity.rpartition("@")[2]

    def same_turn(self, table: pa.Table) -> Floats:
        """Score every sentence of some documents; see TurnScorer."""
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
        found = list(document.windows())
        for rows in token_batches([document.size(window) for window in found], CPU_TOKENS):
            chosen = [found[row] for row in rows]
            batch = batch_of([(document, window) for window in chosen], self._marks)
            arrays = (batch.ids, batch.mask, batch.marks, batch.evidence)
            with torch.inference_mode():
                judged = self._net(*map(torch.from_numpy, arrays)).numpy()
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
        pack_linears(net)
        return net

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
        """Load what `save` wrote.

        Raises:
            FileNotFoundError: the folder holds no such scorer.
            ModuleNotFoundError: the backbone's package is missing.
            ValueError: a file of it is damaged.
        """
        weights, facts, record = read_folder(folder, _FILE)
        with usable(Path(folder) / _FILE):
            told = json.loads(facts["scorer"])
            return cls(weights, told["backbone"], tuple(told["languages"]), record)

    def _packed(self) -> bytes:
        facts = {"backbone": self.backbone, "languages": self.languages}
        return pack(self.weights, {"scorer": json.dumps(facts, sort_keys=True)})


def tokenizer_of(backbone: str) -> Any:  # noqa: ANN401 - any tokenizer of transformers
    """Return the tokenizer of an encoder; "[SEP]" in a sentence is text to it, and no mark."""
    with quietly():
        from transformers import AutoTokenizer

        tokenizers: Any = AutoTokenizer
        return tokenizers.from_pretrained(model_folder(backbone), split_special_tokens=True, trust_remote_code=False)
