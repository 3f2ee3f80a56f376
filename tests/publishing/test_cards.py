"""The card: what it says is what was written."""

import fnmatch
import re
from collections import Counter
from pathlib import Path

import pytest
import yaml
from datasets import Features
from huggingface_hub import DatasetCardData

from edos_dataset.label_sets import load_label_set
from edos_dataset.labels import LABELS
from edos_dataset.publishing.cards import paper_figures as papers
from edos_dataset.publishing.cards.dataset import Origin, dataset_card
from edos_dataset.publishing.cards.headers import title_of
from edos_dataset.schema import CONFIGS, describe, features
from published_folder import TOKENS, films_of, publish

FILMS = [*films_of("train", 5), *films_of("test", 2)]
STAGES = [
    {"stage": "read", "unit": "files", "read": 1200, "kept": 1198, "rejected": {"empty": 2}},
    {"stage": "clean", "unit": "turns", "read": 9000, "kept": 9000, "rejected": {}},
]
OF_SUBTITLES = CONFIGS[:3]

MODEL = {
    "metrics": {
        "test (own split)": {"accuracy": 0.515, "macro_f1": 0.4, "top_3_accuracy": 0.75, "ece": 0.02, "examples": 3221}
    },
    "licence_of_the_data": "CC BY-NC 4.0",
}


def card(tmp_path, configs=OF_SUBTITLES, films=FILMS, models=None, stages=(), **facts):
    folder = tmp_path / "edos"
    text = dataset_card(publish(folder, films, configs), "de", models or {}, stages, **facts)
    _, header, body = text.split("---\n", 2)
    return yaml.safe_load(header), body, folder


def test_header(tmp_path):
    header, _, _ = card(tmp_path)
    assert header["language"] == ["de"]
    assert header["license"] == "other"
    assert header["size_categories"] == ["n<1K"]
    assert [config["config_name"] for config in header["configs"]] == list(OF_SUBTITLES)
    assert [config.get("default", False) for config in header["configs"]] == [True, False, False]


def test_numbers(tmp_path):
    header, _, folder = card(tmp_path)
    assert [info["config_name"] for info in header["dataset_info"]] == list(OF_SUBTITLES)
    for info in header["dataset_info"]:
        assert {split["name"]: split["num_examples"] for split in info["splits"]} == {"train": 5, "test": 2}
        assert info["dataset_size"] == sum(split["num_bytes"] for split in info["splits"])
        assert info["download_size"] == sum(path.stat().st_size for path in (folder / info["config_name"]).iterdir())
        assert Features._from_yaml_list(info["features"]) == features(info["config_name"])


def test_every_file_belongs_to_one_split(tmp_path):
    header, _, folder = card(tmp_path)
    files = [path.relative_to(folder).as_posix() for path in folder.rglob("*.parquet")]
    assert len(files) == len(OF_SUBTITLES) * 2
    for file in files:
        owners = [
            (config["config_name"], entry["split"])
            for config in header["configs"]
            for entry in config["data_files"]
            if fnmatch.fnmatch(file, entry["path"])
        ]
        assert owners == [(file.partition("/")[0], file.partition("/")[2].partition("-")[0])]


@pytest.mark.parametrize("configs", [["os"], ["os", "edos_initial", "edos"], ["edos_initial"]])
def test_default_is_the_first_of_those_that_are_there(tmp_path, configs):
    header, body, _ = card(tmp_path, configs)
    names = [name for name in OF_SUBTITLES if name in configs]
    assert [config["config_name"] for config in header["configs"]] == names
    assert header["configs"][0]["default"] is True
    assert ("## Labels" in body) == (configs != ["os"])
    for config in OF_SUBTITLES:
        assert (f'load_dataset("edos", "{config}")' in body) == (config in configs)


def test_flaws_come_first(tmp_path):
    _, body, _ = card(tmp_path)
    headings = [line for line in body.splitlines() if line.startswith("## ")]
    assert headings[0] == "## Know its flaws first"


