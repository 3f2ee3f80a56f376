"""The machines of a plan, from a YAML file or built in, and the table of devices with the source of each figure."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from edos_dataset.runs.engines.base import available_cores
from edos_dataset.runs.recipes import nearest
from edos_dataset.runs.untrusted import UntrustedInputError, read_yaml, shown, yaml_of
from edos_dataset.wording import counted

HERE = "here"
"""Name of the cluster that consists of this machine alone, and of its kind of core."""

GIB = 1 << 30
_MOST = 1e9

CLUSTERS = ("laptop", "eight-gpus", "hundred-nodes")
"""Built-in clusters."""


class ClusterError(ValueError):
    """An invalid description of machines; the message names the place and what is expected."""


@dataclass(frozen=True)
class Machine:
    """A kind of machine.

    Attributes:
        name: for tables and messages.
        cores: cores per machine that run tasks.
        memory_gib: memory per machine.
        count: number of machines.
        cpu: kind of core, as in `devices.yaml`.
        speed: speed of a core, overriding the table; a core of the measuring machine has speed 1.
        disk_gib: disk per machine, or its part of a shared file system.
        gpu: kind of GPU, as in `devices.yaml`.
        gpus: GPUs per machine.
        gpu_speed: speed of a GPU in the encoder stages, in cores, overriding the table.
        price: price per machine and hour.
        failures: failures per machine and hour, as of a spot machine that is preempted and returns after
            `start_minutes`.
        start_minutes: minutes from requesting a machine until it works.
    """

    name: str
    cores: int
    memory_gib: float
    count: int = 1
    cpu: str = HERE
    speed: float | None = None
    disk_gib: float | None = None
    gpu: str | None = None
    gpus: int = 0
    gpu_speed: float | None = None
    price: float = 0.0
    failures: float = 0.0
    start_minutes: float = 0.0

    @property
    def core_speed(self) -> float:
        """Speed of a core relative to one of the measuring machine."""
        return self.speed or float(devices()["cpu"][self.cpu]["speed"])

    @property
    def gpu_cores(self) -> float:
        """How many cores of the measuring machine one GPU replaces in the encoder stages."""
        if self.gpu_speed is not None:
            return self.gpu_speed
        encoder = devices()["encoder"]
        reached = float(devices()["gpu"][self.gpu]["tflops"]) * 1000 * encoder["share"]["value"]
        return float(reached / encoder["core_gflops"]["value"])


@dataclass(frozen=True)
class Cluster:
    """The machines that a run uses from beginning to end.

    Attributes:
        name: for tables and messages.
        machines: kinds of machines.
        currency: currency of the prices.
        stragglers: fraction of the tasks that take `slowdown` times as long, 0 to 1.
        slowdown: factor, at least 1.
    """

    name: str
    machines: tuple[Machine, ...]
    currency: str = "USD"
    stragglers: float = 0.0
    slowdown: float = 1.0

    @property
    def price(self) -> float:
        """Price of all machines per hour."""
        return sum(kind.count * kind.price for kind in self.machines)

    @property
    def disk(self) -> int | None:
        """Total disk space in bytes; None if that of any machine is unknown."""
        sizes = [kind.disk_gib for kind in self.machines]
        return None if None in sizes else int(sum(kind.count * (kind.disk_gib or 0) for kind in self.machines) * GIB)

    def sources(self) -> dict[str, str]:
        """Return the sources of its devices' figures, figure → source."""
        table, found = devices(), {}
        for kind in self.machines:
            core = "the user" if kind.speed else table["cpu"][kind.cpu]["source"]
            found[f"{kind.name}: a core is {kind.core_speed:g} of one here"] = core
            if kind.gpus:
                gpu = (
                    "the user"
                    if kind.gpu_speed
                    else (
                        f"{table['gpu'][kind.gpu]['tflops']} TFLOP/s ({table['gpu'][kind.gpu]['source']}) × "
                        f"{table['encoder']['share']['value']:g} ({table['encoder']['share']['source']}) ÷ "
                        f"{table['encoder']['core_gflops']['value']:g} GFLOP/s of a core "
                        f"({table['encoder']['core_gflops']['source']})"
                    )
                )
                found[f"{kind.name}: a GPU is {kind.gpu_cores:,.0f} cores in the encoder stages"] = gpu
        if any(kind.gpus for kind in self.machines):
            share = table["encoder"]["host_share"]
            found[f"a core's time beside a GPU is {share['value']:g} of that without"] = share["source"]
        return found


@cache
def devices() -> Mapping[str, Any]:
    """Return the table of devices: `cpu` and `gpu` by kind, and what is known about the encoder on them."""
    table: dict[str, Any] = yaml_of((files("edos_dataset.planning") / "devices.yaml").read_text(encoding="utf-8"))
    return table


