"""Which response model is meant, and the models that this process has loaded."""

from functools import lru_cache
from pathlib import Path

from edos_dataset.generation.packed import PREDICTOR
from edos_dataset.generation.responder import Responder
from edos_dataset.generation.shipped import SHIPPED
from edos_dataset.labeling.models.labelers import load_labeler
from edos_dataset.labeling.models.saved_model import model_digest

DEFAULT_MODEL = SHIPPED[0]
"""Name of the model that answers where none is named."""


def chosen_model(name: str | Path | None) -> str:
    """Return the shipped name, the folder or the Hub id of the model that is meant: the one named, or the default
    one.
    """
    return str(name) if name is not None and str(name).strip() else DEFAULT_MODEL


@lru_cache(maxsize=2)
def kept_responder(model: str, trust: bool, device: str, labeler: str, revision: str | None = None) -> Responder:
    """Return a responder, loaded once in a process; arguments and errors as of `Responder.load`."""
    return Responder.load(model, trust, device, labeler, revision=revision)


def identity_of(responder: Responder) -> str:
    """Return what decides a responder's answers, beside their parameters: digests of the model, of its predictor and,
    where labels are read, of the labeler's weights.
    """
    if responder.folder is None:
        raise ValueError("the responder was not loaded from a folder: use Responder.load")
    told = [model_digest(responder.folder)]
    if responder.predictor is not None:
        told.append(model_digest(responder.folder / PREDICTOR))
    if responder.writer.takes_labels:
        told.append(load_labeler(responder.labeler, responder.device).identity)
    return " ".join(told)
