"""What workers of Mechanical Turk answered: all assignments of a batch, as answers of ours."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edos_dataset.crowd.batches import ANSWERS, Batch
from edos_dataset.crowd.collected import answer_lines
from edos_dataset.crowd.hit_answers import HitAnswer, HitAnswers
from edos_dataset.crowd.hits import Hit
from edos_dataset.crowd.mturk.client import pages
from edos_dataset.crowd.mturk.journal import Journal
from edos_dataset.crowd.mturk.questions import value_of
from edos_dataset.crowd.store import Store

REJECTED = "Rejected"


@dataclass
class Fetched:
    """What was fetched.

    Attributes:
        answers: workers under an alias, so that they may be shown.
        ids: (HIT, alias) → Mechanical Turk's ids of assignment and worker; kept in memory alone.
        rejected: assignments that were rejected, and whose answers are left out.
        broken: assignments whose answer could not be read.
    """

    answers: HitAnswers = field(default_factory=HitAnswers)
    ids: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    rejected: int = 0
    broken: int = 0


def fetch(client: Any, batch: Batch, folder: Path, journal: Journal) -> Fetched:  # noqa: ANN401 - of boto3
    """Return all that workers submitted to the HITs that the journal knows.

    Answers to forms are in the assignments; those to external questions are in the database of `edos crowd serve`,
    where it is in the folder.

    Args:
        client: as of `connect`.
        batch: that was published.
        folder: of the batch.
        journal: of it.

    Raises:
        TurkError: as of `call`.
    """
    found, hits = Fetched(), {hit.id: hit for hit in batch.hits}
    served = _served(batch, folder)
    for (what, name), row in journal.done.items():
        if what != "create" or name not in hits:
            continue
        for one in pages(client, "list_assignments_for_hit", "Assignments", HITId=row["mturk"]):
            if one["AssignmentStatus"] == REJECTED:
                found.rejected += 1
            else:
                _take(one, hits[name], found, journal.alias(one["WorkerId"]), served)
    return found


def _take(one: Mapping[str, Any], hit: Hit, found: Fetched, alias: str, served: Mapping[str, list[HitAnswer]]) -> None:
    """Add an assignment to what was fetched."""
    at = one["SubmitTime"].isoformat() if one.get("SubmitTime") else ""
    fields = read_fields(one.get("Answer", ""))
    if one["AssignmentId"] in served:
        own = [
            HitAnswer(hit.id, each.item, alias, each.value, each.typed, each.seconds, each.at)
            for each in served[one["AssignmentId"]]
        ]
    elif fields is None:
        found.broken += 1
        own = []
    else:
        own = _of_form(hit, fields, alias, at)
    found.answers.given += own
    found.ids[hit.id, alias] = (one["AssignmentId"], one["WorkerId"])
    line = {"hit": hit.id, "worker": alias, "finished": True, "at": at, "status": one["AssignmentStatus"]}
    found.answers.finished[hit.id, alias] = line


def _of_form(hit: Hit, fields: Mapping[str, str], alias: str, at: str) -> list[HitAnswer]:
    times = _times(fields.get("seconds", ""), len(hit.items))
    own = []
    for number, (item, seconds) in enumerate(zip(hit.items, times, strict=True), 1):
        if (given := value_of(item, number, fields)) is not None:
            own.append(HitAnswer(hit.id, item.id, alias, *given, seconds, at))
    return own


def _times(text: str, number: int) -> list[float | None]:
    """Return the time of each item, as the form's script wrote it; None where a browser ran none."""
    try:
        times = json.loads(text)
        if len(times) == number and all(isinstance(time, int | float) and time >= 0 for time in times):
            return [float(time) for time in times]
    except (ValueError, TypeError):
        pass
    return [None] * number


def read_fields(answer: str) -> dict[str, str] | None:
    """Return the fields of an assignment's answer, name → text; None where it is no XML of this kind."""
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        root = etree.fromstring(answer.encode(), parser)
    except (etree.XMLSyntaxError, ValueError):
        return None
    return {
        str(one.findtext("{*}QuestionIdentifier")): str(one.findtext("{*}FreeText") or "")
        for one in root.iterfind("{*}Answer")
    }


def _served(batch: Batch, folder: Path) -> dict[str, list[HitAnswer]]:
    """Return the answers that `edos crowd serve` took for Mechanical Turk, by the id of the assignment."""
    if not (folder / ANSWERS).is_file():
        return {}
    store = Store(folder / ANSWERS)
    rows = store.read("SELECT hit, worker, platform FROM assignments WHERE platform IS NOT NULL")
    names = {(hit, store.alias(worker)): platform.split()[0] for hit, worker, platform in rows}
    found: dict[str, list[HitAnswer]] = {}
    for line in answer_lines(store, batch):
        name = names.get((line["hit"], line["worker"]))
        if name and "item" in line:
            value = tuple(line["value"]) if isinstance(line["value"], list) else line["value"]
            answer = HitAnswer(
                line["hit"], line["item"], line["worker"], value, line["typed"] or "", line["seconds"], str(line["at"])
            )
            found.setdefault(name, []).append(answer)
    return found
