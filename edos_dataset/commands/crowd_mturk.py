"""A batch and Mechanical Turk: what `edos crowd mturk` does."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from edos_dataset.commands.crowd_answers import ANSWERED, rules_of
from edos_dataset.crowd.batches import Batch, read_batch
from edos_dataset.crowd.hit_answers import write_hit_answers
from edos_dataset.crowd.mturk.bonuses import bonus_cost, due_bonuses, pay_bonuses
from edos_dataset.crowd.mturk.client import call, connect
from edos_dataset.crowd.mturk.journal import Journal
from edos_dataset.crowd.mturk.layout import layout_csv, layout_page
from edos_dataset.crowd.mturk.publishing import (
    Offer,
    batch_id,
    cost_of,
    create_hits,
    open_hits,
    published,
    questions_of,
)
from edos_dataset.crowd.mturk.qualifications import give_enough
from edos_dataset.crowd.mturk.results import Fetched, fetch
from edos_dataset.runs.shards import write_text

Agree = Callable[[str], bool]
"""Asks whether money may be spent, which the text says; False is no."""


def create(
    folder: Path,
    live: bool,
    agree: Agree,
    url: str | None = None,
    recipe: Path | None = None,
    say: Callable[[str], object] = lambda _: None,
) -> dict[str, Any]:
    """Create the HITs of a batch that are not there yet, after telling what they cost.

    Returns:
        `hits`, `created` (now), `there` (in all).

    Raises:
        ValueError: the folder is no batch, a question cannot be shown, Mechanical Turk refuses, or nobody agrees.
    """
    batch, client = read_batch(folder), connect(live)
    with Journal(folder, live) as journal:
        wanted = open_hits(client, batch, journal)
        questions_of(wanted, url)
        least, most = cost_of(batch, len(wanted))
        told = (
            f"{len(wanted):,} HITs for {batch.workers} people each, at {batch.reward:.2f} US dollars: {least} with the "
            f"fee, {most} with all bonuses"
        )
        if wanted and not agree(told):
            raise ValueError("nothing was created")
        there = create_hits(client, batch, wanted, journal, Offer.of(batch, url), rules_of(batch, recipe), say)
    return {"hits": len(batch.hits), "created": len(wanted), "there": there}


def status(folder: Path, live: bool) -> dict[str, Any]:
    """Return how a batch stands on Mechanical Turk: `hits`, `there`, `by_status`, assignments `done`, `pending` (being
    worked on) and `open`, `balance` (US dollars of the account).

    Raises:
        ValueError: as of `create`.
    """
    batch, client = read_batch(folder), connect(live)
    rows = list(published(client, batch).values())
    return {
        "hits": len(batch.hits),
        "there": len(rows),
        "by_status": dict(sorted(Counter(row["HITStatus"] for row in rows).items())),
        "done": sum(row.get("NumberOfAssignmentsCompleted", 0) for row in rows),
        "pending": sum(row.get("NumberOfAssignmentsPending", 0) for row in rows),
        "open": sum(row.get("NumberOfAssignmentsAvailable", 0) for row in rows),
        "balance": call(client, "get_account_balance")["AvailableBalance"],
    }


def collect(folder: Path, live: bool, recipe: Path | None = None) -> dict[str, Any]:
    """Fetch all answers into the batch's `answers.jsonl`, workers under an alias, and give no more HITs to those who
    have done their share.

    Returns:
        `assignments`, `answers`, `rejected`, `broken`, `enough` (workers with their share).

    Raises:
        ValueError: as of `create`.
    """
    batch, client = read_batch(folder), connect(live)
    rules = rules_of(batch, recipe)
    with Journal(folder, live) as journal:
        open_hits(client, batch, journal)
        fetched = fetch(client, batch, folder, journal)
        write_hit_answers(folder / ANSWERED, fetched.answers)
        enough = give_enough(client, batch_id(batch), [worker for _, worker in fetched.ids.values()], rules.most_hits)
    return _counts(fetched) | {"enough": len(enough)}


def reward(
    folder: Path,
    live: bool,
    agree: Agree,
    recipe: Path | None = None,
    say: Callable[[str], object] = lambda _: None,
) -> dict[str, Any]:
    """Pay the bonuses that are earned and not paid, after telling what they cost.

    Returns:
        `assignments`, `answers`, `rejected`, `broken`, `paid` (now).

    Raises:
        ValueError: as of `create`.
    """
    batch, client = read_batch(folder), connect(live)
    with Journal(folder, live) as journal:
        open_hits(client, batch, journal)
        fetched = fetch(client, batch, folder, journal)
        due = due_bonuses(client, batch, fetched, journal, rules_of(batch, recipe))
        told = f"{len(due):,} bonuses of {batch.bonus:.2f} US dollars: {bonus_cost(batch, len(due)):,.2f} with the fee"
        if due and not agree(told):
            raise ValueError("nothing was paid")
        pay_bonuses(client, batch, due, journal, say)
    return _counts(fetched) | {"paid": len(due)}


def _counts(fetched: Fetched) -> dict[str, Any]:
    return {
        "assignments": len(fetched.ids),
        "answers": len(fetched.answers.given),
        "rejected": fetched.rejected,
        "broken": fetched.broken,
    }


def write_files(folder: Path, out: Path, url: str | None = None) -> list[str]:
    """Write the files by which a batch is published by hand: a question a HIT, `HIT.xml`, and for the labelling task
    also `layout.html` and `batch.csv` for the requester's web site. Return their names.

    Raises:
        ValueError: the folder is no batch, a question cannot be shown, or the folder to write is there and not empty.
    """
    batch: Batch = read_batch(folder)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ValueError(f"{out} is there already and not empty: give another --out")
    made = {f"{name}.xml": text for name, text in questions_of(list(batch.hits), url).items()}
    if batch.kind == "labelling" and url is None:
        made |= {"layout.html": layout_page(batch.hits), "batch.csv": layout_csv(batch.hits)}
    out.mkdir(parents=True, exist_ok=True)
    for name, text in made.items():
        write_text(out / name, text)
    return list(made)