def load_cluster(name: str) -> Cluster:
    """Return a cluster: this machine ("here"), a built-in one, or that of a YAML file.

    Raises:
        ClusterError: no cluster has that name, or the file is invalid; the message names the place and, for an
            unknown key, the nearest known one.
    """
    if name == HERE:
        return this_machine()
    if name in CLUSTERS:
        text = (files("edos_dataset.planning") / "clusters" / f"{name}.yaml").read_text(encoding="utf-8")
        return cluster_of(yaml_of(text), name)
    path = Path(name)
    if not path.suffix and not path.exists():
        raise ClusterError(f"no machines are named {name!r}{nearest(name, (HERE, *CLUSTERS))}; or give a YAML file")
    try:
        return cluster_of(read_yaml(path), str(path))
    except UntrustedInputError as error:
        raise ClusterError(f"cannot read the machines {path}: {error}") from error


def this_machine() -> Cluster:
    """Return the machine that this process runs on."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIB if hasattr(os, "sysconf") else 8.0
    disk = shutil.disk_usage(Path.cwd()).free / GIB
    return Cluster(HERE, (Machine(HERE, available_cores(), round(memory, 1), disk_gib=round(disk, 1)),))


def cluster_of(content: object, where: str) -> Cluster:
    """Return the cluster described by plain data; `where` is its name, also in messages.

    Raises:
        ClusterError: the data do not describe a cluster.
    """
    if not isinstance(content, dict) or not isinstance(content.get("machines"), list) or not content["machines"]:
        raise ClusterError(f"{where} describes no machines: expected a key 'machines' with a list of kinds of machines")
    kinds = []
    for number, entry in enumerate(content["machines"], 1):
        place = f"{where}, machines {number}"
        if not isinstance(entry, dict):
            raise ClusterError(f"{place}: expected `key: value` pairs, got {shown(entry)}")
        kinds.append(_checked(_build(Machine, entry, place), place))
    if len({kind.name for kind in kinds}) < len(kinds):
        raise ClusterError(f"{where}: two kinds of machines have one name: give each its own")
    cluster = _build(Cluster, {**content, "name": Path(where).stem, "machines": tuple(kinds)}, where)
    _check_ranges(cluster, where, {"stragglers": (0, 1), "slowdown": (1, _MOST)})
    return cluster


def as_data(cluster: Cluster) -> dict[str, Any]:
    """Return a cluster as plain data."""
    return {**asdict(cluster), "machines": [asdict(kind) for kind in cluster.machines]}


C = TypeVar("C", Machine, Cluster)


def _build(kind: type[C], given: Mapping[Any, Any], where: str) -> C:
    known = {entry.name: entry for entry in fields(kind)}
    for key in given:
        if key not in known:
            raise ClusterError(f"{where}: unknown key {shown(key)}{nearest(str(key), list(known))}")
    if lacking := [name for name, entry in known.items() if entry.default is MISSING and name not in given]:
        raise ClusterError(f"{where}: the key {lacking[0]!r} is missing, which every machine needs")
    return kind(**{key: _typed(value, str(known[key].type), f"{where}: {key}") for key, value in given.items()})


def _typed(value: object, annotation: str, where: str) -> Any:  # noqa: ANN401
    """Return a value if it has the annotated type; an integer may stand for a float."""
    if value is None and "None" in annotation:
        return None
    wanted = next((kind for kind in (int, float, str) if kind.__name__ in annotation), tuple)
    if wanted is float and type(value) is int:
        return float(value)
    if type(value) is not wanted:
        raise ClusterError(f"{where} must be of type {wanted.__name__}, got {shown(value)}")
    return value


def _checked(machine: Machine, where: str) -> Machine:
    """Return a machine after checking its numbers and devices."""
    whole = {"cores": (1, _MOST), "count": (1, _MOST), "gpus": (0, _MOST)}
    _check_ranges(machine, where, {**whole, "memory_gib": (0.1, _MOST), "speed": (1e-3, _MOST)})
    names = ("disk_gib", "price", "failures", "start_minutes")
    _check_ranges(machine, where, {**dict.fromkeys(names, (0, _MOST)), "gpu_speed": (1e-3, _MOST)})
    for key, name in (("cpu", machine.cpu), ("gpu", machine.gpu)):
        if name is not None and name not in devices()[key]:
            raise ClusterError(f"{where}: unknown {key} {shown(name)}{nearest(name, list(devices()[key]))}")
    if machine.gpus and machine.gpu is None and machine.gpu_speed is None:
        raise ClusterError(
            f"{where}: {counted(machine.gpus, 'gpus')} of an unknown kind: give `gpu`, or `gpu_speed` in cores"
        )
    if machine.gpu is not None and not machine.gpus:
        raise ClusterError(f"{where}: `gpu: {machine.gpu}` without `gpus`, their number")
    return machine


def _check_ranges(thing: Machine | Cluster, where: str, ranges: Mapping[str, tuple[float, float]]) -> None:
    for key, (least, most) in ranges.items():
        value = getattr(thing, key)
        if value is not None and not least <= value <= most:  # nan, too
            raise ClusterError(f"{where}: {key} must be from {least:,} to {most:,}, got {shown(value)}")
