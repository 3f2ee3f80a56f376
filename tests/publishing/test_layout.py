"""The published folder: `datasets` loads all of it, whatever the shards were."""

import pyarrow.parquet as pq
import pytest
from datasets import load_dataset
from hypothesis import given
from hypothesis import strategies as st

from edos_dataset.labels import LABELS
from edos_dataset.publishing import layout
from edos_dataset.publishing.cards.dataset import dataset_card
from edos_dataset.publishing.layout import write_config
from edos_dataset.publishing.splits import split_of
from edos_dataset.runs.engines.local import LocalEngine
from edos_dataset.schema import CONFIGS, SCRIPTS, SPLITS, features
from published_folder import TEXTS, TOKENS, films_of, publish, write_shards

FILMS = [*films_of("train", 9), *films_of("validation", 2), *films_of("test", 3)]
ROWS = {"train": 9, "validation": 2, "test": 3}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A whole published folder: every config, train in several files."""
    folder = tmp_path_factory.mktemp("published") / "edos"
    written = publish(folder, FILMS, CONFIGS, rows_a_file=4)
    (folder / "README.md").write_text(dataset_card(written, "en", {}, []), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("film", "split"),
    [("1994/111161", "train"), ("1972/68646", "train"), ("f1", "train"), ("f8", "train"), ("", "validation")],
)
def test_split_of_never_changes(film, split):
    assert split_of(film) == split


def test_shares_of_the_splits():
    splits = [split_of(f"{1950 + number % 70}/{number}") for number in range(20_000)]
    for split, share in zip(SPLITS, (0.8, 0.1, 0.1), strict=True):
        assert splits.count(split) / len(splits) == pytest.approx(share, abs=0.01)


@given(st.text())
def test_every_film_has_a_split(film):
    assert split_of(film) in SPLITS
    assert split_of(film) == split_of(film)


@pytest.mark.parametrize("config", [None, *CONFIGS])
def test_load_dataset(folder, tmp_path, config):
    loaded = load_dataset(str(folder), config, cache_dir=str(tmp_path))
    config = config or "edos"
    assert {split: dataset.num_rows for split, dataset in loaded.items()} == ROWS
    for split, dataset in loaded.items():
        assert dataset.features == features(config)
        assert all(split_of(row["document_id"]) == split for row in dataset)
    first = loaded["train"][0]
    assert [turn["text"] for turn in first["turns"]] == list(TEXTS)
    assert first["source"]["genres"] == ["Drama"]
    if config != SCRIPTS:  # screenplays have no times
        assert (first["turns"][1]["start"], first["turns"][1]["end"]) == (1.5, None)
    assert sorted(row["document_id"] for dataset in loaded.values() for row in dataset) == sorted(FILMS)


@pytest.mark.parametrize("config", CONFIGS)
def test_streaming(folder, config):
    loaded = load_dataset(str(folder), config, streaming=True)
    assert {split: sum(1 for _ in dataset) for split, dataset in loaded.items()} == ROWS
    row = next(iter(loaded["test"]))
    if config != "os":
        label = loaded["test"].features["turns"].feature["label"]
        assert label.names == list(LABELS)
        assert label.int2str(row["turns"][0]["label"]) == LABELS[int(row["document_id"][2:]) % 41]


@pytest.mark.parametrize("films", [films_of("train", 2), films_of("test", 1)], ids=["train only", "test only"])
def test_empty_splits_do_not_hinder(tmp_path, films):
    folder = tmp_path / "edos"
    written = publish(folder, films, CONFIGS)
    (folder / "README.md").write_text(dataset_card(written, "en", {}, []), encoding="utf-8")
    for config in CONFIGS:
        loaded = load_dataset(str(folder), config, cache_dir=str(tmp_path / "cache"))
        assert {split: dataset.num_rows for split, dataset in loaded.items()} == {split_of(films[0]): len(films)}
        assert sum(1 for dataset in load_dataset(str(folder), config, streaming=True).values() for _ in dataset) == len(
            films
        )


def test_an_empty_config_does_not_hinder(tmp_path):
    folder = tmp_path / "edos"
    written = [*publish(folder, [], ["edos"]), *publish(folder, FILMS, ["os"])]
    (folder / "README.md").write_text(dataset_card(written, "en", {}, []), encoding="utf-8")
    loaded = load_dataset(str(folder), cache_dir=str(tmp_path / "cache"))  # "os" is the default now
    assert loaded["train"].num_rows == ROWS["train"]
    assert loaded["train"].features == features("os")


def test_files_of_a_split(folder):
    assert sorted(path.name for path in (folder / "os").iterdir()) == [
        "test-00000-of-00001.parquet",
        *(f"train-0000{number}-of-00003.parquet" for number in range(3)),
        "validation-00000-of-00001.parquet",
    ]
    sizes = [pq.read_metadata(path).num_rows for path in sorted((folder / "os").glob("train-*"))]
    assert sizes == [4, 4, 1]


@pytest.mark.parametrize("config", CONFIGS)
def test_what_was_written_is_counted(tmp_path, config):
    (written,) = publish(tmp_path / "edos", FILMS, [config], rows_a_file=4)
    assert written.rows == ROWS
    assert written.turns == {split: 2 * rows for split, rows in ROWS.items()}
    assert written.tokens == {split: TOKENS * rows for split, rows in ROWS.items()}
    labels = [int(film[2:]) % 41 for film in FILMS for _ in TEXTS]
    assert written.labels == ({} if config == "os" else {label: labels.count(label) for label in labels})
    assert written.bytes == {
        split: sum((tmp_path / "edos" / name).stat().st_size for name in names)
        for split, names in written.files.items()
    }
    assert sorted(name for names in written.files.values() for name in names) == sorted(
        f"{config}/{path.name}" for path in (tmp_path / "edos" / config).iterdir()
    )


@pytest.mark.parametrize(("group", "rows_a_file"), [(10_000, 100_000), (2, 100_000), (2, 3), (3, 3)])
def test_the_spread_over_shards_does_not_show(tmp_path, monkeypatch, group, rows_a_file):
    monkeypatch.setattr(layout, "ROW_GROUP", group)
    results = []
    for shards in (1, 2, 5, 14):
        folder = tmp_path / str(shards)
        written = write_config(
            "edos", write_shards(folder / "shards", FILMS, "edos", shards), folder / "out", rows_a_file
        )
        results.append((written, {path.name: path.read_bytes() for path in (folder / "out" / "edos").iterdir()}))
        groups = [pq.read_metadata(path) for path in sorted((folder / "out" / "edos").glob("train-*"))]
        assert [
            metadata.row_group(number).num_rows for metadata in groups for number in range(metadata.num_row_groups)
        ][0] == min(group, rows_a_file, 9)
    assert all(result == results[0] for result in results)


@pytest.mark.slow
@pytest.mark.parametrize("config", ["edos", "os"])
def test_the_workers_do_not_show(tmp_path, config):
    films = [film for film in FILMS for _ in range(3)]  # of three dialogues each, so that files begin within a film
    shards, results = write_shards(tmp_path / "shards", films, config, 7), []
    for workers in (1, 2):
        with LocalEngine(workers) as engine:
            written = write_config(config, shards, tmp_path / str(workers), 4, engine)
        files = {path.name: path.read_bytes() for path in (tmp_path / str(workers) / config).iterdir()}
        results.append((written, list(vars(written).items()), files))
    assert results[0] == results[1]
    written, _, files = results[0]
    assert [len(written.files[split]) for split in SPLITS] == [7, 2, 3] and len(files) == 12
    assert written.documents == len(FILMS)
    assert written.total_rows == 3 * len(FILMS) == sum(written.kinds.values())


def test_a_file_reads_the_shards_that_it_is_made_of_alone(tmp_path, monkeypatch):
    """And of one shard's rows each goes to one file, once."""
    films, read = films_of("train", 12), []
    shards = write_shards(tmp_path / "shards", films, "os", 6)
    monkeypatch.setattr(
        layout,
        "_read",
        lambda shard, columns, division, function=layout._read: (
            read.append(shard.name) if columns else None,
            function(shard, columns, division),
        )[1],
    )
    written = write_config("os", shards, tmp_path / "out", 4)
    assert read == [shard.name for shard in shards]
    stay = [
        row
        for name in written.files["train"]
        for row in pq.read_table(tmp_path / "out" / name)["document_id"].to_pylist()
    ]
    assert stay == films