def test_tables(tmp_path):
    _, body, _ = card(tmp_path, models={"weak-v1": MODEL, "custom": {}}, stages=STAGES)
    tokens = TOKENS * len(FILMS)
    papers = "1,000,000 | 1,000,000 | 24,850 | 4,010,009"
    assert f"| Total no. of dialogues | 7 | 5 | 0 | 2 | {papers} |" in body
    assert body.count("| Total no. of turns | 14 | 10 | 0 | 4 |") == 1, "three configs of equal sizes have one table"
    assert "| `edos`, `edos_initial`, `os` | all | train | validation | test |" in body
    assert f"| Total no. of tokens | {tokens} | {TOKENS * 5} | 0 | {TOKENS * 2} |" in body and "312,574,468 |" in body
    assert f"| Avg. no. of tokens per dialogue | {TOKENS:.2f} | {TOKENS:.2f} | – | {TOKENS:.2f} |" in body
    assert (
        f"| Avg. no. of tokens per turn | {TOKENS / 2:.2f} | {TOKENS / 2:.2f} | – | {TOKENS / 2:.2f} | 13.95 | 19.05 | "
        "16.07 |" in body
    )
    assert (
        "| **`edos`, `edos_initial`, here** | 32 emotions, 8 response intents, neutral | 7 | 14 |" in body
        and "| **`os`, here** | none | 7 | 14 |" in body
    )
    assert "| read | files | 1,200 | 1,198 | empty 2 |" in body
    assert "| clean |" not in body and "Nothing was removed by `clean`." in body
    assert "| `weak-v1` | 51.5% | 40.0% | 75.0% | 2.0% | 3,221 held-out examples |" in body
    assert "How often `custom` is right has not been measured." in body and "| `custom`" not in body
    assert "- Licences of the data of `weak-v1`: CC BY-NC 4.0.\n- Licences of the data of `custom`: not stated." in body


def test_sizes_that_differ_have_their_own_tables(tmp_path):
    written = [*publish(tmp_path / "one", FILMS, ["edos"]), *publish(tmp_path / "two", FILMS[:3], ["edos_initial"])]
    body = dataset_card(written, "de", {}, [])
    assert "| `edos` | all |" in body and "| `edos_initial` | all |" in body


def test_nothing_at_all(tmp_path):
    header, body, _ = card(tmp_path, films=[])
    assert header["configs"] == header["dataset_info"] == []
    assert (
        "| Total no. of dialogues | 0 | 0 | 0 | 0 | 1,000,000 |" in body
        and "| Avg. no. of turns per dialogue | – | – | – | – | 2.83 | 3.49 | 4.31 | 4.70 |" in body
    )
    assert "## Labels" not in body and "annotations_creators" in header


def test_labels_as_the_paper_counts_them(tmp_path):
    """Every dialogue is counted once, by its first turn; beside our figures stand those of the paper's Table 9."""
    _, body, _ = card(tmp_path)
    rows = {
        cells[1]: cells[2:-1]
        for line in body.splitlines()
        if (cells := [cell.strip() for cell in line.split("|")])[1:2] and cells[1] in LABELS
    }
    labels = Counter(LABELS[int(film[2:]) % 41] for film in FILMS)
    assert set(rows) == set(labels), "a label that no turn has is only named"
    assert "No turn has " + ", ".join(label for label in LABELS if label not in labels) + "." in body
    for label, cells in rows.items():
        assert cells[:3] == [str(labels[label]), str(2 * labels[label]), f"{labels[label] / len(FILMS):.1%}"]
    known = {"afraid": ["15,964", "49,285", "1.7%"], "neutral": ["7,649", "55,932", "2.0%"]}
    assert all(rows[label][3:] == figures for label, figures in known.items() if label in rows)
    assert list(rows)[0] == max(labels, key=lambda label: (labels[label], -LABELS.index(label)))
    assert "| **all** | 7 | 14 |  | 1,000,000 | 2,829,426 |  |" in body and "Turns labelled: 14 by `toy`." in body


