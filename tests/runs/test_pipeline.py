"""Stages: their fingerprints follow the code, their units are counted, and they run in `datasets.map` as they are."""

import importlib
import math
import sys
from collections import Counter
from dataclasses import dataclass, fields, replace
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from datasets import Dataset

from covered_code import covered
from edos_dataset.augmentation.steps import KINDS
from edos_dataset.publishing.attach import AttachLabels
from edos_dataset.recipes.subtitles import KNOWN, pipeline_of, subtitles_to_dialogues, subtitles_to_edos
from edos_dataset.runs.fingerprints import code_hash, hash_json
from edos_dataset.runs.partitions import SharedStep
from edos_dataset.runs.pipeline import (
    REMOVALS,
    CorpusStep,
    Output,
    Stage,
    check_order,
    count_reasons,
    count_units,
    split_rejects,
)
from edos_dataset.runs.recipes import RecipeError, build
from edos_dataset.schema import DIALOGUES, FILE, FILMS, TURN

STAGE = """
from dataclasses import dataclass
from typing import ClassVar
from edos_dataset.runs.partitions import SharedStep
from edos_dataset.runs.pipeline import Stage
{imports}

@dataclass(frozen=True)
class Toy(Stage):
    gap: float = 5.0
    name: ClassVar[str] = "toy"
    unit: ClassVar[str] = "turns"
"""


@dataclass(frozen=True)
class DropShort(Stage):
    """Reject dialogues whose id is shorter than `least`."""

    least: int = 2

    name: ClassVar[str] = "short"
    unit: ClassVar[str] = "dialogues"

    def __call__(self, table):
        short = pc.less(pc.utf8_length(table["dialogue_id"]), self.least)
        return table.append_column("reason", pc.if_else(short, pa.scalar("short"), pa.scalar(None, pa.string())))


@dataclass(frozen=True)
class DropRows(CorpusStep):
    name: ClassVar[str] = "rows"
    unit: ClassVar[str] = "dialogues"

    def decide(self, shards):
        yield from ()


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A function that writes a package of modules and gives the hash of its module `stage`, as a new process would."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "toypack").mkdir()
    for name in ("__init__", "direct", "deep", "lazy", "sibling", "unused"):
        (tmp_path / "toypack" / f"{name}.py").write_text("")

    def write(**modules):
        for name, source in modules.items():
            (tmp_path / "toypack" / f"{name}.py").write_text(source)
        for name in [name for name in sys.modules if name.partition(".")[0] == "toypack"]:
            del sys.modules[name]
        importlib.invalidate_caches()
        code_hash.cache_clear()
        return code_hash("toypack.stage")

    yield write
    code_hash.cache_clear()


IMPORTS = "import toypack.direct\nfrom . import sibling\ndef use():\n    from toypack.lazy import x"


def test_code_hash_follows_imports(package):
    package(stage=STAGE.format(imports=IMPORTS), direct="from toypack import deep", lazy="x = 1")
    before = package()
    assert package() == before
    seen = {before}
    for module in (
        "stage",
        "direct",
        "deep",
        "lazy",
        "sibling",
    ):  # by itself, directly, through another, inside a function, relatively
        after = package(
            **{
                module: "from toypack import deep\nx = 2\n"
                if module == "direct"
                else f"{STAGE.format(imports=IMPORTS)}\nx = 2\n"
            }
        )
        assert after not in seen, module
        seen.add(after)
    assert package(unused="x = 2") == after


def test_code_hash_imports_nothing(package):
    """What a stage imports only when it runs, such as torch, must not be paid for by hashing."""
    stage = "def use():\n    from toypack.lazy import x"
    before = package(stage=stage, lazy="x = 1")
    assert "toypack.lazy" not in sys.modules
    assert package(stage=stage, lazy="x = 2") != before


def test_code_hash_of_another_package_follows_ours(package, monkeypatch):
    before = package(stage=STAGE.format(imports=""))
    import edos_dataset.runs.fingerprints as fingerprints

    real = fingerprints._source_file
    edited = fingerprints.Path(__file__)
    monkeypatch.setattr(
        fingerprints, "_source_file", lambda name: edited if name == "edos_dataset.schema.tables" else real(name)
    )
    code_hash.cache_clear()
    assert code_hash("toypack.stage") != before


def test_prose_decides_no_row(package):
    stage = "def double(x):\n    return 2 * x\n"
    before = package(stage=stage)
    documented = (
        '"""About doubling."""\n\n# twice\ndef double(x):\n    """Return it twice."""\n    return (2 *\n        x)  '
        "# so\n"
    )
    assert package(stage=documented) == before
    assert package(stage=stage.replace("2", "3")) != before


