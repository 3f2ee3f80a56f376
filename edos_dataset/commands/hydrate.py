"""`edos hydrate`: the text of published labels, rebuilt from one's own copy of the subtitles.

The recipe that came with the labels is run again up to cleaned dialogues, but without its corpus steps: the cap of
frequent utterances, the removal of duplicates and the selection depend on all films that there were, and one may have
fewer, or more. They only shorten a dialogue at its end or leave it out, and never rename it, so the labelled dialogue
is the beginning of the one that the other stages make; how many turns it has, the labels say, and each turn is compared
with its hash (`publishing.attach`). Each labelled file is read as if it were its film's only one: the choice among the
files of a film was made when the labels were. So a film gives the same dialogues whatever lies beside it.
"""

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import unnest
from edos_dataset.commands.built_in import KNOWN
from edos_dataset.commands.corpus_runs import fingerprint_of
from edos_dataset.commands.curate import SHARD_SENTENCES, cut_films, language_of
from edos_dataset.commands.labels_only import labelling, text_stages
from edos_dataset.commands.renamed import labelled_films
from edos_dataset.publishing.attach import TEXT_DIFFERS, AttachLabels, PublishedLabels
from edos_dataset.publishing.cards.dataset import Origin
from edos_dataset.publishing.labels_only import MANIFEST, RECIPE
from edos_dataset.publishing.published import digests_of, holds, prepare_published, summary
from edos_dataset.publishing.split_as_labelled import SplitAsLabelled
from edos_dataset.runs.engines.by_name import engine_of
from edos_dataset.runs.folder import FolderError, check_whole
from edos_dataset.runs.foreign import json_of
from edos_dataset.runs.made_of import MadeOf, parameters_of
from edos_dataset.runs.manifest import Manifest, stage_entry, versions
from edos_dataset.runs.phases import check_order
from edos_dataset.runs.pipeline import Output, Stage, count_units
from edos_dataset.runs.recipes import Item, dump_recipe, load_recipe
from edos_dataset.runs.remote_folder import output_folder
from edos_dataset.runs.run import Progress, Run
from edos_dataset.runs.shards import read_shard, replacing
from edos_dataset.schema import TURN_LABEL_CONFIGS
from edos_dataset.segmentation.turns.scorers import SCORERS
from edos_dataset.segmentation.turns.stage import SegmentTurns
from edos_dataset.sources.contents import contents_of
from edos_dataset.sources.inventory import find_films
from edos_dataset.text import hash64

MISSING = "missing.jsonl"
MAX_MISSING = 0.01
"""Share of dialogues or documents that may be missing without ado."""
NO_DOCUMENT, UNREAD, NO_DIALOGUE = "document_not_found", "document_not_read", "dialogue_not_found"
"""Reasons beside TEXT_DIFFERS: the file is not among the sources; it could not be read; no dialogue of it begins with
that sentence.
"""


def hydrate(
    labels: Path,
    sources: Sequence[Path],
    out: Path,
    *,
    workers: int = 1,
    engine: str = "local",
    shard_sentences: int = SHARD_SENTENCES,
    max_missing: float = MAX_MISSING,
    force: bool = False,
    progress: Progress = lambda *_: None,
) -> dict[str, Any] | None:
    """Rebuild the labelled config of which `labels` holds the labels, and write it in the published layout; what is
    missing goes to `missing.jsonl`.

    A dialogue of which any turn differs is left out and listed with the numbers of these turns. Memory: that of a run
    (`runs`), what `PublishedLabels` states, 8 bytes a dialogue found, and an entry for each of which the text differs.

    Args:
        labels: a folder that `edos labels-only` wrote, or a copy of it.
        sources: files, folders and zip archives of subtitles.
        out: a new or empty folder, or one that this function wrote. The run itself lies in `out/.run`.
        workers: processes.
        engine: where they run (`runs.engines.base`).
        shard_sentences: sentences a shard.
        max_missing: share of the labelled documents, 0 to 1; if more are not there by name, the files that have no
            labels are read, too, and told by what is said in them (`commands.renamed`).
        force: replace a finished hydration by one of other labels or input, and files that were edited since.
        progress: called after each shard.

    Returns:
        The manifest, as written to `out/manifest.json`: as of `curate.curate`, and `labels` (what the labels' own
            manifest says), `missing` (`dialogues`:
        how many there are in all, `found`, and `reasons`: reason → dialogues) and `identical` (file → whether it is
            byte for byte that of the run that
        the labels are from).

    Raises:
        FolderError: `labels` holds none, `out` holds something else, or another run is at work in it.
        ValueError: the recipe or a source cannot be used.
        OSError: a file could not be written; the same call goes on where it stopped.
        WorkerDied: a worker was killed; likewise.
    """
    began, crew = time.perf_counter(), engine_of(engine, workers)
    facts, published, recipe = read_facts(labels), PublishedLabels(labels), load_recipe(labels / RECIPE, KNOWN)
    stages, makers = text_stages(recipe), [*text_stages(recipe), *labelling(recipe, shipped_only=True)]
    check_order(recipe)
    _check_scorers(stages, labels)
    inventory = find_films(sources, language_of(stages))
    attach = [kind(str(labels.resolve()), published.content) for kind in (SplitAsLabelled, AttachLabels)]
    pipeline: list[Item] = [*stages, *attach, Output(facts["config"])]
    parameters = parameters_of(stages) | {"content of the labels": published.content}
    with output_folder(out, "hydrate", crew.leads, force) as folder, crew:
        search, run = (Run(place, crew, progress=progress) for place in (folder.run / "search", folder.run))
        films, renamed = labelled_films(inventory.films, published, max_missing, search, stages, shard_sentences)
        made_of = MadeOf(parameters, {"films": contents_of(films)}, fingerprint_of(pipeline))
        made_of.check(folder)
        outputs = run.execute(cut_films(films, shard_sentences), pipeline)
        if not crew.leads:
            return None
        inputs, made_by = {"films": films.num_rows, "files": count_units(films, "files")}, str(facts.get("fingerprint"))
        origin = Origin("edos hydrate LABELS SUBTITLES --out edos", made_by, versions(), inputs=inputs)
        configs = prepare_published(folder, outputs, language_of(stages), makers, run.counts, origin, crew)
        missing = _missing(published, ids_of(outputs[facts["config"]]), films, run.notes)
        manifest = Manifest(
            recipe=dump_recipe([*stages, Output(facts["config"])], published=True),
            labels=facts,
            input=inventory.facts() | inputs,
            remarks=[f"{renamed:,} documents have other names here: found by what they say"] if renamed else None,
            stages=[stage_entry(count) for count in run.counts],
            quarantined=[*inventory.quarantined, *_unread(run.notes)],
            configs={written.config: summary(written) for written in configs},
            missing=_write_missing(folder.prepared / MISSING, missing, published.dialogues),
            identical={name: digests_of(configs).get(name) == known for name, known in facts["files"].items()},
            shards={"total": sum(map(len, outputs.values())), "made_now": run.made},
            workers=workers,
            seconds=round(time.perf_counter() - began, 2),
        ).write(folder.prepared)
        made_of.write(folder, holds(inputs["films"], configs))
        folder.commit()
        return manifest


