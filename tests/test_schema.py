"""Columns: what is nested comes back flat, and what is published has the types and the label names that it says."""

import ast
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from datasets import ClassLabel, Dataset, Features
from hypothesis import given
from hypothesis import strategies as st

from edos_dataset.arrays import nest, unnest
from edos_dataset.labels import LABELS
from edos_dataset.schema import (
    CONFIGS,
    DIALOGUES,
    ENCODED,
    LABELLED,
    LAST_TURN_LABEL_CONFIGS,
    REGISTRY,
    TURN,
    TURN_LABEL_CONFIGS,
    arrow_schema,
    describe,
    features,
)

COLUMNS = ("dialogue_id", "document_id", "language", "source", "certainty", "expected_errors", "turns")
PACKAGE = Path(__file__).parents[1] / "edos_dataset"
MAKERS = ("schema", "struct", "Features")
ELSEWHERE = {
    "commands/labelled_objects.py": "labels given to a data set of somebody else's, which keeps its own columns",
    "exports/datasets.py": "views of any config as datasets, with the labels of that config",
    "exports/tables.py": "rows for other programs, with the columns that these or a user's table have",
    "releases/views.py": "views of any config for training, with the types that this has",
    "releases/reported.py": "SCRATCH: dialogues of others as a report reads them, gone when it is written",
    "runs/engines/datasets.py": "tasks and what came of them, pickled: how this engine carries bytes",
    "runs/pipeline.py": "REMOVALS: what a corpus step tells a run; nothing else reads it, and it is not published",
    "runs/shuffle.py": "SURPLUS: REMOVALS with the shard before it, between two processes of a corpus step",
    "runs/near_duplicates.py": "SKETCH and ALIKE: hashes and pairs of units, between processes of a corpus step",
    "sources/documents.py": "LINES or READ_BOOKS, followed by REASON, DETAIL and KEPT_FILE, all of schema",
}
"""The modules that put a schema together beside `edos_dataset.schema`, and why."""

ROWS = st.lists(st.lists(st.text(max_size=5), max_size=4), max_size=8)


def turns_column(rows):
    """Build the column `turns` of rows of texts; the times are the number of the turn, or null."""
    flat = [text for row in rows for text in row]
    times = [number if number % 3 else None for number in range(len(flat))]
    columns = {
        "text": flat,
        "start": times,
        "end": times,
        "sentence_ids": [[number, number + 1] for number in range(len(flat))],
    }
    return nest(np.cumsum([0, *map(len, rows)]), TURN, columns)


def texts(table):
    return [[turn["text"] for turn in row] for row in table["turns"].to_pylist()]


@given(ROWS)
def test_nest_and_unnest(rows):
    table = pa.table({"turns": turns_column(rows)})
    assert texts(table) == rows
    assert table["turns"].type == pa.list_(TURN)
    flat, offsets = unnest(table, "turns")
    assert flat.field("text").to_pylist() == [text for row in rows for text in row]
    assert offsets.tolist() == np.cumsum([0, *map(len, rows)]).tolist()
    assert nest(offsets, TURN, {field.name: flat.field(field.name) for field in TURN}).equals(turns_column(rows))


@given(ROWS, ROWS, st.integers(0, 16), st.integers(0, 16))
def test_unnest_slices_and_chunks(first, second, start, length):
    tables = [pa.table({"turns": turns_column(rows)}) for rows in (first, second)]
    table = pa.concat_tables(tables).slice(start, length)
    rows = [*first, *second][start : start + length]
    flat, offsets = unnest(table, "turns")
    assert flat.field("text").to_pylist() == [text for row in rows for text in row]
    assert [flat.field("text").to_pylist()[a:b] for a, b in zip(offsets[:-1], offsets[1:], strict=True)] == rows


@pytest.mark.parametrize(
    "table",
    [
        DIALOGUES.empty_table(),
        pa.table({"turns": pa.chunked_array([], pa.list_(TURN))}),
        pa.table({"turns": turns_column([["a"], ["b"]])}).slice(1, 0),
        pa.table({"turns": turns_column([["a"], ["b"]])}).filter(pa.array([False, False])),
    ],
)
def test_unnest_empty(table):
    flat, offsets = unnest(table, "turns")
    assert (len(flat), offsets.tolist()) == (0, [0])
    assert flat.type == TURN


def fields_of_turns(schema):
    return {field.name: field.type for field in schema.field("turns").type.value_type}


@pytest.mark.parametrize("config", CONFIGS)
def test_arrow_schema_and_features_agree(config):
    assert arrow_schema(config).names == list(COLUMNS[:4] + COLUMNS[6:] if config == "scripts" else COLUMNS)
    assert Features.from_arrow_schema(arrow_schema(config)) == features(config)
    run = DIALOGUES if config == "os" else LABELLED
    for name in arrow_schema(config).names:
        assert arrow_schema(config).field(name).type == run.field(name).type or name == "turns"
    published = fields_of_turns(arrow_schema(config))
    assert published.items() <= fields_of_turns(run).items()
    of_scripts = {"scene", "manner", "voice"}
    if config == "scripts":
        assert of_scripts < set(published)
    else:
        assert set(fields_of_turns(run)) - set(published) == of_scripts