def test_what_adds_up_in_the_papers():
    assert tuple(map(sum, zip(*papers.BY_LABEL, strict=True))) == (papers.EDOS.dialogues, papers.EDOS.turns)
    assert len(papers.BY_LABEL) == len(LABELS)
    for paper in (papers.EDOS, papers.OS, papers.OSED, papers.EMPATHETIC_DIALOGUES):
        assert paper.turns / paper.dialogues == pytest.approx(paper.turns_per_dialogue, abs=0.0051)
        assert paper.tokens / paper.dialogues == pytest.approx(paper.tokens_per_dialogue, abs=0.0051)
        assert paper.tokens / paper.turns == pytest.approx(paper.tokens_per_turn, abs=0.0051)


def test_measured_flaws_come_before_the_others(tmp_path):
    by_label = {
        "sad": {"f1": 0.25, "support": 9},
        "proud": {"f1": 0.5, "support": 9},
        "content": {"f1": None, "support": 0},
    }
    record = {**MODEL, "metrics": {"test": {**MODEL["metrics"]["test (own split)"], "by_label": by_label}}}
    segmenter = {
        "metrics": {"unseen_shows": {"all": {"seams": 2000, "accuracy": 0.75, "f1": 0.7, "ece": 0.02}}},
        "licences": {"a": "MIT"},
    }
    _, body, _ = card(tmp_path, models={"weak-v1": record}, segmenters={"blend": segmenter})
    flaws = body[body.index("## Know") : body.index("## Load")]
    assert "| what is wrong | how often | among |" in flaws
    examples = "3,221 held-out examples; lowest F1: sad 25%, proud 50%"
    assert f"| wrong labels of `weak-v1`, if only the first counts | 48.5% | {examples} |" in flaws
    assert (
        "| wrong boundaries of turns by `blend` | 25.0% | 2,000 boundaries between sentences (unseen shows) |" in flaws
    )
    assert "less than half sure" not in flaws, "all have a confidence of 0.5"
    assert "turns whose time" not in flaws and "0.0%" not in flaws, "what never happens is no flaw"
    assert "| `blend` | unseen shows: all | 2,000 | 75.0% | 70.0% | 2.0% |" in body


@pytest.mark.parametrize("metrics", [{"turns": {"meld": 3}, "right": {}}, {"accuracy": 0.5}, [1], {"accuracy": "half"}])
def test_figures_of_another_form_are_missing(tmp_path, metrics):
    _, body, _ = card(tmp_path, models={"theirs": {**MODEL, "metrics": {"test": metrics}}})
    assert "held-out examples when" not in body and "`theirs`" in body


def test_where_models_come_from(tmp_path):
    data = [{"file": f"set/parts/{number}.csv"} for number in range(5)] + [{"file": "set/train.txt"}]
    record = {**MODEL, "data": data, "encoder": "small@1", "date": "2026-01-02", "command": "python train.py"}
    _, body, _ = card(
        tmp_path,
        models={"weak-v1": record, "general-v1": record, "custom": {}},
        segmenters={"blend": {"data": {"one": {}, "two": {}}, "command": "c"}},
    )
    assert (
        "- `weak-v1`, `general-v1`: builds on small@1; learned from set/parts (5 files), set/train.txt; made "
        "2026-01-02 by `python train.py`." in body
    )
    assert "- Licences of the data of `weak-v1` and `general-v1`: CC BY-NC 4.0." in body, "what is equal is said once"
    assert "- `custom`: nothing is known of how it was made." in body
    assert "- `blend`: learned from one, two; made by `c`." in body