def test_code_hash_does_not_import_libraries(package, tmp_path):
    (tmp_path / "heavylib").mkdir()
    (tmp_path / "heavylib" / "__init__.py").write_text("raise RuntimeError('imported')")
    assert package(stage="from heavylib.deep import thing")


def test_code_without_a_file_is_refused():
    with pytest.raises(ValueError, match="no source file"):
        code_hash("nowhere_to_be_found")


def test_fingerprint_depends_on_parameters_version_and_inputs():
    stage = DropShort()
    assert stage.fingerprint() == DropShort(2).fingerprint()
    others = [
        replace(stage, least=3),
        type("DropShort", (DropShort,), {"version": 2})(),
        type("DropShort", (DropShort,), {"inputs": lambda self: {"a": "b"}})(),
    ]
    assert len({item.fingerprint() for item in (stage, *others)}) == 4


def test_hash_json():
    assert hash_json({"a": 1, "b": [2]}) == hash_json({"b": [2], "a": 1}) != hash_json({"a": 1, "b": [3]})
    with pytest.raises(TypeError):
        hash_json({1, 2})  # a set's order changes from process to process


def dialogue_table(*rows, **more):
    """DIALOGUES of which only the id and the turns are given: each row is a list of numbers of sentences, one for each
    turn.
    """
    turns = [
        [{"text": "x", "start": None, "end": None, "sentence_ids": list(range(number))} for number in row]
        for row in rows
    ]
    columns = {
        "dialogue_id": [str(index) for index in range(len(rows))],
        "turns": pa.array(turns, pa.list_(TURN)),
        **more,
    }
    return pa.table(
        {
            name: columns.get(name, pa.nulls(len(rows), field.type))
            for name, field in zip(DIALOGUES.names, DIALOGUES, strict=True)
        }
        | more
    )


FILM = pa.table(
    {
        "film": ["a", "b"],
        "files": pa.array([[dict.fromkeys(FILE.names)] * 2, [dict.fromkeys(FILE.names)]], pa.list_(FILE)),
    },
    FILMS,
)
TALK = dialogue_table([1, 2], [3], [])


@pytest.mark.parametrize(
    ("table", "unit", "number"),
    [
        (FILM, "files", 3),
        (FILM.slice(1), "files", 1),
        (TALK, "dialogues", 3),
        (TALK, "files", 3),  # a row is a document
        (TALK, "turns", 3),
        (TALK.slice(1), "turns", 1),
        (TALK, "sentences", 6),
        (pa.concat_tables([TALK, TALK]), "sentences", 12),
        (DIALOGUES.empty_table(), "sentences", 0),
        (DIALOGUES.empty_table(), "turns", 0),
        (FILMS.empty_table(), "files", 0),
        (pa.table({"sentences": [[{"id": 1}, {"id": 2}], []]}), "sentences", 2),
    ],
)
def test_count_units(table, unit, number):
    assert count_units(table, unit) == number


@pytest.mark.parametrize(("table", "unit"), [(FILM, "turns"), (TALK, "lines")])
def test_count_of_units_that_are_not_there(table, unit):
    with pytest.raises(ValueError, match=f"cannot count {unit}"):
        count_units(table, unit)


def test_split_rejects():
    table = dialogue_table([1], [2, 2], [3], reason=["bad", None, "worse"])
    kept, rejected = split_rejects(table)
    assert (kept["dialogue_id"].to_pylist(), kept.column_names) == (["1"], DIALOGUES.names)
    assert rejected["dialogue_id"].to_pylist() == ["0", "2"]
    assert split_rejects(TALK) == (TALK, None)
    assert split_rejects(dialogue_table([1], reason=pa.nulls(1, pa.string())))[1] is None


def test_count_reasons():
    rejected = dialogue_table([1, 1], [2], [3], reason=["bad", "worse", "bad"])
    assert count_reasons(rejected, "turns") == Counter(bad=3, worse=1)
    assert count_reasons(rejected, "sentences") == Counter(bad=5, worse=2)
    assert count_reasons(rejected, "dialogues") == Counter(bad=2, worse=1)


def test_whole_rows_leave_by_default():
    removals = pa.table({"row": [2, 0], "turn": [None, None], "reason": ["y", "x"]}, REMOVALS)
    assert DropRows().apply(TALK, removals)["reason"].to_pylist() == ["x", None, "y"]
    assert DropRows().apply(TALK, REMOVALS.empty_table())["reason"].to_pylist() == [None] * 3


