"""Bonuses on Mechanical Turk: each paid once."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from edos_dataset.crowd.batches import Batch
from edos_dataset.crowd.costs import dollars, with_fee
from edos_dataset.crowd.mturk.client import TurkError, call, pages
from edos_dataset.crowd.mturk.journal import Journal
from edos_dataset.crowd.mturk.publishing import batch_id, token_of
from edos_dataset.crowd.mturk.results import Fetched
from edos_dataset.crowd.quality import QualityRules, assignments

REASON = "Thank you for careful work: you earned the bonus of this HIT."
"""What a worker reads, and by which a bonus of ours is known from others."""


@dataclass(frozen=True)
class Due:
    """A bonus that is to be paid.

    Attributes:
        assignment: Mechanical Turk's id.
        worker: likewise.
    """

    assignment: str
    worker: str


def due_bonuses(client: Any, batch: Batch, fetched: Fetched, journal: Journal, rules: QualityRules) -> list[Due]:  # noqa: ANN401 - of boto3
    """Return the bonuses that are earned and not paid; those that Mechanical Turk knows of are written down as paid.

    Raises:
        TurkError: as of `call`.
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
    """Return what bonuses cost with Mechanical Turk's fee of 20 %, in US dollars."""
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
        TurkError: one was refused, or nobody answers; those before it are paid, and the same call goes on.
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
        say(f"{number:,} of {len(due):,} bonuses paid")


def _is_paid(client: Any, due: Due) -> bool:  # noqa: ANN401 - of boto3
    """Return whether a bonus that was refused is paid already: the reply to an earlier request was lost."""
    listed = pages(client, "list_bonus_payments", "BonusPayments", AssignmentId=due.assignment)
    return any(paid["Reason"] == REASON for paid in listed)
