"""What people answered, out of a batch: lines for tables of quality, rows for `edos crowd agreement` and `seed`."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from edos_dataset.crowd.answer_table import Answers
from edos_dataset.crowd.batches import Batch
from edos_dataset.crowd.cells import csv_text
from edos_dataset.crowd.store import Store


def answer_lines(store: Store, batch: Batch, unfinished: bool = False) -> Iterator[dict[str, Any]]:
    """Yield the latest answer of each worker to each item, then the assignments handed in, in the order of time.

    Args:
        store: of the answers.
        batch: of the HITs.
        unfinished: whether answers of assignments that are not handed in count, too.

    Yields:
        `hit`, `item`, `worker` (an alias), `value`, `typed`, `seconds`, `at` (seconds since 1970), and for bonus tasks
        `checks`, how often the worker asked for the result; of assignments `hit`, `worker`, `finished` (true), `began`
        and `at`.
    """
    items = {hit.id: hit.items for hit in batch.hits}
    rows = store.read(
        # beside max, SQLite takes the other columns of that row
        "SELECT hit, worker, place, value, typed, at, max(number), sum(checked), sum(seconds) "
        "FROM answers JOIN assignments ON assignment = assignments.id WHERE finished IS NOT NULL OR ? "
        "GROUP BY assignment, place ORDER BY max(number)",
        (int(unfinished),),
    )
    for hit, worker, place, value, typed, at, _, checks, seconds in rows:
        if hit not in items:  # the batch was made anew beside the answers
            continue
        item = items[hit][int(place)]
        line = {"hit": hit, "item": item.id, "worker": store.alias(worker), "value": json.loads(value), "typed": typed}
        line |= {"seconds": round(float(seconds), 1), "at": at}
        yield line | ({"checks": int(checks)} if item.kind == "bonus" else {})
    done = store.read(
        "SELECT hit, worker, began, finished FROM assignments WHERE finished IS NOT NULL ORDER BY finished"
    )
    for hit, worker, began, finished in done:
        if hit in items:
            yield {"hit": hit, "worker": store.alias(worker), "finished": True, "began": began, "at": finished}


def label_rows(store: Store, batch: Batch, unfinished: bool = False) -> Iterator[dict[str, Any]]:
    """Yield the answers to dialogues to label as `read_answers` reads them: `task`, `worker`, `label` (of the 41, or
    what was typed), `turns`, `dialogue_id`; quiz questions are left out.
    """
    items = {(hit.id, item.id): item for hit in batch.hits for item in hit.items if item.kind == "label"}
    for line in answer_lines(store, batch, unfinished):
        if item := items.get((line["hit"], line.get("item", ""))):
            yield {
                "task": item.id,
                "worker": line["worker"],
                "label": line["value"] or line["typed"],
                "turns": list(item.turns),
                "dialogue_id": str(item.facts.get("dialogue_id", item.id)),
            }


def label_table(store: Store, batch: Batch) -> Answers:
    """Return the answers to dialogues to label, those of unfinished assignments too, as a table."""
    answers = Answers()
    for row in label_rows(store, batch, unfinished=True):
        answers.add(answers.add_task(row["task"], row["turns"], row["dialogue_id"]), row["worker"], row["label"])
    return answers


def as_csv(rows: Iterable[dict[str, Any]]) -> str:
    """Return rows of answers as CSV with a header, a turn a line; what a spreadsheet would take for a formula gets an
    apostrophe in front.
    """
    header = ("task", "worker", "label", "turns", "dialogue_id")
    return csv_text(
        header, ([*map(str, map(row.get, header[:3])), "\n".join(row["turns"]), row["dialogue_id"]] for row in rows)
    )
