"""Data frames of libraries other than pandas go in and come out by Arrow's interface."""

import pyarrow as pa
import pytest

import edos_dataset

COLUMNS = {"id": [1, 2, 1], "said": ["I lost my job.", "We won!", "Oh no, what happened?"], "score": [1.5, None, 2.0]}
LABELS = ["devastated", "joyful", "questioning"]


class Frame:
    """A frame as that of polars: with `columns` and `to_dict`, made from an Arrow table and read as one."""

    def __init__(self, table):
        self.table = pa.table(table)

    @property
    def columns(self):
        return self.table.column_names

    def to_dict(self):
        return self.table.to_pydict()

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def polars(columns):
    return pytest.importorskip("polars").DataFrame(columns)


@pytest.mark.parametrize("frame_of", [Frame, pa.table, polars])
def test_a_frame_comes_back_with_labels_beside_its_columns(frame_of):
    given = frame_of(COLUMNS)
    found = edos_dataset.label(given, "fast", top=1, column="said", id_column="id")
    assert type(found) is type(given)
    assert pa.table(found).to_pydict() | {"confidence": None} == COLUMNS | {"label": LABELS, "confidence": None}


def test_texts_as_views_and_dialogues_in_rows():
    views = pa.table({**COLUMNS, "said": pa.array(COLUMNS["said"]).cast(pa.string_view())})
    assert edos_dataset.label(Frame(views), "fast", column="said").table["label"].to_pylist() == LABELS
    whole = Frame({"turns": [["I lost my job."], ["We won!"]], "n": [1, 2]})
    found = edos_dataset.label(whole, "fast").table.to_pylist()
    assert [(row["n"], row["turns"][0]["label"]) for row in found] == [(1, "devastated"), (2, "joyful")]


def test_a_query_without_rows_is_refused():
    class LazyFrame(Frame):
        def collect(self):
            return Frame(self.table)

    with pytest.raises(ValueError, match="a LazyFrame is a query without rows: give what its collect"):
        edos_dataset.label(LazyFrame(COLUMNS), "fast")
