"""The cards of a crowd seed and of an extended dataset."""

import pytest
import yaml
from huggingface_hub import DatasetCardData

from edos_dataset.labels import LABELS
from edos_dataset.publishing.cards.single import extended_card, seed_card
from extended_rows import counts, step

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
def test_the_seed_is_shown_beside_the_papers_table(agreement, kappa):
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


def test_header_of_the_seed():
    head = yaml.safe_load(seed_card(COUNTS).split("---\n")[1])
    assert head["annotations_creators"] == ["crowdsourced"] and head["size_categories"] == ["1K<n<10K"]
    DatasetCardData(**head)


def test_the_extended_card_shows_the_results_of_each_step():
    text = extended_card(
        counts(
            {"train": 3, "validation": 2, "test": 0},
            [step(1, "spread", 3196, sad=1400, joyful=2), step(2, "self-label", sad=5)],
        )
    )
    _, front, body = text.split("---\n", 2)
    files = yaml.safe_load(front)["configs"][0]["data_files"]
    assert [file["split"] for file in files] == ["train", "validation"], "datasets refuses to load a split without rows"
    assert body.index("guesses by a model") < body.index("## Load")
    assert (
        "| 1 | spread | 1 | 12,000 | 1,402 | 3,196 | threshold 0.92 |" in body
        and "| 2 | self-label | 1 | 12,000 | 5 |  | threshold 0.92 |" in body
    )
    assert "| 1 | not_similar | 10,588 |" in body and "| sad | 1,400 | 5 |" in body and "| joyful | 2 | 0 |" in body
    assert "edos extend seed pool --out out" in body and "dialogues: 12,000" in body
