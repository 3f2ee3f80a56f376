"""Sizes of the papers' response models (EDOS, Table 10; Xie and Pu, Table 8)."""

from collections.abc import Mapping

import torch

from edos_dataset.generation.config import PredictorConfig, ResponseConfig
from edos_dataset.generation.model import ResponseModel
from edos_dataset.generation.predictor import ResponsePredictor
from edos_dataset.labels import LABELS
from edos_dataset.reproduction.results import Data, Estimate, Measured


def thrice(_: Data) -> Mapping[str, Measured]:
    """Count the weights three times, with both moments of Adam: of the plain model, and of the one with labels and its
    predictor.
    """
    labels = ResponseConfig(num_response_labels=len(LABELS), num_segments=2)
    with torch.device("meta"):
        plain = _weights(ResponseModel(ResponseConfig()))
        labelled = _weights(ResponseModel(labels)) + _weights(ResponsePredictor(PredictorConfig()))
    return {
        "plain, million": Measured(ours=Estimate(round(3 * plain / 1e6, 1), number=plain)),
        "with labels, million": Measured(ours=Estimate(round(3 * labelled / 1e6, 1), number=labelled)),
    }


def _weights(model: torch.nn.Module) -> int:
    return sum(weights.numel() for weights in model.parameters())
