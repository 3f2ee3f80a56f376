"""Documents in capitals are scored as if they were not."""

import pyarrow as pa

from edos_dataset.arrays import nest
from edos_dataset.schema.tables import LINE
from edos_dataset.segmentation.turns.capitals import in_small_letters


def sentences(*documents: list[str]) -> pa.Table:
    texts = [text for document in documents for text in document]
    offsets = [sum(map(len, documents[:end])) for end in range(len(documents) + 1)]
    columns = {field.name: pa.nulls(len(texts), field.type) for field in LINE} | {"text": pa.array(texts)}
    return pa.table({"sentences": nest(offsets, LINE, columns)})


def test_only_documents_in_capitals_change() -> None:
    table = sentences(["I KNOW. I'M LATE.", '"IT IS IN, ISN\'T IT?"'], ["OK.", "Well, BEN.", "Yes."], [])
    found = [[one["text"] for one in document] for document in in_small_letters(table)["sentences"].to_pylist()]
    assert found == [["I know. I'm late.", '"It is in, isn\'t it?"'], ["OK.", "Well, BEN.", "Yes."], []]


def test_nothing_changes_without_such_documents() -> None:
    table = sentences(["Come in.", "NO!"])
    assert in_small_letters(table) is table
