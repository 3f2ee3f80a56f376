"""Response models with random weights, saved as trained ones are."""

import torch

from edos_dataset.generation.model import ResponseModel
from edos_dataset.generation.predictor import ResponsePredictor
from edos_dataset.labels import LABELS
from training.generator.tokenizer import train_tokenizer

SMALL = {"hidden_size": 32, "num_layers": 2, "num_heads": 4, "intermediate_size": 64, "max_positions": 32}
EMPATHETIC = {"num_response_labels": 41, "num_segments": 2}
TEXTS = ["the dog ran home", "where is the dog", "so the dog was home today, and I am happy"] * 5


def small(kind=ResponseModel, seed=0, **settings):
    """Return an untrained model whose weights are wide enough for every part to matter."""
    torch.manual_seed(seed)
    config = kind.config_class(**{"vocab_size": 40, "initializer_range": 0.3, **SMALL, **settings})
    return kind(config).eval()


def save_responder(folder, *, predictor=True, seed=0, **settings):
    """Save a response model with its tokenizer, and its predictor; return the model."""
    tokenizer = train_tokenizer(TEXTS, 300)
    size = {"vocab_size": len(tokenizer), "max_positions": 60}
    model = small(ResponseModel, seed, **size, **settings)
    parts = [(folder, model)]
    if predictor:
        names = dict(enumerate(LABELS))
        parts.append((folder / "predictor", small(ResponsePredictor, seed, **size, id2label=names)))
    for where, part in parts:
        part.save_pretrained(where)
        tokenizer.save_pretrained(where)
    return model
