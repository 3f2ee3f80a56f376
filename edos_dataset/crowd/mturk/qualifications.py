"""Who may work on a batch: country, approved assignments, approval rate, not too many HITs (Xie & Pu, Appendix C)."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from edos_dataset.crowd.mturk.client import TurkError, call, pages
from edos_dataset.crowd.quality import QualityRules

LOCALE, APPROVED, APPROVAL = "00000000000000000071", "00000000000000000040", "000000000000000000L0"
"""Mechanical Turk's own qualifications: country, number and percentage of approved assignments."""


def requirements(rules: QualityRules, enough: str | None) -> list[dict[str, Any]]:
    """Return the qualifications that workers need.

    Args:
        rules: of quality.
        enough: the qualification of those who have done their share, who get no more; None for none.
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
    """Return the qualification of those who have done their share of a batch, None where there is none.

    Args:
        client: as of `connect`.
        batch: id of the batch, part of the qualification's name.
        make: whether it is made where it is not there; names are unique, so it is made once.
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
    """Take workers who have done their share off a batch; return their ids.

    Args:
        client: as of `connect`.
        batch: its id.
        done: the worker of each assignment.
        most: HITs that one may do.
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
                raise  # nobody answers; a worker who is gone is no reason to stop
    return over
