"""Samples made up for tests of plans: every shard takes a given time."""

from edos_dataset.planning.sample import Keys, Observed, Output, PhaseCost, RoundCost, Sample, StageCost


def observed(shards, size, a_shard=0.0, a_sentence=0.001, of_gpu=0.002, most=None):
    """A run of three phases: `clean` on cores, `label` on what a GPU would do, `select`, a step without rounds."""
    names = [f"{number:05d}" for number in range(shards)]
    total = shards * size
    core, gpu = a_shard + a_sentence * size, a_shard + of_gpu * size
    per = {"clean": core, "label": gpu}
    phases = []
    for number, (stage, unit) in enumerate([("clean", "sentences"), ("label", "turns"), ("select", "dialogues")]):
        read = {"sentences": total, "turns": total // 2, "dialogues": total // 4}[unit]
        cost = StageCost(stage, unit, read, read, shards * per.get(stage, 0), stage == "label", None)
        if stage == "select":
            cost = StageCost(stage, unit, read, min(read, most or read), 0.0, False, most)
        rounds = (RoundCost("count", True, 0.0), RoundCost("rank", False, 0.0)) if stage == "label" else ()
        step = stage if stage == "select" else "cap" if rounds else ""
        name = f"{number + 1:02d}-{stage}"
        phases.append(PhaseCost(name, step, rounds, Keys(), (cost,), 0.0, tuple(names), 0.0, 1000, 10 * total, ()))
    phases[-1] = PhaseCost(**{**vars(phases[-1]), "outputs": ("edos",)})
    sentences = dict.fromkeys(names, size)
    return Observed(sentences, shards, tuple(phases), (Output("edos", 0.0001 * total, 2 * total, 2 * total),))


def sample(start=0.0, opening=0.0, **more):
    """A sample of eight films with a thousand sentences each, in shards of one and of two."""
    few, many = observed(8, 1000, **more), observed(4, 2000, **more)
    many = Observed(many.sentences, 8, many.phases, many.outputs)
    return Sample(8, 8, 8_000_000, few, many, 0.0, opening, start, 1 << 28, 1 << 29, 0.0)
