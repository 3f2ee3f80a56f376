"""The verbs `inspect` and `rejects`: what a dataset contains, and what its run rejected."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from edos_dataset.commands.options import Result, verb
from edos_dataset.commands.progress import Say, steps
from edos_dataset.label_sets import DEFAULT, LabelSet, label_set_of
from edos_dataset.publishing.inspection import (
    Wanted,
    draw,
    folder_facts,
    kept_rejects,
    label_set_in,
    random_dialogues,
    reasons_of,
    rejected_units,
)
from edos_dataset.releases.load import load
from edos_dataset.runs.manifest import read_manifest
from edos_dataset.runs.stores.paths import place_of
from edos_dataset.schema import meaning
from edos_dataset.wording import counted

_ON_THE_HUB = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)


@verb
def inspect(
    source: str | Path,
    dialogues: int = 3,
    *,
    config: str | None = None,
    label: str | Sequence[str] = (),
    min_confidence: float | None = None,
    max_confidence: float | None = None,
    min_certainty: float | None = None,
    max_certainty: float | None = None,
    seed: int | None = None,
    revision: str | None = None,
    progress: bool | Say | None = None,
) -> Result:
    """Describe a dataset: its configs, the stages of its run, and a few random dialogues.

    A dialogue is drawn only if one of its turns satisfies all of `label`, `min_confidence` and `max_confidence`, and
    the dialogue itself satisfies `min_certainty` and `max_certainty`.

    Args:
        source: folder written by this package, or a dataset on the Hub, "NAMESPACE/NAME".
        dialogues: number of random dialogues.
        config: config to draw from; by default the dataset's default one.
        label: label, or labels of which one is enough, that a turn must have.
        min_confidence: minimum confidence of a turn's label, 0 to 1.
        max_confidence: maximum confidence of a turn's label, 0 to 1.
        min_certainty: minimum probability that the dialogue has no error, 0 to 1.
        max_certainty: maximum probability that the dialogue has no error, 0 to 1.
        seed: random seed; by default other dialogues each time.
        revision: tag, branch or commit of the dataset on the Hub.
        progress: whether to show progress, by default in terminals and notebooks; or a callback.

    Returns:
        For the folder of a run its manifest, for other datasets `configs` with their splits; with the drawn
        `dialogues`, and the `label_set` if it is not that of EDOS.

    Raises:
        ValueError: the source is not a dataset or is damaged, or has no such config or label.
    """
    named = [label] if isinstance(label, str) else label

    def wanted_of(labels: LabelSet) -> Wanted:
        ids = tuple(map(labels.parse, named))
        return Wanted(ids, min_confidence, max_confidence, min_certainty, max_certainty)

    folder, random = place_of(source), Random(seed)
    if not folder.exists() and _ON_THE_HUB.fullmatch(str(source)):
        with steps(progress, f"loading {source}", lines=False):
            facts, drawn = _of_the_hub(str(source), config, revision, dialogues, random, wanted_of)
    elif revision is not None:
        raise ValueError(f"--revision is for a data set of the Hub, and {source} is none: leave it out")
    else:
        facts = folder_facts(folder)
        labels = label_set_in(folder, facts, config)
        facts = {**facts, **_named(labels)}
        drawn = random_dialogues(folder, facts, dialogues, config, random, wanted_of(labels))
    sizes = {name: counted(sum(row["splits"].values()), "dialogues") for name, row in facts["configs"].items()}
    return Result(f"inspect {source}", {**facts, "dialogues": drawn}, None, sizes)


def _named(labels: LabelSet) -> dict[str, Any]:
    """Return the label set of the drawn dialogues as a fact; nothing for that of EDOS."""
    return {} if labels.name == DEFAULT else {"label_set": labels.as_dict()}


def _of_the_hub(
    name: str,
    config: str | None,
    revision: str | None,
    number: int,
    random: Random,
    wanted_of: Callable[[LabelSet], Wanted],
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    from datasets import get_dataset_config_names, get_dataset_default_config_name

    try:
        names = get_dataset_config_names(name, revision=revision)
        chosen = config or get_dataset_default_config_name(name, revision=revision) or names[0]
        parts = load(name, chosen, revision=revision)
    except Exception as error:  # of the Hub, the network, and untrusted files
        raise ValueError(
            f"{name} is neither a folder here nor a data set that the Hub gave ({error}); check --config and --revision"
        ) from error
    columns = next(iter(parts.values())).features
    if "turns" not in columns or "dialogue_id" not in columns:
        raise ValueError(f"{name}, config {chosen}, holds no dialogues of ours: its columns are {', '.join(columns)}")

    def tables() -> Iterator[Any]:
        for part in parts.values():
            yield from part.with_format("arrow").iter(1_000)

    splits = {split: len(part) for split, part in parts.items()}
    facts: dict[str, Any] = {"source": name, "revision": revision, "config": chosen, "names": names}
    labels = label_set_of(columns.arrow_schema)
    facts |= {"configs": {chosen: {"splits": splits}}, **_named(labels)}
    return facts, draw(tables, number, random, wanted_of(labels), sum(splits.values()))


@verb
def rejects(
    run: str | Path,
    *,
    reason: str | None = None,
    stage: str | None = None,
    limit: int = 20,
) -> Result:
    """Return what a run rejected, and why.

    Args:
        run: folder written by `curate` or `books`.
        reason: return the texts rejected for this reason, such as "repetitive", if the run kept them (`keep_rejects`).
        stage: return the texts rejected by this stage, such as "clean".
        limit: maximum number of texts.

    Returns:
        `reasons`: stage, unit, reason, count and meaning of each. Without `reason` and `stage` also `quarantined`, the
        files that could not be read, `left_out`, the readable files that were rejected, as in the manifest, with the
        path of the one `kept` instead, and `skipped`, the files that were not read; otherwise `kept`, whether the run
        kept rejected texts, and `rejects`, the texts.

    Raises:
        ValueError: the folder is not a finished run, or nothing was rejected for that reason or by that stage; the
            message lists what was.
    """
    run = place_of(run)
    manifest = read_manifest(run)
    reasons = reasons_of(manifest)
    quarantined = manifest.get("quarantined", [])
    left_out = manifest.get("left_out", [])  # absent from manifests of earlier versions
    shown = {f"{row['stage']}: {row['reason']}": row["count"] for row in reasons}
    if reason is None and stage is None:
        skipped = manifest["input"].get("skipped", [])
        facts = {"reasons": reasons, "quarantined": quarantined, "left_out": left_out, "skipped": skipped}
        return Result(f"rejects of {run}", facts, None, shown)
    chosen = _chosen(reasons, quarantined, reason, stage)
    paths = kept_rejects(run, manifest)
    named = [*quarantined, *left_out]
    units = rejected_units(paths, manifest, reason, stage) if paths else _named_files(named, reason, stage)
    facts = {"reasons": chosen, "kept": bool(paths), "rejects": list(islice(units, limit))}
    return Result(
        f"rejects of {run}", facts, None, {f"{row['stage']}: {row['reason']}": row["count"] for row in chosen}
    )


def _chosen(
    reasons: Sequence[Mapping[str, Any]],
    quarantined: Sequence[Mapping[str, Any]],
    reason: str | None,
    stage: str | None,
) -> list[dict[str, Any]]:
    """Return the entries of `reasons` for a reason and stage; raise ValueError if there are none."""
    chosen = [dict(row) for row in reasons if reason in (None, row["reason"]) and stage in (None, row["stage"])]
    if not chosen and stage is None and (count := sum(note.get("reason") == reason for note in quarantined)):
        chosen = [{"stage": None, "unit": "files", "reason": reason, "count": count, "meaning": meaning(str(reason))}]
    if not chosen:
        asked = " and ".join(f"{name} {value!r}" for name, value in (("reason", reason), ("stage", stage)) if value)
        there = ", ".join(dict.fromkeys(f"{row['stage']} {row['reason']}" for row in reasons)) or "nothing"
        raise ValueError(f"nothing was dropped with the {asked}; what was dropped (stage, reason): {there}")
    return chosen


def _named_files(files: Iterable[Mapping[str, Any]], reason: str | None, stage: str | None) -> Iterator[dict[str, Any]]:
    """Yield the rejected files of a run that kept no rejects; these at least are listed in its manifest."""
    for note in files:
        of = note.get("stage", "read")
        if "path" in note and stage in (None, of) and reason in (None, note["reason"]):
            facts = {"stage": of, "reason": note["reason"], "document": None, "path": note["path"]}
            yield {**facts, "detail": note["detail"], "kept": note.get("kept"), "texts": []}
