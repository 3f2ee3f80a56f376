"""The seed: whose answers count, which label wins, and what cannot be one."""

import pytest

from crowd_tables import ByFirstWord, answers_of, crowd
from edos_dataset.crowd import seed as seeds
from edos_dataset.crowd.seed import SeedRules, make_seed
from edos_dataset.labels import LABEL_IDS
from edos_dataset.schema import arrow_schema


@pytest.fixture(autouse=True)
def encoder(monkeypatch):
    monkeypatch.setattr(seeds, "Encoder", ByFirstWord)


def test_rows_have_the_columns_of_the_config_and_are_counted():
    tables, counts = make_seed(crowd(), SeedRules())
    assert {split: len(table) for split, table in tables.items()} == counts["splits"]
    assert all(table.schema.equals(arrow_schema("amt_seed")) for table in tables.values())
    assert (counts["tasks"], counts["texts"], counts["labelled"], counts["unlabelled"]) == (90, 89, 88, 1)


def test_policies():
    tables, soft = make_seed(crowd(), SeedRules(ties="soft"))
    assert sum(soft["splits"].values()) == 89
    row = next(row for row in tables["train"].to_pylist() if row["dialogue_id"] == "t89")
    assert row["label"] is None and row["soft_label"][LABEL_IDS["angry"]] == pytest.approx(1 / 3)
    tables, own = make_seed(crowd(), SeedRules(repeats="own"))
    assert own["texts"] == 90 and own["labelled"] == 89
    split = {name: part for part, table in tables.items() for name in table["dialogue_id"].to_pylist()}
    assert split["t0"] == split["t30"]


def test_what_cannot_be_a_seed():
    with pytest.raises(ValueError, match="task 't0' has no text"):
        make_seed(answers_of([["Sad", "Sad"]]), SeedRules())
    with pytest.raises(ValueError, match="none may be empty"):
        make_seed(answers_of([["Sad", "Sad"]], [["Oh no."]]), SeedRules())
    with pytest.raises(ValueError, match="give three from 0 that sum to 1"):
        SeedRules(shares=(0.6, 0.2, 0.1))
