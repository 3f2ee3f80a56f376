"""HITs on Mechanical Turk, each created once despite interruptions, for workers with the required qualifications.

Three things prevent duplicates: the request token, by which the API recognises a repeated request for a day; the note
in each HIT, by which it is found later; and the journal.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from edos_dataset.crowd.batches import Batch, cost_range, dollars
from edos_dataset.crowd.hits import Hit
from edos_dataset.crowd.mturk.client import Journal, TurkError, call, pages
from edos_dataset.crowd.mturk.questions import external_question, html_question
from edos_dataset.crowd.quality import QualityRules
from edos_dataset.runs.fingerprints import hash_json
from edos_dataset.wording import counted

LOCALE, APPROVED, APPROVAL = "00000000000000000071", "00000000000000000040", "000000000000000000L0"
"""Mechanical Turk's own qualifications: country, number and percentage of approved assignments."""


def requirements(rules: QualityRules, enough: str | None) -> list[dict[str, Any]]:
    """Return the qualifications that workers need.

    Args:
        rules: the quality rules.
        enough: id of the qualification of workers who have done the maximum of HITs, or None.
    """
    found: list[dict[str, Any]] = []
    if rules.countries:
        values = [{"Country": code} for code in rules.countries]
        found.append({"QualificationTypeId": LOCALE, "Comparator": "In", "LocaleValues": values})
    for name, least in ((APPROVED, rules.least_approved), (APPROVAL, rules.least_approval)):
        if least:
            found.append(
                {"QualificationTypeId": name, "Comparator": "GreaterThanOrEqualTo", "IntegerValues": [int(least)]}
            )
    if enough:
        found.append({"QualificationTypeId": enough, "Comparator": "DoesNotExist"})
    return found


def find_enough(client: Any, batch: str, make: bool = False) -> str | None:  # noqa: ANN401 - of boto3
    """Return the id of the qualification of workers who have done the maximum of a batch's HITs, None if there is none.

    Args:
        client: see `connect`.
        batch: id of the batch, part of the qualification's name.
        make: create it if missing; names are unique, so this happens once.
    """
    name = f"Done my share of {batch}"
    listed = pages(
        client,
        "list_qualification_types",
        "QualificationTypes",
        Query=name,
        MustBeRequestable=False,
        MustBeOwnedByCaller=True,
    )
    found = next((str(row["QualificationTypeId"]) for row in listed if row["Name"] == name), None)
    if found or not make:
        return found
    text = "You have done as many of these HITs as one person may. Thank you."
    made = call(client, "create_qualification_type", Name=name, Description=text, QualificationTypeStatus="Active")
    return str(made["QualificationType"]["QualificationTypeId"])


def give_enough(client: Any, batch: str, done: Iterable[str], most: int) -> list[str]:  # noqa: ANN401 - of boto3
    """Exclude workers who have done the maximum of a batch's HITs; return their ids.

    Args:
        client: see `connect`.
        batch: id of the batch.
        done: the worker of each assignment.
        most: maximum number of HITs per worker.
    """
    over = sorted(worker for worker, number in Counter(done).items() if number >= most)
    enough = find_enough(client, batch) if over else None
    if enough is None:
        return []
    for worker in over:
        try:
            call(
                client,
                "associate_qualification_with_worker",
                QualificationTypeId=enough,
                WorkerId=worker,
                IntegerValue=1,
                SendNotification=False,
            )
        except TurkError as error:
            if not error.code:
                raise  # no response; but a worker who has left is no reason to stop
    return over


_EXISTS = "HITAlreadyExists"
_NUMBER = re.compile(r"\b[A-Z0-9]{20,}\b")


@dataclass(frozen=True)
class Offer:
    """The description of HITs in Mechanical Turk's list, and their time limits.

    Attributes:
        title: title in the list.
        description: description of the task.
        keywords: search terms, separated by commas.
        minutes: time limit of a HIT.
        days: days that the HITs stay in the list.
        approval_days: days after which an unreviewed assignment is approved and paid.
        url: HTTPS address of `edos crowd serve`; None for forms that need no server.
    """

    title: str
    description: str
    keywords: str
    minutes: int = 60
    days: int = 7
    approval_days: int = 3
    url: str | None = None

    @classmethod
    def of(cls, batch: Batch, url: str | None = None) -> "Offer":
        """Return the offer for a batch, in its language."""
        texts, number = batch.texts, max(len(hit.items) for hit in batch.hits)
        more = texts(f"offer_{batch.kind}_more", number=number, bonus=texts.amount(batch.bonus))
        return cls(texts(f"offer_{batch.kind}"), more, texts("offer_keywords"), url=url)