def _unread(notes: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return those notes of a run that tell of files which could not be read."""
    return [note for note in notes if note["reason"] != TEXT_DIFFERS]


def _check_scorers(stages: Sequence[Stage], labels: Path) -> None:
    """Refuse a recipe that came with labels of others and names a model that is not one of this package: none is read,
    nor fetched.
    """
    for stage in stages:
        if isinstance(stage, SegmentTurns) and stage.scorer not in SCORERS:
            raise ValueError(
                f"{labels / RECIPE} finds turns by weights in {stage.scorer!r}, which is a folder of its maker's: "
                f"models that others name are not read; only labels made by {', '.join(SCORERS)} can be hydrated"
            )


def read_facts(labels: Path) -> dict[str, Any]:
    """Return the manifest of labels without text.

    Raises:
        FolderError: there is none, or it is damaged or unfinished.
    """
    path = labels / MANIFEST
    check_whole(labels)
    try:
        facts: dict[str, Any] = json_of(path.read_bytes())
        if facts["config"] in TURN_LABEL_CONFIGS and {"files", "dialogues", "label_sources"} <= facts.keys():
            return facts
    except OSError as error:
        raise FolderError(
            f"cannot read {path} ({error.strerror}): give a folder that `edos labels-only` wrote, with all of its files"
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    raise FolderError(f"{path} is not the manifest of `edos labels-only`, or damaged: fetch it again")


def ids_of(shards: Sequence[Path]) -> np.ndarray:
    """Return the hashes of the dialogue ids of some shards, sorted."""
    ids = [
        hash64(text.encode())
        for shard in shards
        for text in read_shard(shard, ["dialogue_id"])["dialogue_id"].to_pylist()
    ]
    return np.sort(np.array(ids, np.uint64))


def _missing(
    published: PublishedLabels, hydrated: np.ndarray, films: pa.Table, notes: Sequence[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Yield an entry for each labelled dialogue that was not found, in the order of the labels."""
    differing = {note["dialogue_id"]: note["turns"] for note in notes if note["reason"] == TEXT_DIFFERS}
    quarantined = {note["path"] for note in _unread(notes)}
    files, _ = unnest(films, "files")
    documents, paths = files.field("document_id").to_pylist(), files.field("path").to_pylist()
    there = set(documents)
    unread = {document for document, path in zip(documents, paths, strict=True) if path in quarantined}
    for split, table in published.pieces():
        ids = table["dialogue_id"].to_pylist()
        rows = np.flatnonzero(~np.isin(np.array([hash64(text.encode()) for text in ids], np.uint64), hydrated))
        for row in rows.tolist():
            document = table["document_id"][row].as_py()
            entry = {"dialogue_id": ids[row], "document_id": document, "split": split}
            if ids[row] in differing:
                yield {**entry, "reason": TEXT_DIFFERS, "turns": differing[ids[row]]}
            else:
                reason = NO_DOCUMENT if document not in there else UNREAD if document in unread else NO_DIALOGUE
                yield {**entry, "reason": reason}


def _write_missing(path: Path, entries: Iterator[dict[str, Any]], dialogues: int) -> dict[str, Any]:
    reasons: Counter[str] = Counter()
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        for entry in entries:
            reasons[entry["reason"]] += 1
            file.write(json.dumps(entry, ensure_ascii=False) + "\n")
    return {"dialogues": dialogues, "found": dialogues - reasons.total(), "reasons": dict(sorted(reasons.items()))}


def missing_share(manifest: Mapping[str, Any]) -> float:
    """Return the share of the labelled dialogues that were not found, 0 to 1."""
    return float(1 - manifest["missing"]["found"] / max(manifest["missing"]["dialogues"], 1))
