"""The card of an extended data set."""

import yaml

from edos_dataset.publishing.cards.extended import extended_card
from extended_rows import counts, step


def test_the_card_says_what_each_step_gave():
    text = extended_card(
        counts(
            {"train": 3, "validation": 2, "test": 0},
            [step(1, "spread", 3196, sad=1400, joyful=2), step(2, "self-label", sad=5)],
        )
    )
    _, front, body = text.split("---\n", 2)
    files = yaml.safe_load(front)["configs"][0]["data_files"]
    assert [file["split"] for file in files] == ["train", "validation"], "datasets refuses to load a split without rows"
    assert body.index("guesses of a machine") < body.index("## Load")
    assert (
        "| 1 | spread | 1 | 12,000 | 1,402 | 3,196 | threshold 0.92 |" in body
        and "| 2 | self-label | 1 | 12,000 | 5 |  | threshold 0.92 |" in body
    )
    assert "| 1 | not_similar | 10,588 |" in body and "| sad | 1,400 | 5 |" in body and "| joyful | 2 | 0 |" in body
    assert "edos extend seed pool --out out" in body and "dialogues: 12,000" in body
