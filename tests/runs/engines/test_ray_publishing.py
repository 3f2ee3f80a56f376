"""Workers of another node write the files of a published set, where a store is the folder."""

import os
import sys
from pathlib import Path

import pytest

from edos_dataset.publishing.layout import write_config
from edos_dataset.runs.engines import engine_of
from edos_dataset.runs.remote_folder import output_folder
from edos_dataset.runs.stores.paths import place_of
from object_store import s3_server
from published_folder import FILMS, write_shards

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.slow


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store, and a cluster whose first node, this test's, can hold no workers; the second keeps copies of its
    own.
    """
    from ray.cluster_utils import Cluster

    with s3_server(tmp_path / "leader") as client:
        client.create_bucket(Bucket="sets")
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)]))
        monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        monkeypatch.delenv("RAY_ADDRESS", raising=False)
        node = {"object_store_memory": 80 << 20, "include_dashboard": False}
        cluster = Cluster(initialize_head=True, connect=True, head_node_args={"num_cpus": 0, **node})
        with monkeypatch.context() as patch:
            patch.setenv("EDOS_COPIES", str(tmp_path / "node"))
            cluster.add_node(num_cpus=2, **node)
        yield place_of("s3://sets/edos")
        ray.shutdown()
        cluster.shutdown()


def test_each_sends_what_it_has_written_and_keeps_a_copy(store, tmp_path):
    shards = write_shards(tmp_path / "shards", FILMS, "os")
    wanted = write_config("os", shards, tmp_path / "here", 2)
    with engine_of("ray", 2) as engine, output_folder(store, "toy") as folder:
        folder.prepare()
        assert write_config("os", shards, folder.shared, 2, engine.corpus) == wanted
        folder.commit()
    here = {path.name: path.read_bytes() for path in (tmp_path / "here" / "os").iterdir()}
    copies = {name: {path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("leader", "node")}
    assert set(here.values()) <= copies["node"] and not set(here.values()) & copies["leader"]
    assert {path.name: path.read_bytes() for path, _ in (store / "os").below()} == here and len(here) > 2
    assert not (store / ".run" / "prepared").exists()
