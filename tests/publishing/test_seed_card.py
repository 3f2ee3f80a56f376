"""The card of a seed: our task beside the paper's, and what the Hub files it under."""

import pytest
import yaml
from huggingface_hub import DatasetCardData

from edos_dataset.labels import LABELS
from edos_dataset.publishing.cards.seed import seed_card

COUNTS = {
    "answers": 6000,
    "tasks": 2000,
    "texts": 1990,
    "labelled": 1592,
    "unlabelled": 398,
    "splits": {"train": 1000, "validation": 300, "test": 292},
    "groups": 1500,
    "largest_group": 4,
    "by_label": {label: {"train": 1, "validation": 0, "test": 0} for label in LABELS},
    "rules": {"repeats": "pool", "method": "majority", "ties": "abstain", "least_votes": 2, "near": 0.95, "model": "m"},
    "agreement": {"fleiss_kappa": 0.41, "fleiss_kappa_interval": [0.4, 0.42]},
}


@pytest.mark.parametrize(("agreement", "kappa"), [(COUNTS["agreement"], "0.41"), (None, "not known")])
def test_beside_the_papers_table(agreement, kappa):
    card = seed_card({**COUNTS, "agreement": agreement})
    assert "| dialogues | 2,000 | 10,250 |" in card
    assert "| labelled by majority vote | 1,592 of 1,990 (80.00%) | 8,913 (86.96 %) |" in card
    assert f"| Fleiss' kappa | {kappa} | 0.46 |" in card
    assert (
        card.index("## Know its flaws first")
        < card.index("Licence")
        < card.index("## Load")
        < card.index("## Considerations")
        < card.index("## Cite")
    )


def test_header():
    head = yaml.safe_load(seed_card(COUNTS).split("---\n")[1])
    assert head["annotations_creators"] == ["crowdsourced"] and head["size_categories"] == ["1K<n<10K"]
    DatasetCardData(**head)
