"""Models at an endpoint in a run: which stages use one, what that needs beforehand, and what it needed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from edos_dataset.arrays import unnest
from edos_dataset.commands.progress import warn
from edos_dataset.labeling.models.endpoint.cache import Usage
from edos_dataset.labeling.models.endpoint.labeler import EndpointLabeler, Need
from edos_dataset.labeling.models.endpoint.settings import PREFIX, Endpoint
from edos_dataset.labeling.selection import SelectDialogues
from edos_dataset.labeling.stages import UNANSWERED, AnnotateDialogues, LabelTurns, dialogues_of
from edos_dataset.runs.engines import launched
from edos_dataset.runs.fingerprints import hash_json
from edos_dataset.runs.stores.paths import RemotePath, place_of
from edos_dataset.wording import counted

I = TypeVar("I")  # noqa: E741 - a stage, a step or an output


_ASKED = ("history", "multi_label", "base_url", "api_key_env", "concurrency", "timeout", "price_in", "price_out")


def asked_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return those arguments of a verb, given as its `locals()`, that say what models see and give and where an
    endpoint is: those of `at_endpoint`.
    """
    return {name: given[name] for name in _ASKED}


def at_endpoint(
    pipeline: Iterable[I],
    history: int | None = None,
    multi_label: bool = False,
    run: str | None = None,
    **given: Any,  # noqa: ANN401
) -> list[I]:
    """Return a pipeline whose stages know where the models named `openai:MODEL` are, and what they are to see and give.

    Args:
        pipeline: stages, corpus steps and outputs.
        history: earlier turns that the model that labels in context sees; None for what it does by itself. Whether it
            leaves that open shows when the model is loaded.
        multi_label: whether models at an endpoint give a turn several labels.
        run: as of `shared_run`.
        given: fields of `Endpoint`; None for its default.

    Raises:
        ValueError: something is given though no stage heeds it, or it is impossible.
    """
    known = {name: value for name, value in given.items() if value is not None}
    items = list(pipeline)
    _check_acting(items, [*known, *["multi_label"] * multi_label], history)
    several = {"multi_label": True} if multi_label else {}
    endpoint = Endpoint(**known) if any(map(_asks, items)) else None
    if endpoint is not None and run is not None:
        endpoint = replace(endpoint, run=run)
    items = [_changed(item, endpoint=endpoint, **several) if _asks(item) else item for item in items]
    if history is None:
        return items
    return [_changed(item, history=history) if isinstance(item, AnnotateDialogues) else item for item in items]


def shared_run(out: str | Path | None, shard: str | None = None) -> str | None:
    """Return the name under which the requests of a run are counted if processes make it that share only its output:
    the tasks of an array job, or launched ones. None for any other run, which names itself.
    """
    if out is None or not (shard or launched()):
        return None
    place = place_of(out)
    return hash_json([str(place if isinstance(place, RemotePath) else place.resolve())])


def _check_acting(items: Sequence[object], given: Sequence[str], history: int | None) -> None:
    """Refuse options that no stage heeds."""
    if given and not any(map(_asks, items)):
        option = given[0].replace("_", "-")
        raise ValueError(f"--{option} is for models at an endpoint: give --model {PREFIX}MODEL, or leave it out")
    if history is not None and not any(isinstance(item, AnnotateDialogues) for item in items):
        raise ValueError("--history is for models that label turns in context, of which there is none: leave it out")


def _changed(item: I, **fields: Any) -> I:  # noqa: ANN401
    changed: I = replace(item, **fields)  # type: ignore[type-var]
    return changed


def warn_of_absence(pipeline: Iterable[object]) -> None:
    """Warn of endpoints at which no server listens, before a run gets to the turns that it does not know yet."""
    for problem in {labeler.absence(): None for labeler in labelers_of(pipeline)}:
        if problem is not None:
            warn(f"{problem}; without it only turns that it answered before can be labelled")


def shared_among(pipeline: Iterable[I], workers: int) -> list[I]:
    """Return a pipeline whose requests at a time are those of all workers together."""
    return [_shared(item, workers) for item in pipeline]