@pytest.mark.parametrize(
    ("kind", "method"), [(Stage, "__call__"), (CorpusStep, "decide"), (SharedStep, "decide_together")]
)
def test_what_is_not_defined_is_named(kind, method):
    with pytest.raises(TypeError, match=f"{kind.__name__} .*{method}"):
        kind()


def test_datasets_map():
    ids = ["a", "bb", "ccc", "d", "ee"]
    dataset = Dataset(pa.table({"dialogue_id": ids})).with_format("arrow")
    out = dataset.map(DropShort(2), batched=True, batch_size=2)
    assert out.with_format(None)["reason"] == ["short", None, None, "short", None]
    assert out.with_format(None)["dialogue_id"] == ids


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        (["read", "read"], "stage 2 of the pipeline, 'read', comes twice"),
        (
            ["read", "lines", "sentences", "turns", "dialogues", "cap"],
            "'cap', needs 'turns.key', .* the stage that makes",
        ),
        (
            ["read", "sentences", "turns", "dialogues", "cap", "keys"],
            "'cap', needs 'turns.key', .* put 'keys' before it",
        ),
        (["read", "sentences", "turns", "dialogues", "keys", "clean", "cap"], "'cap', needs 'turns.key'"),
        (["read", "sentences", "turns", "dialogues", "select"], "'select', needs 'emotionality'"),
        (["lines"], "stage 1 of the pipeline, 'lines', needs 'lines'"),
        (["read", "sentences", "lines"], "'lines', needs 'lines'"),
        (["read", "clean"], "'clean', needs 'dialogue_id'"),
    ],
)
def test_an_order_that_cannot_be(tmp_path, stages, message):
    path = tmp_path / "recipe.yaml"
    path.write_text(f"stages: [{', '.join(stages)}]")
    with pytest.raises(ValueError, match=message):
        pipeline_of(path) if "read" in stages else check_order([KNOWN[name]() for name in stages])


def test_the_built_in_orders_are_right():
    for pipeline in (subtitles_to_dialogues(), subtitles_to_edos(), subtitles_to_edos(weak_model="weak")):
        check_order(pipeline)


def test_a_stage_of_others_may_make_anything():
    class Other(Stage):
        name = "other"
        unit = "turns"

        def __call__(self, table):
            return table

    check_order([KNOWN["read"](), Other(), KNOWN["select"](), Output("os")])


NUMBERS = [
    (kind, field.name, field.type)
    for kind in {**KNOWN, **KINDS}.values()
    for field in fields(kind)
    if field.type in (int, float, "int", "float", int | None, "int | None")
]


@pytest.mark.parametrize(("kind", "parameter", "type_"), NUMBERS, ids=lambda value: getattr(value, "name", str(value)))
def test_every_number_has_a_range(kind, parameter, type_):
    """A value below it, beyond it, or none at all is refused in a sentence."""
    refused = [-1, True, "1"] + ([math.nan] if type_ in (float, "float") else [-(2**63), 1.5])
    for value in refused:
        with pytest.raises(RecipeError, match=parameter):
            build(kind, {parameter: value}, "here")


@pytest.mark.parametrize(
    ("kind", "parameter", "value"),
    [
        ("read", "max_bytes", 2**63 - 1),
        ("read", "max_bytes", 0),
        ("cap", "memory", 0),
        ("cap", "limit", 0),
        ("duplicates", "memory", 0),
        ("lines", "max_characters", 0),
        ("sentences", "max_words", 0),
        ("clean", "max_length", 2**63 - 1),
        ("weak_label", "top", 42),
        ("weak_label", "batch_tokens", 0),
    ],
)
def test_a_number_out_of_its_range(kind, parameter, value):
    with pytest.raises(RecipeError, match=f"{parameter} must be from [0-9,]+ to [0-9,]+, got {value}"):
        build(KNOWN[kind], {parameter: value}, "here")


@pytest.mark.parametrize("stage", [*KNOWN.values(), AttachLabels], ids=lambda stage: stage.__name__)
def test_a_stage_covers_itself_and_no_card_command_or_version(stage):
    modules = covered(stage.__module__)
    assert stage.__module__.removeprefix("edos_dataset.") in modules
    assert {name.partition(".")[0] for name in modules}.isdisjoint({"cli", "commands", "hub", "releases", "version"})
    assert not [name for name in modules if name.startswith("publishing.cards")]
    assert modules.isdisjoint({"runs.run", "runs.manifest", "runs.recipes"})


@pytest.mark.parametrize("stage", KNOWN.values(), ids=lambda stage: stage.__name__)
def test_a_config_more_makes_no_stage_stale(stage):
    assert "schema.configs" not in covered(stage.__module__)
