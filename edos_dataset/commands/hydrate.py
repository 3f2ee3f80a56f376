"""The verb `hydrate`: rebuilds the text of published labels from a copy of the subtitles.

The recipe of the labels is run again up to cleaned dialogues, but without its corpus steps: the cap of frequent
utterances, the removal of duplicates and the selection depend on all films of the original run, and the copy may have
fewer or more. These steps only shorten a dialogue at its end or drop it, and never rename it, so a labelled dialogue is
the beginning of the one made by the other stages. The labels state its number of turns, and each turn is compared with
its hash (`publishing.attach`). Each labelled file is read as if it were the only file of its film, because the original
run has already chosen among the files of a film; so a film gives the same dialogues whatever other files are present.
"""

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import nest, unnest
from edos_dataset.commands.corpus_runs import fingerprint_of, run_result
from edos_dataset.commands.curate import SHARD_SENTENCES, cut_films, language_of, paths, places
from edos_dataset.commands.labels_only import labelling, text_stages
from edos_dataset.commands.options import Result, RunOptions, run_options, verb
from edos_dataset.publishing.attach import TEXT_DIFFERS, AttachLabels, PublishedLabels, SplitAsLabelled, text_hash
from edos_dataset.publishing.cards.dataset import Origin
from edos_dataset.publishing.labels_only import MANIFEST, RECIPE
from edos_dataset.publishing.published import digests_of, holds, prepare_published, summary
from edos_dataset.recipes.subtitles import KNOWN
from edos_dataset.runs.arguments import check_apart
from edos_dataset.runs.folder import FolderError, check_whole
from edos_dataset.runs.manifest import Manifest, stage_entry, versions
from edos_dataset.runs.pipeline import Output, Stage, check_order, count_units
from edos_dataset.runs.provenance import Provenance, parameters_of
from edos_dataset.runs.recipes import Item, dump_recipe, load_recipe
from edos_dataset.runs.remote_folder import output_folder
from edos_dataset.runs.run import Run
from edos_dataset.runs.shards import read_shard, replacing
from edos_dataset.runs.stores.paths import place_of
from edos_dataset.runs.untrusted import json_of
from edos_dataset.schema import FILE, TURN_LABEL_CONFIGS
from edos_dataset.segmentation.turns.scorers import SCORERS
from edos_dataset.segmentation.turns.stage import SegmentTurns
from edos_dataset.sources.given import Source
from edos_dataset.sources.inventory import contents_of, find_films, with_contents
from edos_dataset.text import hash64
from edos_dataset.wording import counted

if TYPE_CHECKING:
    from edos_dataset.runs.run import Progress

MISSING = "missing.jsonl"
MAX_MISSING = 0.01
"""Maximum fraction of dialogues or documents that may be missing."""
NO_DOCUMENT, UNREAD, NO_DIALOGUE = "document_not_found", "document_not_read", "dialogue_not_found"
"""Reasons besides TEXT_DIFFERS: the file is not among the sources; it could not be read; none of its dialogues begins
with that sentence.
"""


@verb
def hydrate(
    labels: str | Path,
    sources: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    max_missing: float = MAX_MISSING,
    workers: int | None = 1,
    engine: str | None = None,
    address: str | None = None,
    force: bool = False,
    progress: "bool | Progress | None" = None,
    shard_sentences: int = SHARD_SENTENCES,
) -> Result:
    """Rebuild the text of published labels from your own copy of the subtitles, as `edos hydrate` does.

    The config is written in the published layout; missing dialogues are listed in `missing.jsonl`. A dialogue whose
    text differs is left out and listed with the numbers of the differing turns. Memory: that of a run (`runs`), what
    `PublishedLabels` states, 8 bytes per dialogue found, and an entry for each dialogue whose text differs.

    Args:
        labels: folder written by `labels_only`, or a copy of one.
        sources: files, folders and zip archives of subtitles, and patterns.
        out: output folder; an earlier hydration in it is updated. The shards of the run are kept in `out/.run`.
        max_missing: fraction of labelled documents, 0 to 1; if more of them are not found by name, the other files are
            also read and matched to them by text.
        workers: number of processes; None means one per core.
        engine: "local", "accelerate", "datasets" or "ray", as in `RunOptions`.
        address: address of the Ray cluster, for the engine "ray".
        force: replace a finished hydration of other labels or input, and files edited since.
        progress: whether to show progress, by default in terminals and notebooks; or a callback.
        shard_sentences: sentences per shard.

    Returns:
        The manifest, as written to `out/manifest.json`: that of `curate` with `labels` (the manifest of the labels),
        `missing` (the numbers of labelled `dialogues` and of those `found`, and `reasons`: reason → dialogues) and
        `identical` (file → whether it is byte-identical to that of the run that made the labels).

    Raises:
        FolderError: `labels` holds no labels, `out` holds something else, or another run is using it.
        ValueError: the recipe or a source cannot be used.
    """
    check_apart(out, [labels, *paths(sources)])
    with run_options(workers, engine, address=address, progress=progress, force=force) as options:
        return _hydrate(place_of(labels), places(sources), place_of(out), max_missing, options, shard_sentences)