def batch_id(batch: Batch) -> str:
    """Return the id of a batch, 16 hexadecimal digits; it depends on the content only, so a copy has the same."""
    return hash_json([batch.settings, [hit.id for hit in batch.hits]])[:16]


def note_of(batch: Batch, hit: Hit) -> str:
    """Return the note in a HIT, which only its requester sees."""
    return f"edos {batch_id(batch)} {hit.id}"


def token_of(*parts: str) -> str:
    """Return the token by which the API recognises repeated requests, at most 64 characters."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:64]


def published(client: Any, batch: Batch) -> dict[str, dict[str, Any]]:  # noqa: ANN401 - of boto3
    """Return the API's descriptions of a batch's HITs on Mechanical Turk, by our ids."""
    ours = {note_of(batch, hit): hit.id for hit in batch.hits}
    listed = pages(client, "list_hits", "HITs")
    return {ours[row["RequesterAnnotation"]]: row for row in listed if row.get("RequesterAnnotation") in ours}


def open_hits(client: Any, batch: Batch, journal: Journal) -> list[Hit]:  # noqa: ANN401 - of boto3
    """Return the HITs still to be created; record those that exist already."""
    there = published(client, batch)
    for hit, row in there.items():
        if ("create", hit) not in journal.done:
            journal.finish("create", hit, mturk=row["HITId"])
    return [hit for hit in batch.hits if ("create", hit.id) not in journal.done]


def questions_of(batch: Batch, hits: list[Hit], url: str | None) -> dict[str, str]:
    """Return the questions of HITs of a batch, by their ids; all are made before any HIT, so that an invalid one costs
    nothing.
    """
    return {
        hit.id: external_question(url, hit) if url else html_question(hit, batch.labels, batch.texts) for hit in hits
    }


def create_hits(
    client: Any,  # noqa: ANN401 - of boto3
    batch: Batch,
    hits: list[Hit],
    journal: Journal,
    offer: Offer,
    rules: QualityRules,
    say: Callable[[str], object] = lambda _: None,
) -> int:
    """Create HITs; return how many exist now.

    Raises:
        TurkError: a request was refused, or the server does not respond. HITs before it are created; a repeated call
            resumes.
    """
    questions = questions_of(batch, hits, offer.url)
    enough = find_enough(client, batch_id(batch), make=True) if len(batch.hits) > rules.most_hits and hits else None
    common: dict[str, Any] = {
        "MaxAssignments": batch.workers,
        "AutoApprovalDelayInSeconds": offer.approval_days * 86_400,
        "LifetimeInSeconds": offer.days * 86_400,
        "AssignmentDurationInSeconds": offer.minutes * 60,
        "Reward": str(dollars(batch.reward)),
        "Title": offer.title,
        "Keywords": offer.keywords,
        "Description": offer.description,
        "QualificationRequirements": requirements(rules, enough),
    }
    for number, hit in enumerate(hits, 1):
        note = note_of(batch, hit)
        journal.intend("create", hit.id)
        try:
            made = call(
                client,
                "create_hit",
                Question=questions[hit.id],
                RequesterAnnotation=note,
                UniqueRequestToken=token_of("create", note),
                **common,
            )
            name = str(made["HIT"]["HITId"])
        except TurkError as error:
            if _EXISTS.lower() not in error.code.lower():
                raise
            name = _adopted(client, batch, hit, error)
        journal.finish("create", hit.id, mturk=name)
        say(f"{number:,} of {counted(len(hits), 'HITs')} created")
    return len(journal.done)


def _adopted(client: Any, batch: Batch, hit: Hit, error: TurkError) -> str:  # noqa: ANN401 - of boto3
    if found := published(client, batch).get(hit.id):
        return str(found["HITId"])
    if number := _NUMBER.search(str(error)):
        return number[0]
    raise error


def cost_of(batch: Batch, hits: int) -> tuple[str, str]:
    """Return the cost of HITs in US dollars, including Mechanical Turk's fee, without and with all bonuses."""
    least, most = cost_range(hits, batch.workers, batch.reward, batch.bonus)
    return f"{least:,.2f}", f"{most:,.2f}"
