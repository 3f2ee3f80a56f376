"""Whether an encoder and a device will do, before they are used."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from edos_dataset.encoders.folders import read_header, usable


def check_encoder(folder: Path, trust_remote_code: bool = False) -> None:
    """Check the files of an encoder: that its parts are classes of sentence-transformers, and its weights safetensors.

    Raises:
        ValueError: a file is missing or damaged, weights are in a format that may run code when it is read, or a part
            is code that is not trusted.
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
    """Let sentence-transformers read an encoder inside the `with` block; whatever that leads to becomes one sentence.

    Raises:
        ValueError: it cannot be read.
    """
    try:
        yield
    except Exception as error:  # whatever a damaged file leads to
        told = " ".join(str(error).split())[:300]
        raise ValueError(
            f"the encoder in {folder} cannot be used: {type(error).__name__}: {told}; it is damaged, not whole, or "
            "brings code, which is not run unless trust_remote_code=True is given: fetch or copy it again"
        ) from error


def check_device(device: str) -> None:
    """Check that torch can compute on a device.

    Raises:
        ValueError: there is no such device.
    """
    if device == "cpu":
        return  # most runs: torch need not be loaded yet
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