def _hydrate(
    labels: Path, sources: Sequence[Source], out: Path, max_missing: float, options: RunOptions, shard_sentences: int
) -> Result:
    began, engine = time.perf_counter(), options.start_engine()
    facts, published, recipe = read_facts(labels), PublishedLabels(labels), load_recipe(labels / RECIPE, KNOWN)
    stages, makers = text_stages(recipe), [*text_stages(recipe), *labelling(recipe, shipped_only=True)]
    check_order(recipe)
    _check_scorers(stages, labels)
    inventory = find_films(sources, language_of(stages))
    attach = [kind(str(labels.resolve()), published.content) for kind in (SplitAsLabelled, AttachLabels)]
    pipeline: list[Item] = [*stages, *attach, Output(facts["config"])]
    parameters = parameters_of(stages) | {"content of the labels": published.content}
    with output_folder(out, "hydrate", engine.is_main, options.force) as folder, engine:
        search, run = (Run(place, engine, progress=options.progress) for place in (folder.run / "search", folder.run))
        films, renamed = labelled_films(inventory.films, published, max_missing, search, stages, shard_sentences)
        made_of = Provenance(parameters, {"films": contents_of(films)}, fingerprint_of(pipeline))
        made_of.check(folder)
        outputs = run.execute(cut_films(films, shard_sentences), pipeline)
        if not engine.is_main:
            return run_result("hydrate", out, None)
        inputs = {"films": films.num_rows, "files": count_units(films, "files")}
        made_by = str(facts.get("fingerprint"))
        origin = Origin("edos hydrate LABELS SUBTITLES --out edos", made_by, versions(), inputs=inputs)
        configs = prepare_published(folder, outputs, language_of(stages), makers, run.counts, origin, engine)
        missing = _missing(published, ids_of(outputs[facts["config"]]), films, run.notes)
        manifest = Manifest(
            recipe=dump_recipe([*stages, Output(facts["config"])], published=True),
            labels=facts,
            input=inventory.facts() | inputs,
            remarks=[f"{counted(renamed, 'documents have')} other names here and were found by their text"]
            if renamed
            else None,
            stages=[stage_entry(count) for count in run.counts],
            quarantined=[*inventory.quarantined, *_unread(run.notes)],
            configs={written.config: summary(written) for written in configs},
            missing=_write_missing(folder.prepared / MISSING, missing, published.dialogues),
            identical={name: digests_of(configs).get(name) == known for name, known in facts["files"].items()},
            shards={"total": sum(map(len, outputs.values())), "made_now": run.made},
            workers=options.workers,
            seconds=round(time.perf_counter() - began, 2),
        ).write(folder.prepared)
        made_of.write(folder, holds(inputs["films"], configs))
        folder.commit()
        return run_result("hydrate", out, manifest)


