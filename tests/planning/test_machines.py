"""Machines as YAML: those that come with the package, and what is wrong with those of users."""

import pytest

from edos_dataset.planning.machines import CLUSTERS, HERE, ClusterError, devices, load_cluster

NODE = "machines:\n- {name: a, cores: 4, memory_gib: 8"


@pytest.fixture
def load(tmp_path):
    def loaded(text):
        (tmp_path / "mine.yaml").write_text(text)
        return load_cluster(str(tmp_path / "mine.yaml"))

    return loaded


@pytest.mark.parametrize("name", [HERE, *CLUSTERS])
def test_built_in_clusters_have_cores_and_say_where_their_figures_come_from(name):
    cluster = load_cluster(name)
    assert cluster.name == name and all(kind.cores >= 1 and kind.core_speed > 0 for kind in cluster.machines)
    assert cluster.sources() and all(cluster.sources().values())


def test_every_device_has_a_source():
    for table in (devices()["cpu"], devices()["gpu"], devices()["encoder"]):
        assert all(len(entry["source"]) > 5 for entry in table.values())


def test_what_is_given_counts_and_not_the_table(load):
    cluster = load(f"{NODE}, count: 3, speed: 0.5, gpu_speed: 20, gpus: 2, price: 1.5}}\ncurrency: CHF\n")
    (kind,) = cluster.machines
    assert (kind.core_speed, kind.gpu_cores, cluster.price, cluster.disk) == (0.5, 20, 4.5, None)
    assert "the user" in cluster.sources().values()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[]", "describes no machines"),
        ("machines: []", "describes no machines"),
        ("machines: [3]", "expected `key: value` pairs, got 3"),
        ("machines:\n- {name: a, cors: 4, memory_gib: 8}", "unknown key 'cors'; did you mean 'cores'?"),
        ("machines:\n- {name: a, cores: 4}", "the key 'memory_gib' is missing"),
        (f"{NODE}}}\nstraglers: 0.1", "unknown key 'straglers'; did you mean 'stragglers'?"),
        (f"{NODE}}}\nstragglers: 2", "stragglers must be from 0 to 1, got 2"),
        (f"{NODE}, price: cheap}}", "price must be of type float, got 'cheap'"),
        (f"{NODE}, price: .nan}}", "price must be from 0"),
        (f"{NODE}, count: true}}", "count must be of type int, got True"),
        (f"{NODE}, count: 0}}", "count must be from 1"),
        (f"{NODE}, gpu: h10, gpus: 1}}", "unknown gpu 'h10'; did you mean 'h100'?"),
        (f"{NODE}, cpu: vcpus}}", "unknown cpu 'vcpus'; did you mean 'vcpu'?"),
        (f"{NODE}, gpus: 1}}", "1 gpu of an unknown kind"),
        (f"{NODE}, gpu: t4}}", "without `gpus`"),
        (f"{NODE}}}\n- {{name: a, cores: 1, memory_gib: 1}}", "two kinds of machines have one name"),
        ("machines: *a", "the alias"),
        ("machines: [", "cannot read the machines"),
    ],
)
def test_bad_yaml_is_told_in_a_sentence(load, text, told):
    with pytest.raises(ClusterError, match="mine.yaml") as error:
        load(text)
    assert told in str(error.value)


def test_an_unknown_name_is_told_with_the_nearest():
    with pytest.raises(ClusterError, match="did you mean 'laptop'"):
        load_cluster("laptopp")
    with pytest.raises(ClusterError, match="No such file"):
        load_cluster("nowhere.yaml")
