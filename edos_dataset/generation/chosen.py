"""Which response model is meant, and the models that this process has loaded."""

from functools import lru_cache
from pathlib import Path

from edos_dataset.generation.loading import PREDICTOR
from edos_dataset.generation.responder import Responder
from edos_dataset.labeling.models.labelers import load_labeler
from edos_dataset.labeling.models.saved_model import model_digest

DEFAULT_MODEL: str | None = None
"""Folder or Hub id of the model that answers where none is named; None while no model ships."""


def chosen_model(name: str | Path | None) -> str:
    """Return the folder or Hub id of the model that is meant: the one named, or the default one.

    Raises:
        ValueError: none is named and none ships; the message says how to come by one.
    """
    if name is not None and str(name).strip():
        return str(name)
    if DEFAULT_MODEL is None:
        raise ValueError(
            "no response model comes with this package yet: name one (--model), its folder or its Hub id, owner/model. "
            "In a clone of the repository two commands train a small one, in hours on two cores: "
            "accelerate launch training/train_generator.py --recipe training/recipes/small/empathetic.yaml --data-dir "
            f"DATA --out models/chat; then with small/predictor.yaml and --out models/chat/{PREDICTOR}. DATA holds "
            "EmpatheticDialogues: `edos download` lists it"
        )
    return DEFAULT_MODEL


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
