"""YAML of others: what a reading gives is the reader's own; what it refuses, tests/runs/test_recipes.py shows."""

import pytest

from edos_dataset.runs.foreign import ForeignError, yaml_of


def test_what_one_reader_changes_the_next_does_not_see():
    text = "a: {b: [1, 2024-02-29]}"
    first = yaml_of(text)
    first["a"]["b"].append(2)
    first["c"] = 3
    assert yaml_of(text) != first and yaml_of(text)["a"]["b"][0] == 1 and len(yaml_of(text)["a"]["b"]) == 2


def test_what_is_refused_is_refused_again():
    for _ in range(2):
        with pytest.raises(ForeignError, match="line 1, column 8: the key 'a' twice"):
            yaml_of("{a: 1, a: 2}")
