"""The estimate checked: the run simulated, with shards that take what shards of the sample took."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from edos_dataset.planning.estimates import Workers, takers, workers_of
from edos_dataset.planning.machines import Cluster
from edos_dataset.planning.sample import Sample
from edos_dataset.planning.simulation import Crew, Outcome, Round, simulate
from edos_dataset.planning.work import PhaseWork, Piece

PERCENTILES = (5, 50, 95)


def replay(
    cluster: Cluster, phases: Sequence[PhaseWork], alone: Sequence[Piece], sample: Sample, times: int, seed: int
) -> dict[str, Any]:
    """Simulate a run several times and return what came of it.

    Each time draws the shards of the sample anew, so the percentiles hold what so small a sample leaves open, and then
    for every task as many of these as have the sentences of a shard.

    Args:
        cluster: the machines.
        phases: the work.
        alone: what the leader does at the beginning (the first), and what is published at the end.
        sample: what was measured.
        times: simulations, from 1.
        seed: of all that is drawn.

    Raises:
        ValueError: machines fail so often that the run never ends.
    """
    workers = workers_of(cluster, max(phase.memory for phase in phases))
    crews = [
        Crew(
            one.machine.count,
            one.each,
            one.machine.failures / 3600,
            one.machine.start_minutes * 60 + sample.start / one.machine.core_speed,
        )
        for one in workers
    ]
    found: list[Outcome] = []
    for number in range(times):
        generator = np.random.default_rng([seed, number])
        rounds = _rounds(cluster, workers, phases, alone, sample, max(crew.start for crew in crews), generator)
        found.append(simulate(rounds, crews, generator))
    hours = [outcome.seconds / 3600 for outcome in found]
    return {
        "times": times,
        "seed": seed,
        "hours": {f"p{percent}": round(float(np.percentile(hours, percent)), 4) for percent in PERCENTILES},
        "money": round(float(np.percentile(hours, 50)) * cluster.price, 2),
        "utilisation": round(float(np.mean([outcome.utilisation for outcome in found])), 4),
        "retries": round(float(np.mean([outcome.retries for outcome in found])), 1),
        "lost": round(float(np.mean([outcome.lost / max(outcome.lost + outcome.busy, 1e-9) for outcome in found])), 4),
    }


def _rounds(
    cluster: Cluster,
    workers: Sequence[Workers],
    phases: Sequence[PhaseWork],
    alone: Sequence[Piece],
    sample: Sample,
    start: float,
    generator: np.random.Generator,
) -> list[Round]:
    """Draw the tasks of a run."""
    shards = list(sample.many.sentences)
    pool = [shards[place] for place in generator.integers(len(shards), size=len(shards))]
    speed = workers[0].machine.core_speed
    nothing = tuple(np.zeros(0) for _ in workers)
    first, *publishing = alone
    rounds = [Round(first.stage, nothing, start + first.core / speed)]  # the leader starts as the others do
    for place, phase in enumerate(phases):
        before = sum(piece.core for piece in phase.pieces if piece.how == "leader") / speed
        fused = [piece for piece in phase.pieces if piece.fused]
        for piece in (piece for piece in phase.pieces if piece.how != "leader" and not piece.fused):
            rounds.append(Round(phase.name, _evenly(cluster, workers, piece, generator), before))
            before = 0.0
        core, gpu = sum(piece.core for piece in fused), sum(piece.gpu for piece in fused)
        larger = phases[0].sentences / fused[0].tasks * len(shards) / sample.many.total
        drawn = _drawn(sample, place, pool, (fused[0].tasks, max(1, round(larger))), generator)
        each = [total / len(drawn) * drawn for total in (core, gpu)]
        rounds.append(Round(phase.name, _on(cluster, workers, each[0], each[1], generator), before))
    return [*rounds, *(Round(piece.stage, _evenly(cluster, workers, piece, generator)) for piece in publishing)]


def _drawn(
    sample: Sample, place: int, pool: Sequence[str], size: tuple[int, int], generator: np.random.Generator
) -> np.ndarray:
    """Return what shards of a phase take beside the mean of the sample's.

    Args:
        sample: what was measured.
        place: of the phase.
        pool: names of the shards to draw from.
        size: shards that are wanted, and shards of the sample that one of them is as large as.
        generator: of the draw.
    """
    costs = sample.many.phases[place].shards
    each = np.array([[sum(costs[name]), sample.many.sentences[name]] for name in pool])
    rate = sum(map(sum, costs.values())) / sample.many.total
    picked = each[generator.integers(len(pool), size=size)].sum(axis=1)
    drawn: np.ndarray = picked[:, 0] / np.maximum(picked[:, 1], 1) / max(rate, 1e-12)
    return drawn


def _evenly(
    cluster: Cluster, workers: Sequence[Workers], piece: Piece, generator: np.random.Generator
) -> tuple[np.ndarray | None, ...]:
    """Return the tasks of a piece, of which one takes as long as another, as each crew takes them."""
    even = np.full(piece.tasks, piece.core / piece.tasks)
    return _on(cluster, workers, even, even * 0, generator)


def _on(
    cluster: Cluster, workers: Sequence[Workers], core: np.ndarray, gpu: np.ndarray, generator: np.random.Generator
) -> tuple[np.ndarray | None, ...]:
    """Return tasks as each crew takes them, some of them stragglers."""
    of = takers(workers, float(gpu.sum()))
    slow = np.where(generator.random(len(core)) < cluster.stragglers, cluster.slowdown, 1.0)
    return tuple(
        (core / one.machine.core_speed + gpu * one.gpu) * slow if any(one is other for other in of) else None
        for one in workers
    )
