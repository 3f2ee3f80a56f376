"""The files of a data set's folder: which configs and splits are there, in which order."""

import pyarrow.parquet as pq

from edos_dataset.runs.tables import config_files, configs_in, only_file
from edos_dataset.schema import CONFIGS, REGISTRY, arrow_schema


def write(folder, config, *names):
    (folder / config).mkdir()
    for name in names:
        pq.write_table(arrow_schema(config).empty_table(), folder / config / name)


def test_configs_come_in_the_order_of_the_registry(tmp_path):
    for config in reversed(REGISTRY):
        write(tmp_path, config, "train-00000-of-00001.parquet")
    (tmp_path / "other").mkdir()
    assert configs_in(tmp_path) == list(REGISTRY)
    assert configs_in(tmp_path, CONFIGS) == list(CONFIGS)
    only_file(tmp_path, "edos", "train").unlink()
    assert configs_in(tmp_path, CONFIGS) == ["edos_initial", "os"], "a folder without files has no config"


def test_files_come_by_split_in_the_order_of_their_rows(tmp_path):
    write(
        tmp_path, "os", *(f"train-{number:05d}-of-00003.parquet" for number in (2, 0, 1)), "test-00000-of-00001.parquet"
    )
    files = config_files(tmp_path, "os")
    assert list(files) == ["train", "test"] and [path.name[6:11] for path in files["train"]] == [
        "00000",
        "00001",
        "00002",
    ]
    assert files["test"] == [only_file(tmp_path, "os", "test")]
    assert config_files(tmp_path, "edos") == {}