def _shared(item: I, workers: int) -> I:
    if not (isinstance(item, LabelTurns) and item.endpoint is not None and workers > 1):
        return item
    return _changed(item, endpoint=replace(item.endpoint, concurrency=max(1, item.endpoint.concurrency // workers)))


def without_endpoints(pipeline: Iterable[I]) -> list[I]:
    """Return the items of a pipeline that ask no endpoint."""
    return [item for item in pipeline if not _asks(item)]


def _asks(item: object) -> bool:
    return isinstance(item, LabelTurns) and item.model.startswith(PREFIX)


def labelers_of(pipeline: Iterable[object]) -> list[EndpointLabeler]:
    """Return the labelers of a pipeline that ask an endpoint."""
    found = [item.labeler for item in pipeline if isinstance(item, LabelTurns) and _asks(item)]
    return [labeler for labeler in found if isinstance(labeler, EndpointLabeler)]


def needed(stage: LabelTurns, tables: Iterable[pa.Table]) -> dict[str, Any]:
    """Return what labelling tables of dialogues would need: `dialogues`, `turns`, `requests`, of which `cached` are
    answered already, the estimated `tokens_in` and `tokens_out` of the others, and their `cost`, null if no price is
    given. Nothing is asked.
    """
    [labeler] = labelers_of([stage])
    dialogues: list[list[str]] = []
    for table in tables:
        turns, offsets = unnest(table, "turns")
        dialogues += dialogues_of(turns.field("text"), offsets)
    need = labeler.need(dialogues)
    return {"dialogues": len(dialogues), **as_facts(need, labeler.endpoint)}


def as_facts(need: Need | Usage, endpoint: Endpoint) -> dict[str, Any]:
    """Return numbers of requests and tokens with their cost."""
    return {**vars(need), "cost": endpoint.cost(need.tokens_in, need.tokens_out)}


def needed_for_all(pipeline: Sequence[object], table: pa.Table, scale: float) -> dict[str, Any] | None:
    """Return what the models at endpoints need for a corpus, as `needed` does, by some of its dialogues; None if there
    are none.

    Args:
        pipeline: stages, corpus steps and outputs.
        table: some dialogues.
        scale: how many times as many dialogues there are.
    """
    total, labelers = Need(), []
    for item in pipeline:
        if isinstance(item, SelectDialogues) and table.num_rows:
            scale = min(scale, item.top / table.num_rows)
        if isinstance(item, LabelTurns) and (found := labelers_of([item])):
            labelers += found
            turns, offsets = unnest(table, "turns")
            need = found[0].need(dialogues_of(turns.field("text"), offsets))
            total += Need(*(round(scale * number) for number in astuple(need)))
    return as_facts(total, labelers[0].endpoint) if labelers else None


def used(pipeline: Sequence[object], unanswered: int) -> dict[str, Any] | None:
    """Return what a run that has ended needed at endpoints, in all of its processes: `requests`, `cached`, `tokens_in`,
    `tokens_out`, `cost`, and how many turns are `unanswered`; None if it has no model there.
    """
    labelers = labelers_of(pipeline)
    if not labelers:
        return None
    distinct = {str(labeler._answers.path): labeler for labeler in labelers}.values()
    total = sum((labeler.final_usage() for labeler in distinct), Usage())
    return {**as_facts(total, labelers[0].endpoint), "unanswered": unanswered}


def unanswered_in(stages: Iterable[Mapping[str, Any]]) -> int:
    """Return how many turns have no label, by the tallies of a manifest's stages."""
    return sum(stage["tally"].get(UNANSWERED, 0) for stage in stages)


def lines_of_need(need: Mapping[str, Any]) -> list[str]:
    """Return what a dry run prints."""
    left = need["requests"] - need["cached"]
    return [
        f"{counted(need['turns'], 'turns')}: {counted(need['requests'], 'requests')}, {need['cached']:,} "
        f"answered before, {left:,} to send",
        f"about {counted(need['tokens_in'], 'tokens')} of prompts and {need['tokens_out']:,} of answers{_price(need)}",
    ]


def line_of_usage(usage: Mapping[str, Any]) -> str:
    """Return what a run prints at its end."""
    tokens = f"{counted(usage['tokens_in'], 'tokens')} in, {counted(usage['tokens_out'], 'tokens')} out{_price(usage)}"
    return (
        f"{counted(usage['requests'], 'requests')}, {counted(usage['cached'], 'answers')} from the cache; {tokens}; "
        f"{counted(usage['unanswered'], 'turns')} without an answer"
    )


def _price(facts: Mapping[str, Any]) -> str:
    return "" if facts["cost"] is None else f", cost {facts['cost']:,.4f}"
