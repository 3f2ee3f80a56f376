"""HITs created on Mechanical Turk: each once, whatever is cut or killed in between.

Three things hold that: the token that the API knows a request by for a day, the note that each HIT carries, by which it
is found later, and the journal.
"""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from edos_dataset.crowd.batches import Batch
from edos_dataset.crowd.costs import cost_range, dollars
from edos_dataset.crowd.hits import Hit
from edos_dataset.crowd.mturk.client import TurkError, call, pages
from edos_dataset.crowd.mturk.journal import Journal
from edos_dataset.crowd.mturk.qualifications import find_enough, requirements
from edos_dataset.crowd.mturk.questions import external_question, html_question
from edos_dataset.crowd.quality import QualityRules
from edos_dataset.runs.fingerprints import hash_json

_EXISTS = "HITAlreadyExists"
_NUMBER = re.compile(r"\b[A-Z0-9]{20,}\b")


@dataclass(frozen=True)
class Offer:
    """What workers are told, and how long they have.

    Attributes:
        title: of the HITs in the list.
        description: what there is to do.
        keywords: by which they are found, with commas.
        minutes: for a HIT.
        days: that the HITs stay in the list.
        approval_days: after which an assignment that nobody looked at is approved and paid.
        url: HTTPS address of `edos crowd serve`; None for forms that need no server.
    """

    title: str
    description: str
    keywords: str = "dialogue, conversation, emotion, text, survey"
    minutes: int = 60
    days: int = 7
    approval_days: int = 3
    url: str | None = None

    @classmethod
    def of(cls, batch: Batch, url: str | None = None) -> "Offer":
        """Return what suits a batch."""
        number, paid = max(len(hit.items) for hit in batch.hits), f"${dollars(batch.bonus)} bonus for good work"
        if batch.kind == "labelling":
            return cls(
                f"Which emotion or intention do {number} short dialogues show?",
                f"Read {number} short dialogues and choose a word for the last turn of each; {paid}.",
                url=url,
            )
        return cls(
            f"Are these replies to {number} dialogues appropriate?",
            f"Read {number} dialogues and judge several replies to each as good, okay or bad; {paid}.",
            url=url,
        )


def batch_id(batch: Batch) -> str:
    """Return a name of a batch, 16 hexadecimal digits, by its content: a copy of its folder has the same."""
    rest = {key: value for key, value in vars(batch).items() if key != "hits"}
    return hash_json([rest, [hit.id for hit in batch.hits]])[:16]


def note_of(batch: Batch, hit: Hit) -> str:
    """Return the note that a HIT carries, for its requester alone."""
    return f"edos {batch_id(batch)} {hit.id}"


def token_of(*parts: str) -> str:
    """Return what the API knows a request by, 64 characters at most, the same for the same request."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:64]


def published(client: Any, batch: Batch) -> dict[str, dict[str, Any]]:  # noqa: ANN401 - of boto3
    """Return the HITs of a batch that are on Mechanical Turk, by our id, as the API describes them."""
    ours = {note_of(batch, hit): hit.id for hit in batch.hits}
    listed = pages(client, "list_hits", "HITs")
    return {ours[row["RequesterAnnotation"]]: row for row in listed if row.get("RequesterAnnotation") in ours}


def open_hits(client: Any, batch: Batch, journal: Journal) -> list[Hit]:  # noqa: ANN401 - of boto3
    """Return the HITs that are still to be created; those that are there already are written down."""
    there = published(client, batch)
    for hit, row in there.items():
        if ("create", hit) not in journal.done:
            journal.finish("create", hit, mturk=row["HITId"])
    return [hit for hit in batch.hits if ("create", hit.id) not in journal.done]


def questions_of(hits: list[Hit], url: str | None) -> dict[str, str]:
    """Return the question of each HIT, by its id; made before anything is created, so that a bad one costs nothing."""
    return {hit.id: external_question(url, hit) if url else html_question(hit) for hit in hits}


def create_hits(
    client: Any,  # noqa: ANN401 - of boto3
    batch: Batch,
    hits: list[Hit],
    journal: Journal,
    offer: Offer,
    rules: QualityRules,
    say: Callable[[str], object] = lambda _: None,
) -> int:
    """Create HITs; return how many are there now.

    Raises:
        TurkError: one was refused, or nobody answers; those before it are created, and the same call goes on.
    """
    questions = questions_of(hits, offer.url)
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
        say(f"{number:,} of {len(hits):,} HITs created")
    return len(journal.done)


def _adopted(client: Any, batch: Batch, hit: Hit, error: TurkError) -> str:  # noqa: ANN401 - of boto3
    """Return the id of a HIT that an earlier request created, whose reply was lost."""
    if found := published(client, batch).get(hit.id):
        return str(found["HITId"])
    if number := _NUMBER.search(str(error)):
        return number[0]
    raise error


def cost_of(batch: Batch, hits: int) -> tuple[str, str]:
    """Return what HITs of a batch cost, with Mechanical Turk's fee, without and with all bonuses, in US dollars."""
    least, most = cost_range(hits, batch.workers, batch.reward, batch.bonus)
    return f"{least:,.2f}", f"{most:,.2f}"
