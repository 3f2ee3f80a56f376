"""Settings of the tests of trainings."""

import pytest


@pytest.fixture(scope="module")
def one_thread():
    """Keep torch from sharing out work that is too little for it: on a busy machine its threads would mostly wait."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
