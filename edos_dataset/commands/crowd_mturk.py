"""The verbs of `edos_dataset.crowd` for a batch on Mechanical Turk."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from edos_dataset.commands.crowd_batches import ANSWERED, rules_of
from edos_dataset.commands.options import Result, verb
from edos_dataset.commands.progress import Say, steps
from edos_dataset.crowd.batches import read_batch
from edos_dataset.crowd.hit_answers import write_hit_answers
from edos_dataset.crowd.mturk.client import Journal, call, connect
from edos_dataset.crowd.mturk.publishing import (
    Offer,
    batch_id,
    cost_of,
    create_hits,
    give_enough,
    open_hits,
    published,
    questions_of,
)
from edos_dataset.crowd.mturk.questions import layout_csv, layout_page
from edos_dataset.crowd.mturk.results import Fetched, bonus_cost, due_bonuses, fetch, pay_bonuses
from edos_dataset.runs.shards import write_text
from edos_dataset.runs.stores.paths import local_place, place_of
from edos_dataset.wording import counted

Agree = Callable[[str], bool]
"""Given the price in words, returns whether the money may be spent."""


@verb
def mturk_create(
    batch: str | Path,
    *,
    live: bool = False,
    yes: bool | Agree = False,
    url: str | None = None,
    rules: str | Path | None = None,
    progress: bool | Say | None = None,
) -> Result:
    """Create on Mechanical Turk those HITs of a batch that do not exist there yet.

    Args:
        batch: folder of `make_hits`.
        live: use the live site, where money is spent, instead of the sandbox.
        yes: agree to the cost; or a function that is given the price and returns whether to go ahead.
        url: HTTPS address of `serve(mturk=True)`; by default the HITs are forms that need no server.
        rules: YAML file of quality rules; by default those of the batch.
        progress: whether to show progress, by default in terminals and notebooks; or a callback.

    Returns:
        `hits` of the batch, `created` now, and `there`, the number that now exist.

    Raises:
        ValueError: the folder is not a batch, a question cannot be shown, Mechanical Turk refuses, or the cost is not
            agreed to.
    """
    folder = local_place(batch, "a batch that people answer")
    asked, client = read_batch(folder), connect(live)
    with _steps(progress) as say, Journal(folder, live) as journal:
        wanted = open_hits(client, asked, journal)
        questions_of(asked, wanted, url)
        least, most = cost_of(asked, len(wanted))
        price = (
            f"{counted(len(wanted), 'HITs')} for {counted(asked.workers, 'people')} each, at {asked.reward:.2f} "
            f"US dollars: {least} with the "
            f"fee, {most} with all bonuses"
        )
        if wanted and not _agreed(yes, price):
            raise ValueError("nothing was created")
        there = create_hits(client, asked, wanted, journal, Offer.of(asked, url), rules_of(asked, _path(rules)), say)
    return _result("mturk_create", {"hits": len(asked.hits), "created": len(wanted), "there": there})


@verb
def mturk_status(batch: str | Path, *, live: bool = False) -> Result:
    """Return the state of a batch on Mechanical Turk.

    Returns:
        The numbers of `hits` of the batch and of those `there`, also `by_status`; the numbers of assignments `done`,
        `pending` (being worked on) and `open`; and `balance`, US dollars in the account.

    Raises:
        ValueError: the folder is not a batch, or Mechanical Turk refuses.
    """
    asked, client = read_batch(place_of(batch)), connect(live)
    rows = list(published(client, asked).values())
    facts = {
        "hits": len(asked.hits),
        "there": len(rows),
        "by_status": dict(sorted(Counter(row["HITStatus"] for row in rows).items())),
        "done": sum(row.get("NumberOfAssignmentsCompleted", 0) for row in rows),
        "pending": sum(row.get("NumberOfAssignmentsPending", 0) for row in rows),
        "open": sum(row.get("NumberOfAssignmentsAvailable", 0) for row in rows),
        "balance": call(client, "get_account_balance")["AvailableBalance"],
    }
    return _result("mturk_status", facts)


@verb
def mturk_fetch(batch: str | Path, *, live: bool = False, rules: str | Path | None = None) -> Result:
    """Fetch all answers into the batch's `answers.jsonl`, with pseudonymised workers; workers who have reached their
    maximum get no further HITs.

    Returns:
        The numbers of `assignments`, `answers`, `rejected` and `broken` ones, and `enough`, of workers at their
        maximum.

    Raises:
        ValueError: the folder is not a batch, or Mechanical Turk refuses.
    """
    folder = local_place(batch, "a batch that people answer")
    asked, client = read_batch(folder), connect(live)
    chosen = rules_of(asked, _path(rules))
    with Journal(folder, live) as journal:
        open_hits(client, asked, journal)
        fetched = fetch(client, asked, folder, journal)
        write_hit_answers(folder / ANSWERED, fetched.answers)
        enough = give_enough(client, batch_id(asked), [worker for _, worker in fetched.ids.values()], chosen.most_hits)
    return _result("mturk_fetch", _counts(fetched) | {"enough": len(enough)})


@verb
def mturk_bonus(
    batch: str | Path,
    *,
    live: bool = False,
    yes: bool | Agree = False,
    rules: str | Path | None = None,
    progress: bool | Say | None = None,
) -> Result:
    """Pay the bonuses that were earned and are not paid yet; the arguments are those of `mturk_create`.

    Returns:
        The numbers of `assignments`, `answers`, `rejected` and `broken` ones, and `paid`, of bonuses paid now.

    Raises:
        ValueError: the folder is not a batch, Mechanical Turk refuses, or the cost is not agreed to.
    """
    folder = local_place(batch, "a batch that people answer")
    asked, client = read_batch(folder), connect(live)
    with _steps(progress) as say, Journal(folder, live) as journal:
        open_hits(client, asked, journal)
        fetched = fetch(client, asked, folder, journal)
        due = due_bonuses(client, asked, fetched, journal, rules_of(asked, _path(rules)))
        price = (
            f"{counted(len(due), 'bonuses')} of {asked.bonus:.2f} US dollars: "
            f"{bonus_cost(asked, len(due)):,.2f} with the fee"
        )
        if due and not _agreed(yes, price):
            raise ValueError("nothing was paid")
        pay_bonuses(client, asked, due, journal, say)
    return _result("mturk_bonus", _counts(fetched) | {"paid": len(due)})


@verb
def mturk_files(batch: str | Path, out: str | Path, *, url: str | None = None) -> Result:
    """Write the files for publishing a batch by hand: the question of each HIT as `HIT.xml`, and for the labelling task
    also `layout.html` and `batch.csv` for the requester's web site.

    Args:
        batch: folder of `make_hits`.
        out: output folder, new or empty.
        url: HTTPS address of `serve(mturk=True)`; by default the HITs are forms that need no server.

    Returns:
        `files`: the names of the files.

    Raises:
        ValueError: the folder is not a batch, a question cannot be shown, or `out` exists and is not empty.
    """
    asked, out = read_batch(place_of(batch)), place_of(out)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ValueError(f"{out} is there already and not empty: give another --out")
    made = {f"{name}.xml": text for name, text in questions_of(asked, list(asked.hits), url).items()}
    if asked.kind == "labelling" and url is None:
        made |= {"layout.html": layout_page(asked.hits, asked.labels, asked.texts), "batch.csv": layout_csv(asked.hits)}
    out.mkdir(parents=True, exist_ok=True)
    for name, text in made.items():
        write_text(out / name, text)
    return Result("crowd.mturk_files", {"files": list(made)}, out, {"files": len(made)})


@contextmanager
def _steps(progress: bool | Say | None) -> Iterator[Say]:
    """Show steps as `progress.steps` does, but nothing before the first, so that no status line hides a question."""
    with ExitStack() as stack:
        shown: list[Say] = []

        def say(text: str) -> None:
            if not shown:
                shown.append(stack.enter_context(steps(progress, text, lines=False)))
            shown[0](text)

        yield say


def _agreed(yes: bool | Agree, price: str) -> bool:
    if callable(yes):
        return yes(price)
    if not yes:
        raise ValueError(f"{price}: give --yes to spend that")
    return True


def _path(path: str | Path | None) -> Path | None:
    return None if path is None else place_of(path)


def _result(name: str, facts: dict[str, Any]) -> Result:
    return Result(f"crowd.{name}", facts, None, {key: value for key, value in facts.items() if key != "by_status"})


def _counts(fetched: Fetched) -> dict[str, Any]:
    return {
        "assignments": len(fetched.ids),
        "answers": len(fetched.answers.given),
        "rejected": fetched.rejected,
        "broken": fetched.broken,
    }
