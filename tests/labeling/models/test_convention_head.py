"""A head that answers by several conventions: what they share, what is each one's own, and a gate that looks on."""

import pytest
import torch

from edos_dataset.labeling.models.convention_head import ConventionHead


@pytest.fixture
def head():
    torch.manual_seed(0)
    return ConventionHead(width=6, inner=5, labels=4, conventions=3, dropout=0.5).eval()


@pytest.fixture
def vectors():
    return torch.randn(7, 6, generator=torch.Generator().manual_seed(1)).requires_grad_()


def test_each_convention_adds_its_own_to_what_all_share(head, vectors):
    logits, odds = head(vectors)
    assert logits.shape == (7, 3, 4) and odds.shape == (7, 3)
    linear = head.hidden[1]
    for row, vector in enumerate(vectors):
        hidden = (linear.weight @ vector + linear.bias).tanh()
        shared = head.shared.weight @ hidden + head.shared.bias
        for convention in range(3):
            own = head.own.weight[4 * convention : 4 * convention + 4] @ hidden
            assert torch.allclose(logits[row, convention], shared + own, atol=1e-6)
        assert torch.allclose(odds[row], head.gate.weight @ hidden + head.gate.bias, atol=1e-6)


def test_the_gate_learns_and_teaches_nothing_that_comes_before_it(head, vectors):
    head(vectors)[1].square().sum().backward()
    assert vectors.grad is None
    assert {name for name, value in head.named_parameters() if value.grad is not None} == {"gate.weight", "gate.bias"}
    assert head.gate.weight.grad.any()


@pytest.mark.parametrize("convention", range(3))
def test_a_label_teaches_its_own_convention_what_all_share_and_what_comes_in(head, vectors, convention):
    head(vectors)[0][:, convention, 0].sum().backward()
    moved = [bool(own.any()) for own in head.own.weight.grad.view(3, 4, 5)]
    assert moved == [number == convention for number in range(3)]
    assert vectors.grad.any() and head.shared.weight.grad[0].any() and not head.shared.weight.grad[1:].any()
    assert head.gate.weight.grad is None


def test_values_are_dropped_in_training_only(head, vectors):
    assert torch.equal(head(vectors)[0], head(vectors)[0])
    assert not torch.equal(head.train()(vectors)[0], head(vectors)[0])
