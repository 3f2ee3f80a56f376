"""Answers and bonuses on Mechanical Turk: fetches all assignments of a batch, and pays each bonus once."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from edos_dataset.crowd.assignments import answer_lines
from edos_dataset.crowd.batches import ANSWERS, Batch, dollars, with_fee
from edos_dataset.crowd.hit_answers import HitAnswer, HitAnswers
from edos_dataset.crowd.hits import Hit
from edos_dataset.crowd.mturk.client import Journal, TurkError, call, pages
from edos_dataset.crowd.mturk.publishing import batch_id, token_of
from edos_dataset.crowd.mturk.questions import value_of
from edos_dataset.crowd.quality import QualityRules, assignments
from edos_dataset.crowd.store import Store
from edos_dataset.runs.untrusted import json_of
from edos_dataset.wording import counted

REJECTED = "Rejected"

_A_DAY = 86_400  # seconds; nobody thinks longer about an item


@dataclass
class Fetched:
    """Fetched answers.

    Attributes:
        answers: the answers, with workers under aliases so that they can be shown.
        ids: (HIT, alias) → Mechanical Turk's ids of assignment and worker; kept in memory only.
        rejected: rejected assignments, whose answers are left out.
        broken: assignments whose answer could not be read.
    """

    answers: HitAnswers = field(default_factory=HitAnswers)
    ids: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    rejected: int = 0
    broken: int = 0


def fetch(client: Any, batch: Batch, folder: Path, journal: Journal) -> Fetched:  # noqa: ANN401 - of boto3
    """Return everything that workers submitted for the HITs in the journal.

    Answers to forms are in the assignments; those to external questions are in the database of `edos crowd serve`,
    if the folder has one.

    Args:
        client: see `connect`.
        batch: the published batch.
        folder: folder of the batch.
        journal: journal of the batch.

    Raises:
        TurkError: see `call`.
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
    """Return the time of each item, as written by the form's script; None if the browser did not run it."""
    try:
        times = json_of(text)
        if len(times) == number and all(isinstance(time, int | float) and 0 <= time <= _A_DAY for time in times):
            return [float(time) for time in times]
    except (ValueError, TypeError):
        pass
    return [None] * number


def read_fields(answer: str) -> dict[str, str] | None:
    """Return the fields of an assignment's answer, name → text; None if it is not such XML."""
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


REASON = "Thank you for careful work: you earned the bonus of this HIT."
"""Message to the worker, by which our bonuses are recognised."""


@dataclass(frozen=True)
class Due:
    """A bonus to be paid.

    Attributes:
        assignment: Mechanical Turk's id.
        worker: Mechanical Turk's id.
    """

    assignment: str
    worker: str


def due_bonuses(client: Any, batch: Batch, fetched: Fetched, journal: Journal, rules: QualityRules) -> list[Due]:  # noqa: ANN401 - of boto3
    """Return the bonuses that are earned but not paid; those listed by Mechanical Turk are recorded as paid.

    Raises:
        TurkError: see `call`.
    """
    earned = {
        fetched.ids[one.hit, one.worker]: one.hit
        for one in assignments(batch.hits, fetched.answers, rules)
        if one.earned and (one.hit, one.worker) in fetched.ids
    }
    asked = {hit for (name, _), hit in earned.items() if ("bonus", name) not in journal.done}
    for hit in sorted(asked):
        name = journal.done["create", hit]["mturk"]
        for paid in pages(client, "list_bonus_payments", "BonusPayments", HITId=name):
            if paid["Reason"] == REASON and ("bonus", paid["AssignmentId"]) not in journal.done:
                journal.finish("bonus", paid["AssignmentId"], amount=str(paid["BonusAmount"]))
    return [Due(name, worker) for name, worker in earned if ("bonus", name) not in journal.done]


def bonus_cost(batch: Batch, number: int) -> Decimal:
    """Return the cost of bonuses in US dollars, including Mechanical Turk's fee of 20 %."""
    return with_fee(dollars(batch.bonus) * number, 1)


def pay_bonuses(
    client: Any,  # noqa: ANN401 - of boto3
    batch: Batch,
    due: list[Due],
    journal: Journal,
    say: Callable[[str], object] = lambda _: None,
) -> None:
    """Pay bonuses.

    Raises:
        TurkError: a request was refused, or the server does not respond. Bonuses before it are paid; a repeated call
            resumes.
    """
    for number, one in enumerate(due, 1):
        journal.intend("bonus", one.assignment)
        try:
            call(
                client,
                "send_bonus",
                WorkerId=one.worker,
                BonusAmount=str(dollars(batch.bonus)),
                AssignmentId=one.assignment,
                Reason=REASON,
                UniqueRequestToken=token_of("bonus", batch_id(batch), one.assignment),
            )
        except TurkError as error:
            if not error.code or not _is_paid(client, one):
                raise
        journal.finish("bonus", one.assignment, amount=str(dollars(batch.bonus)))
        say(f"{number:,} of {counted(len(due), 'bonuses')} paid")


def _is_paid(client: Any, due: Due) -> bool:  # noqa: ANN401 - of boto3
    listed = pages(client, "list_bonus_payments", "BonusPayments", AssignmentId=due.assignment)
    return any(paid["Reason"] == REASON for paid in listed)
