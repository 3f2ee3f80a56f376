"""Cycles of the learning rate, and the mean of the weights at their ends."""

import pytest
import torch

from training.classifier.batches import WeightAverage
from training.classifier.fit import linear_rate
from training.labels.cycles import MeanOfEnds, cycled_rate, ends_of


@pytest.mark.parametrize(
    ("updates", "cycles", "ends"),
    [(10, (1.0,), [10]), (10, (3, 2), [6, 10]), (5000, (0.72, 0.28), [3600, 5000]), (9, (1, 1, 1), [3, 6, 9])],
)
def test_cycles_end_by_their_parts_and_the_last_one_with_the_training(updates, cycles, ends):
    assert ends_of(updates, cycles) == ends


@pytest.mark.parametrize(("updates", "cycles"), [(5000, (1e-9, 1)), (2, (1, 1, 1)), (1, (0.72, 0.28))])
def test_a_cycle_without_an_update_is_refused(updates, cycles):
    with pytest.raises(ValueError, match=f"{updates} updates are too few"):
        ends_of(updates, cycles)


def test_the_rate_of_each_cycle_is_that_of_a_training_of_its_own():
    found = [cycled_rate(update, [6, 10], 0.3) for update in range(10)]
    first, second = ([linear_rate(update, count, 0.3) for update in range(count)] for count in (6, 4))
    assert found == [*first, *second]
    assert cycled_rate(10, [6, 10], 0.3) == 0, "what a scheduler asks behind the last update"


def test_the_mean_is_of_the_weights_at_the_ends_and_survives_a_checkpoint():
    layer = torch.nn.Linear(2, 1, bias=False)
    layer.extra = torch.nn.Parameter(torch.tensor([7.0]), requires_grad=False)
    mean = MeanOfEnds(layer)
    for value in (1.0, 4.0):
        torch.nn.init.constant_(layer.weight, value)
        mean.add()
    again = MeanOfEnds(layer)
    again.load_state_dict(mean.state_dict())
    torch.nn.init.constant_(layer.weight, 1.0)
    again.add()
    for each, expected in ((mean, 2.5), (again, 2.0)):
        each.apply()
        assert layer.weight.tolist() == [[expected, expected]] and layer.extra.item() == 7


def test_an_average_that_restarts_goes_on_from_itself():
    layer = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.constant_(layer.weight, 0.0)
    average = WeightAverage(layer, decay=0.5)
    for value in (1.0, 3.0):
        torch.nn.init.constant_(layer.weight, value)
        average.add()
    kept = float(average.values[0])
    assert 1 < kept < 3
    average.restart()
    assert layer.weight.item() == pytest.approx(kept) == float(average.values[0]) and average.updates == 0
