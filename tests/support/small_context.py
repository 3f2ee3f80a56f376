"""A small scorer that reads around, with random weights."""

import torch

from edos_dataset.encoders.changes import restore
from edos_dataset.encoders.encoder import quiet
from edos_dataset.segmentation.turns.context import ContextScorer
from edos_dataset.segmentation.turns.context_module import ContextNet


def random_net(backbone, seed=0, by_adapters=False) -> ContextNet:
    """A network around a backbone's weights, whose word embeddings stay and all else is moved so that scores differ; by
    adapters, only its matrices, each by the product of two narrow ones.
    """
    with quiet():
        net = ContextNet(backbone).eval()
    encoder = restore({}, net.state_dict().keys(), backbone)
    net.load_state_dict({name: torch.from_numpy(value) for name, value in encoder.items()}, strict=False)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, values in net.named_parameters():
            if by_adapters and name.startswith("encoder.") and ("embeddings" in name or values.ndim != 2):
                continue
            if by_adapters and name.startswith("encoder."):
                up, down = (torch.randn(size, 1, generator=generator) for size in values.shape)
                values += 0.2 * up @ down.T
            elif "word_embeddings" not in name:
                values += 0.2 * torch.randn(values.shape, generator=generator)
    return net


def random_scorer(backbone, **facts) -> ContextScorer:
    """The scorer of such a network."""
    return ContextScorer.of(random_net(backbone), backbone, **facts)