def test_where_it_comes_from(tmp_path):
    origin = Origin(
        "edos curate SUBTITLES --out edos",
        "abc",
        {"edos-dataset": "9.9", "python": "3.1"},
        "recipe.yaml",
        {"films": 1234, "files": 2},
    )
    _, body, _ = card(tmp_path, origin=origin)
    assert "```\nedos curate SUBTITLES --out edos\n```" in body
    assert (
        "Read: 1,234 films, 2 files. Fingerprint of the pipeline: `abc`. `recipe.yaml` is beside this card. Made by "
        "edos-dataset 9.9, python 3.1." in body
    )
    assert "| files | 7 |" in body and "| kinds of files | XML of OPUS (OpenSubtitles) 7 |" in body
    assert "decades of the films" not in body and "| genres | Drama 7 |" in body


def test_a_picture_is_shown_only_where_there_is_one(tmp_path):
    _, without, _ = card(tmp_path / "without")
    _, body, _ = card(tmp_path / "with", picture=True)
    assert "](label_distribution.png)" not in without
    (alt,) = re.findall(r"!\[(.+)\]\(label_distribution\.png\)", body)
    assert "28.6%" in alt or "14.3%" in alt  # two films, or one, of seven


@pytest.mark.parametrize(("configs", "annotated"), [(["os"], "no-annotation"), (OF_SUBTITLES, "machine-generated")])
def test_what_the_hub_files_it_under(tmp_path, configs, annotated):
    header, _, _ = card(tmp_path, configs)
    assert header["annotations_creators"] == [annotated] and header["source_datasets"] == ["extended|open_subtitles"]
    assert (
        ("text-classification" in header["task_categories"])
        == (annotated == "machine-generated")
        == ("intent-classification" in header["task_ids"])
    )
    assert {
        "language_creators": ["found"],
        "multilinguality": ["monolingual"],
        "pretty_name": "EDOS",
    }.items() <= header.items()
    DatasetCardData(**header)


def test_every_column_is_explained(tmp_path):
    _, body, _ = card(tmp_path)
    for column in describe("edos"):
        assert f"| `{column.name}` | {column.type} | {column.meaning} |" in body


def test_the_package_is_cited_as_it_asks_to_be():
    asked = yaml.safe_load((Path(__file__).parents[2] / "CITATION.cff").read_text())
    text = papers.citation("edos", "responses", "gutenberg")
    assert (
        f'title = "{asked["title"]}"' in text and f'version = "{asked["version"]}"' in text and asked["license"] in text
    )
    assert asked["authors"][0]["name"] in text
    for paper in asked["references"]:
        assert paper["title"] in text and all(author["family-names"] in text for author in paper["authors"])
    assert "OpenSubtitles2016" not in text.replace("{", "").replace("}", "") and "Lison" in papers.citation("opus")


@pytest.mark.parametrize(
    ("kinds", "labels", "title"),
    [
        (["opus", "subtitle"], "edos41", "EDOS: emotion-labelled dialogues from subtitles"),
        (["opus"], None, "EDOS: emotion-labelled dialogues from subtitles"),
        (["opus"], "ekman7", "Dialogues from subtitles, labelled with ekman7"),
        (["subtitle", "ttml"], "edos41", "Emotion-labelled dialogues from subtitles"),
        (["subtitle"], None, "Dialogues from subtitles"),
        (["chat"], ["calm", "tense"], "Dialogues from chats, labelled with own"),
        (["chat", "transcript"], None, "Dialogues from chats and transcripts"),
        ([], None, "Dialogues from subtitles"),
    ],
)
def test_only_what_is_a_version_of_edos_is_called_so(kinds, labels, title):
    assert title_of(kinds, None if labels is None else load_label_set(labels)) == title


def test_a_card_says_its_labels_in_the_title(tmp_path):
    header, body, _ = card(tmp_path)
    assert header["pretty_name"] == "EDOS" and "# EDOS: emotion-labelled dialogues from subtitles\n" in body