@pytest.mark.parametrize("config", ["edos", "edos_initial"])
def test_label_names(config):
    turn = features(config)["turns"].feature
    for label in (turn["label"], turn["top"].feature["label"]):
        assert isinstance(label, ClassLabel)
        assert label.names == list(LABELS)
    dataset = Dataset(LABELLED.empty_table().select(COLUMNS).cast(arrow_schema(config)))
    assert dataset.features["turns"].feature["label"].int2str(40) == "neutral"


def test_os_has_no_labels():
    assert list(features("os")["turns"].feature) == [
        "text",
        "start",
        "end",
        "sentence_ids",
        "speaker",
        "new_speaker",
        "one_speaker",
        "same_scene",
        "certainty",
    ]


@pytest.mark.parametrize("config", ["", "EDOS", "amt"])
def test_unknown_config(config):
    with pytest.raises(ValueError, match="expected one of edos, edos_initial, os"):
        features(config)


def test_encoded_adds_one_column():
    assert ENCODED.names == [*DIALOGUES.names, "embeddings", "embedded_by"]


def makers_of_schemas(path):
    """Return the calls of a module by which a table or a struct gets its columns."""
    called = (node.func for node in nodes_of(path, MAKERS) if isinstance(node, ast.Call))
    named = (func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "") for func in called)
    return [name for name in named if name in MAKERS]


def nodes_of(path, words):
    """Yield the nodes of a module that has one of the words; to parse all modules takes a second."""
    text = path.read_text("utf-8")
    return ast.walk(ast.parse(text)) if any(word in text for word in words) else iter(())


def test_columns_are_named_nowhere_else():
    makers = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py") if makers_of_schemas(path)}
    assert {name for name in makers if not name.startswith("schema/")} == set(ELSEWHERE)
    assert {name for name in makers if name.startswith("schema/")} == {"schema/configs.py", "schema/tables.py"}


def test_no_module_lists_the_configs_again():
    """A tuple or list of two names of configs or more is a second registry."""
    lists = []
    for path in PACKAGE.rglob("*.py"):
        for node in nodes_of(path, [f'"{name}"' for name in REGISTRY]):
            if isinstance(node, ast.Tuple | ast.List | ast.Set):
                names = [item.value for item in node.elts if isinstance(item, ast.Constant)]
                if len([name for name in names if name in REGISTRY]) > 1:
                    lists.append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
    assert [place for place in lists if not place.startswith("schema")] == []


@pytest.mark.parametrize("config", REGISTRY)
def test_a_config_has_the_labels_that_the_registry_says(config):
    columns = features(config)
    turn = columns["turns"].feature
    assert arrow_schema(config).names == list(columns) and columns["dialogue_id"].dtype == "string"
    assert ("label" in turn, "label" in columns) == {
        "nothing": (False, False),
        "turns": (True, False),
        "last turn": (False, True),
    }[REGISTRY[config].labelled]


def test_lists_of_configs_come_from_the_registry():
    assert CONFIGS == tuple(REGISTRY)[:4] == ("edos", "edos_initial", "os", "scripts")
    assert TURN_LABEL_CONFIGS == ("edos", "edos_initial")
    assert LAST_TURN_LABEL_CONFIGS == ("amt_seed", "extended")
    assert all(config.description and config.command.startswith("edos ") for config in REGISTRY.values())


def test_the_extended_set_says_of_a_seed_all_but_the_answers():
    seed, extended = features("amt_seed"), features("extended")
    assert {name: seed[name] for name in seed if name != "answers"} == {
        name: extended[name] for name in list(seed)[:-1]
    }


def leaves(feature, at=""):
    feature = getattr(feature, "feature", feature)
    if not isinstance(feature, dict) or at.endswith("top"):
        return [at[1:]]
    return [name for key, part in feature.items() for name in leaves(part, f"{at}.{key}")]


@pytest.mark.parametrize("config", REGISTRY)
def test_every_column_is_described(config):
    columns = describe(config)
    assert [column.name for column in columns] == leaves(features(config))
    assert all(column.type and column.meaning for column in columns)


def test_types_in_words():
    types = {column.name: column.type for column in describe("edos")}
    assert types["turns.label"] == "label, 0 to 40" and types["turns.sentence_ids"] == "list of int32"
    assert types["turns.top"] == "list of struct of label, probability" and types["source.year"] == "int32"


@pytest.mark.parametrize("config", REGISTRY)
def test_every_version_of_datasets_reads_the_metadata(config):
    """Without `List`, which datasets has only from 4.0 on, and with the same columns."""
    schema = arrow_schema(config)
    assert b'"List"' not in schema.metadata[b"huggingface"]
    assert Features.from_arrow_schema(schema) == features(config)
    assert schema.equals(features(config).arrow_schema)