def _unread(notes: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [note for note in notes if note["reason"] != TEXT_DIFFERS]


def _check_scorers(stages: Sequence[Stage], labels: Path) -> None:
    """Raise ValueError if the recipe of the labels names a scorer that does not ship with this package: the recipe is
    untrusted input, so models that it names are neither loaded nor downloaded.
    """
    for stage in stages:
        named = (stage.scorer, stage.others) if isinstance(stage, SegmentTurns) else ()
        for scorer in (name for name in named if name not in SCORERS):
            raise ValueError(
                f"{labels / RECIPE} finds turns by weights in {scorer!r}, which do not ship with this package: "
                f"models that others name are not read; only labels made by {', '.join(SCORERS)} can be hydrated"
            )


def read_facts(labels: Path) -> dict[str, Any]:
    """Return the manifest of a folder of labels without text.

    Raises:
        FolderError: the folder has no manifest, or is damaged or unfinished.
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
    """Return the sorted hashes of the dialogue ids in some shards, uint64."""
    ids = [
        hash64(text.encode())
        for shard in shards
        for text in read_shard(shard, ["dialogue_id"])["dialogue_id"].to_pylist()
    ]
    return np.sort(np.array(ids, np.uint64))


def _missing(
    published: PublishedLabels, hydrated: np.ndarray, films: pa.Table, notes: Sequence[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
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
    """Return the fraction of the labelled dialogues that were not found, 0 to 1."""
    return float(1 - manifest["missing"]["found"] / max(manifest["missing"]["dialogues"], 1))


# Matching a labelled document to a local file of another name. Document ids are paths, and users rename folders. But
# the id of a dialogue contains the number of its first sentence, and its labels contain the hash of its first turn: a
# file in which at least half of a document's dialogues begin like that is taken for the document. A wrong match does no
# harm, because every turn is compared with its hash afterwards.

SAME_DOCUMENT = 0.5
"""Minimum fraction of a document's labelled dialogues that a file must contain to match it."""


def labelled_films(
    films: pa.Table,
    published: PublishedLabels,
    most: float,
    search: Run,
    stages: Sequence[Item],
    shard_sentences: int,
) -> tuple[pa.Table, int]:
    """Return the files that have labels, under the document ids of the labels, and how many of them were renamed.

    Args:
        films: FILMS, the files of the user.
        published: the labels.
        most: maximum fraction of the documents that may be missing by name, 0 to 1; if more are missing, all files
            without labels are read to find them.
        search: run for reading these files.
        stages: the stages from files to dialogues.
        shard_sentences: sentences per shard.

    Returns:
        FILMS, with one file per film and a hash of its content as the stamp; and the number of renamed files.
    """
    documents = documents_of(films)
    named = pc.is_in(documents, value_set=published.documents).to_numpy(zero_copy_only=False)
    labelled = with_contents(pick(films, named))
    missing = published.documents.filter(pc.invert(pc.is_in(published.documents, value_set=documents)))
    if named.all() or len(missing) <= most * len(published.documents):
        return labelled, 0
    others = with_contents(pick(films, ~named))
    shards = search.execute(cut_films(others, shard_sentences), [*stages, Output("os")])["os"]
    renamed = rename(others, find_renamed(published, missing, shards))
    return pa.concat_tables([labelled, renamed]), renamed.num_rows


def pick(films: pa.Table, wanted: Sequence[bool] | np.ndarray) -> pa.Table:
    """Return some files of a FILMS table in their order, with one file per film.

    Args:
        films: the films.
        wanted: whether each file is wanted, in the order of the films and their files.
    """
    files, offsets = unnest(films, "files")
    chosen = pa.array(np.flatnonzero(wanted))
    owners = np.repeat(np.arange(films.num_rows), np.diff(offsets))[chosen.to_numpy()]
    picked = files.take(chosen)
    lists = nest(np.arange(len(picked) + 1), FILE, {field.name: picked.field(field.name) for field in FILE})
    return pa.table({"film": films["film"].take(pa.array(owners)), "files": lists}, schema=films.schema)


def documents_of(films: pa.Table) -> pa.Array:
    """Return the document ids of all files in a FILMS table."""
    return unnest(films, "files")[0].field("document_id")


def rename(films: pa.Table, names: Mapping[str, str]) -> pa.Table:
    """Return the files whose document id is in `names`, under the new id, with one file per film."""
    picked = pick(films, [document in names for document in documents_of(films).to_pylist()])
    files, offsets = unnest(picked, "files")
    columns = {field.name: files.field(field.name) for field in FILE}
    columns["document_id"] = [names[document] for document in columns["document_id"].to_pylist()]
    return picked.set_column(
        picked.column_names.index("files"), picked.schema.field("files"), nest(offsets, FILE, columns)
    )


def find_renamed(published: PublishedLabels, missing: pa.Array, shards: Sequence[Path]) -> dict[str, str]:
    """Return document id of the user's file → document id of the labels, for files with the same dialogues.

    If several files match, the one with the most dialogues in common is taken; if these are equal, the one with the
    smallest id. Memory: a shard, and 100 bytes for each dialogue of the missing documents.

    Args:
        published: the labels.
        missing: ids of the labelled documents for which no file has the name.
        shards: dialogues of the files that have no labels.
    """
    owners: dict[int, set[str]] = {}
    dialogues: Counter[str] = Counter()
    for document, dialogue, first in published.openings(missing):
        owners.setdefault(_key(dialogue, first), set()).add(document)
        dialogues[document] += 1
    votes: Counter[tuple[str, str]] = Counter()
    for shard in shards:
        table = read_shard(shard, ["dialogue_id", "document_id", "turns.list.element.text"])
        turns, offsets = unnest(table, "turns")
        firsts = turns.field("text").take(pa.array(offsets[:-1])).to_pylist()
        for document, dialogue, first in zip(
            table["document_id"].to_pylist(), table["dialogue_id"].to_pylist(), firsts, strict=True
        ):
            votes.update((theirs, document) for theirs in owners.get(_key(dialogue, text_hash(first)), ()))
    found: dict[str, str] = {}
    taken: set[str] = set()
    for (theirs, ours), count in sorted(votes.items(), key=lambda vote: (-vote[1], vote[0])):
        if count >= SAME_DOCUMENT * dialogues[theirs] and ours not in found and theirs not in taken:
            found[ours] = theirs
            taken.add(theirs)
    return found


def _key(dialogue: str, first: str) -> int:
    return hash64(f"{dialogue.rpartition('#')[2]} {first}".encode())
