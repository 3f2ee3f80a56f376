"""A small scorer that reads around, with random weights."""

import torch

from edos_dataset.encoders.changes import restore
from edos_dataset.encoders.encoder import quiet
from edos_dataset.segmentation.turns.context import ContextScorer
from edos_dataset.segmentation.turns.context_module import ContextNet


def random_net(backbone, seed=0) -> ContextNet:
    """A network around a backbone's weights, whose word embeddings stay and all else is moved so that scores differ."""
    with quiet():
        net = ContextNet(backbone).eval()
    encoder = restore({}, net.state_dict().keys(), backbone)
    net.load_state_dict({name: torch.from_numpy(value) for name, value in encoder.items()}, strict=False)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, values in net.named_parameters():
            if "word_embeddings" not in name:
                values += 0.2 * torch.randn(values.shape, generator=generator)
    return net


def random_scorer(backbone, **facts) -> ContextScorer:
    """The scorer of such a network."""
    return ContextScorer.of(random_net(backbone), backbone, **facts)
