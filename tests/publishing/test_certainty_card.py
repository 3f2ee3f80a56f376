"""What the card says of how sure the dialogues are is what lies in the data, and what the reading found."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

from edos_dataset.publishing.cards.dataset import READING, dataset_card
from edos_dataset.publishing.layout import write_config
from edos_dataset.runs.shards import write_shard
from published_folder import dialogues, films_of

HEADING = "## How certain the dialogues are"
JUDGED = Path(__file__).parents[2] / "evaluation" / "judged_dialogues.json"


def section(tmp_path, certainties, configs=("os",)):
    """Return the section of a card whose dialogues are so sure, "" where there is none, and the whole card."""
    written = []
    for config in configs:
        table = dialogues(films_of("train", len(certainties)), config)
        column = pa.array(certainties, pa.float32())
        place = table.schema.get_field_index("certainty")
        write_shard(tmp_path / f"{config}.parquet", table.set_column(place, "certainty", column))
        written.append(write_config(config, [tmp_path / f"{config}.parquet"], tmp_path / "out"))
    card = dataset_card(written, "en", {}, [])
    return card.partition(HEADING)[2].partition("\n## ")[0], card


def rows(text):
    """Return the cells of a table's rows by the first of each."""
    found = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    return {name: cells for name, *cells in found[2:]}


def test_the_table_adds_up_the_data(tmp_path):
    text, card = section(tmp_path, [0.95, 0.85, 0.85, 0.75, 0.1])
    assert rows(text) == {
        "at least 0.9": ["1", "20.0%", "95.0%"],
        "at least 0.8": ["3", "60.0%", "88.3%"],
        "at least 0.7": ["4", "80.0%", "85.0%"],
        "at least 0.6": ["4", "80.0%", "85.0%"],
        "at least 0.5": ["4", "80.0%", "85.0%"],
        "all": ["5", "100.0%", "70.0%"],
    }
    assert card.index("## What is in it") < card.index(HEADING)


def test_dialogues_of_which_nothing_is_known_have_a_row(tmp_path):
    found = rows(section(tmp_path, [0.5, None, None, 0.25])[0])
    assert "at least 0.9" not in found, "there is none"
    assert found["at least 0.5"] == ["1", "25.0%", "50.0%"]
    assert found["all that have one"] == ["2", "50.0%", "37.5%"] and found["null"] == ["2", "50.0%", "not known"]
    assert "all" not in found


@pytest.mark.parametrize("certainties", [[None, None], []])
def test_nothing_known_nothing_said(tmp_path, certainties):
    assert HEADING not in section(tmp_path, certainties)[1]


def test_it_is_of_the_config_that_is_loaded_by_default(tmp_path):
    text, card = section(tmp_path, [0.5], ("os", "edos"))
    assert "| `certainty` in `edos` |" in text and card.count(HEADING) == 1


def test_the_example_keeps_what_the_table_counts(tmp_path):
    """As the card has it, over rows without certainty, too."""
    from datasets import load_dataset

    certainties = [0.8, 0.79, None, 0.95]
    text, card = section(tmp_path, certainties)
    (tmp_path / "out" / "README.md").write_text(card, encoding="utf-8")
    ds = load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"))["train"]
    example = next(part for part in text.split("`") if part.startswith("ds.filter("))
    kept = eval(example, {"ds": ds})  # noqa: S307 - the text of our own card
    assert [str(len(kept)), "50.0%", "87.5%"] == rows(text)["at least 0.8"]


@pytest.mark.skipif(not JUDGED.exists(), reason="no checkout")
def test_the_reading_is_the_one_of_the_project(tmp_path):
    judged = json.loads(JUDGED.read_text())
    starts = [band["from"] for band in judged["certainty"]]
    band = judged["certainty"][starts.index(READING.least)]
    assert READING.below == starts[starts.index(READING.least) + 1]
    assert (READING.read, READING.dialogues, READING.right) == (judged["dialogues"], band["dialogues"], band["share"])
    assert (
        f"of the {band['dialogues']} with a certainty of 0.7 to 0.9, {band['share']:.0%} had"
        in section(tmp_path, [0.5])[0]
    )
