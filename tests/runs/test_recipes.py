"""Recipes: YAML and back, and messages that say what would be right."""

import time
from dataclasses import dataclass
from typing import ClassVar, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edos_dataset.runs.pipeline import CorpusStep, Output, Stage
from edos_dataset.runs.recipes import RecipeError, build, dump_recipe, load_recipe, override
from edos_dataset.runs.untrusted import UntrustedInputError, yaml_of


@dataclass(frozen=True)
class Cut(Stage):
    gap: float = 5.0
    words: int = 60
    strict: bool = False
    by: Literal["time", "text"] = "time"
    most: int | None = None
    markers: tuple[str, ...] = ("-", "–")
    name: ClassVar[str] = "cut"
    unit: ClassVar[str] = "turns"

    def __post_init__(self):
        if self.gap < 0:
            raise ValueError(f"gap is {self.gap}, give 0 or more")

    def __call__(self, table):
        return table


@dataclass(frozen=True)
class Plain(Stage):
    name: ClassVar[str] = "plain"
    unit: ClassVar[str] = "turns"

    def __call__(self, table):
        return table


@dataclass(frozen=True)
class Cap(CorpusStep):
    limit: int = 100
    name: ClassVar[str] = "cap"
    unit: ClassVar[str] = "turns"

    def decide(self, shards):
        yield from ()


KNOWN = {"cut": Cut, "plain": Plain, "cap": Cap}
WHOLE = st.integers(-(2**63), 2**63 - 1)
CUTS = st.builds(
    Cut,
    gap=st.floats(0, allow_nan=False),
    words=WHOLE,
    strict=st.booleans(),
    by=st.sampled_from(["time", "text"]),
    most=st.none() | WHOLE,
    # PyYAML cannot write U+0085 and the like as they are
    markers=st.lists(st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"])), max_size=3).map(tuple),
)
ITEMS = st.one_of(CUTS, st.just(Plain()), st.builds(Cap, limit=WHOLE), st.sampled_from([Output("os"), Output("edos")]))


def load(tmp_path, text):
    path = tmp_path / "recipe.yaml"
    path.write_text(text, encoding="utf-8")
    return load_recipe(path, KNOWN, custom=True)


@given(st.lists(ITEMS, max_size=6))
def test_dump_and_load(tmp_path_factory, pipeline):
    assert load(tmp_path_factory.mktemp("recipe"), dump_recipe(pipeline)) == pipeline


def test_dump_reads_well():
    text = dump_recipe([Cut(), Plain(), Output("os")])
    # Stages of other packages than this one are named by where they are.
    assert text.startswith("stages:\n- test_recipes:Cut:\n    gap: 5.0\n    words: 60\n")
    assert text.endswith("- test_recipes:Plain\n- output: os\n")


@dataclass(frozen=True)
class Needy(Stage):
    must: int
    name: ClassVar[str] = "needy"
    unit: ClassVar[str] = "turns"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere.to.be:Found", "cannot import the module of 'nowhere.to.be:Found'"),
        ("test_recipes:Missing", "test_recipes has no 'Missing'"),
        ("test_recipes:load", "is no stage: expected a frozen dataclass below Stage or CorpusStep"),
        ("test_recipes:Needy", "the parameter 'must' of 'test_recipes:Needy' has no default"),
    ],
)
def test_stages_of_others_that_cannot_be_used(tmp_path, name, message):
    with pytest.raises(RecipeError, match=message):
        load(tmp_path, f"stages: ['{name}']")


def test_code_of_others_is_imported_for_recipes_of_ones_own_alone(tmp_path):
    path = tmp_path / "recipe.yaml"
    path.write_text("stages: ['test_recipes:Cut': {gap: 1}]")
    assert load_recipe(path, KNOWN, custom=True) == [Cut(gap=1.0)]
    with pytest.raises(RecipeError, match="code of another package, which is run only for a recipe of your own"):
        load_recipe(path, KNOWN)


def test_the_built_in_recipe_survives(tmp_path):
    built_in = pytest.importorskip("edos_dataset.recipes.subtitles")
    path = tmp_path / "recipe.yaml"
    path.write_text(dump_recipe(built_in.subtitles_to_edos()))
    assert load_recipe(path, built_in.KNOWN) == built_in.subtitles_to_edos()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("stages: [cut]", [Cut()]),
        ("stages: [{cut: }]", [Cut()]),
        ("stages: [{cut: {gap: 4}}]", [Cut(gap=4.0)]),  # a whole number is a number
        ("stages: [{cut: {words: 3, markers: [x]}}, {output: os}]", [Cut(words=3, markers=("x",)), Output("os")]),
        ("stages: [{cut: {most: 3}}, {cut: {most: null}}]", [Cut(most=3), Cut()]),
        ("stages: []", []),
    ],
)
def test_load(tmp_path, text, expected):
    loaded = load(tmp_path, text)
    assert loaded == expected
    assert [type(getattr(item, "gap", None)) for item in loaded] == [
        type(getattr(item, "gap", None)) for item in expected
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("stages: [cutt]", "recipe.yaml, stage 1: unknown stage 'cutt'; did you mean 'cut'?"),
        ("stages: [cut, xyzzy]", "stage 2: unknown stage 'xyzzy'; there are cut, plain, cap, output"),
        ("stages: [{cut: {gapp: 1}}]", "stage 1: stage 'cut' has no parameter 'gapp'; did you mean 'gap'?"),
        ("stages: [{plain: {gap: 1}}]", "stage 'plain' has no parameter 'gap'; there are none"),
        ("stages: [{cut: {gap: wide}}]", "gap must be of type float, got 'wide'"),
        ("stages: [{cut: {gap: null}}]", "gap must be of type float, got None"),
        ("stages: [{cut: {words: 2.5}}]", "words must be of type int, got 2.5"),
        ("stages: [{cut: {words: true}}]", "words must be of type int, got True"),
        ("stages: [{cut: {words: 1e6}}]", "words must be of type int, got '1e6'"),
        ("stages: [{cut: {strict: 1}}]", "strict must be of type bool, got 1"),
        ("stages: [{cut: {most: many}}]", "most must be of type int, got 'many'"),
        ("stages: [{cut: {markers: x}}]", "markers must be of type list, got 'x'"),
        ("stages: [{cut: {markers: [x, 5]}}]", "markers[1] must be of type str, got 5"),
        ("stages: [{cut: {by: tex}}]", "by must be one of 'time', 'text', got 'tex'"),
        ("stages: [{cut: {gap: -1}}]", "recipe.yaml, stage 1, stage 'cut': gap is -1.0, give 0 or more"),
        ("stages: [{cut: 5}]", "must be `name: value` pairs, got 5"),
        ("stages: [{cut: 0}]", "must be `name: value` pairs, got 0"),
        ("stages: [{cut: {}, plain: {}}]", "expected one stage name with its parameters"),
        ("stages: [[cut]]", "expected one stage name with its parameters, got ['cut']"),
        ("stages: [5]", "got 5"),
        ("stages: [{output: ed}]", "unknown config 'ed'; did you mean 'edos'?"),
        ("stages: [output]", "unknown config"),
        ("stages: [{output: [os]}]", "unknown config ['os']"),
        ("stages: cut", "is no recipe: expected a key 'stages' with a list"),
        ("- cut", "is no recipe"),
        ("", "is no recipe"),
        ("stages: [cut]\nstage: []", "unknown key 'stage'; the only one is 'stages'"),
        ("stages: [cut", "cannot read the recipe"),
        ("stages: !!python/object/apply:os.system [ls]", "cannot read the recipe"),
    ],
)
def test_what_is_wrong_with_a_recipe(tmp_path, text, message):
    with pytest.raises(RecipeError) as error:
        load(tmp_path, text)
    assert message in str(error.value)
    assert "recipe.yaml" in str(error.value)


def test_a_recipe_that_is_not_there(tmp_path):
    with pytest.raises(RecipeError, match="cannot read the recipe .*missing.yaml"):
        load_recipe(tmp_path / "missing.yaml", KNOWN)
    (tmp_path / "latin.yaml").write_bytes(b"stages: [\xe9]")
    with pytest.raises(RecipeError, match="cannot read the recipe"):
        load_recipe(tmp_path / "latin.yaml", KNOWN)


PIPELINE = [Cut(), Plain(), Output("os"), Cap()]


@pytest.mark.parametrize(
    ("settings", "index", "expected"),
    [
        (["cut.gap=4.5"], 0, Cut(gap=4.5)),
        (["cut.gap=4"], 0, Cut(gap=4.0)),
        (["cut.gap=1", "cut.words=2", "cut.gap=3"], 0, Cut(gap=3.0, words=2)),
        (["cut.by=text"], 0, Cut(by="text")),
        (["cut.strict=yes"], 0, Cut(strict=True)),
        (["cut.markers=['=', x=y.z]"], 0, Cut(markers=("=", "x=y.z"))),
        (["cut.most="], 0, Cut(most=None)),
        (["cap.limit=7"], 3, Cap(limit=7)),
    ],
)
def test_set(settings, index, expected):
    changed = override(PIPELINE, settings)
    assert changed[index] == expected
    assert [item for place, item in enumerate(changed) if place != index] == [
        item for place, item in enumerate(PIPELINE) if place != index
    ]
    assert [Cut(), Plain(), Output("os"), Cap()] == PIPELINE


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("cut.gap", "--set expects STAGE.PARAMETER=VALUE, as in dialogues.gap=4.0; got 'cut.gap'"),
        ("gap=4", "--set expects STAGE.PARAMETER=VALUE"),
        ("cutt.gap=4", "--set cutt.gap=4: unknown stage 'cutt'; did you mean 'cut'?"),
        ("output.config=edos", "unknown stage 'output'"),
        ("cut.gapp=4", "stage 'cut' has no parameter 'gapp'; did you mean 'gap'?"),
        ("plain.gap=4", "stage 'plain' has no parameter 'gap'; there is cut.gap"),
        ("cut.words=few", "words must be of type int, got 'few'"),
        ("cut.gap=-1", "gap is -1.0, give 0 or more"),
        ("cut.markers=[", "--set cut.markers=[: '[' is not a YAML value"),
    ],
)
def test_what_is_wrong_with_a_setting(setting, message):
    with pytest.raises(RecipeError) as error:
        override(PIPELINE, [setting])
    assert message in str(error.value)


BOMB = "a: &a [x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{BOMB}stages: [*i]", "line 2, column 8: the alias *a"),
        ("stages: " + "[" * 5000, "more than 32 levels"),
        ("- " * 5000, "more than 32 levels"),
        ("stages: [cut]\nstages: [cap]", "the key 'stages' twice"),
        ("stages: [{cut: {gap: 1, gap: 2}}]", "the key 'gap' twice"),
        ("stages: [!cut {gap: 1}]", "the tag !cut"),
        ("stages: [{cut: {words: 9223372036854775808}}]", "more than 64 bits"),
        ("stages: [{cut: {words: " + "9" * 5000 + "}}]", "a number of 5,000 digits"),
        ("stages: [{cut: {words: 1" + ":01" * 3000 + "}}]", "a number of 9,001 digits"),
        ("stages: [{cut: {by: 2020-13-45}}]", "month must be in 1..12"),
        ("stages: [\0]", "special characters are not allowed"),
        ("stages: [cut] #" + " " * (1 << 17), "more than the 131,072 that are read"),
        ("stages: [{1: {}}]", "unknown stage 1"),
        ("stages: [{? [cut] : {}}]", "unhashable key"),
        ("1: 2\nstages: []", "unknown key 1"),
        ("stages: [{cut: {by: [time]}}]", "by must be one of 'time', 'text', got ['time']"),
        ("stages: [{output: {os: 1}}]", "unknown config {'os': 1}"),
    ],
)
def test_a_recipe_is_plain_and_small(tmp_path, text, message):
    began = time.process_time()
    with pytest.raises(RecipeError) as error:
        load(tmp_path, text)
    assert message in str(error.value)
    assert len(str(error.value)) < 1000 and time.process_time() - began < 5


@pytest.mark.parametrize(
    "where",
    [
        "stages: [{}]",
        "stages: [[{}]]",
        "stages: [{{cut: {{by: {}}}}}]",
        "stages: [{{output: {}}}]",
        "{}: 1\nstages: []",
    ],
)
def test_a_message_is_short_whatever_the_recipe_holds(tmp_path, where):
    with pytest.raises(RecipeError) as error:
        load(tmp_path, where.format("x" * 100_000))
    assert len(str(error.value)) < 1000


def test_a_recipe_may_begin_with_a_byte_order_mark(tmp_path):
    (tmp_path / "recipe.yaml").write_bytes(b"\xef\xbb\xbfstages: [cut]")
    assert load_recipe(tmp_path / "recipe.yaml", KNOWN) == [Cut()]


@pytest.mark.parametrize("value", ["&a [*a]", "[" * 5000, "!!python/name:os.system x", "{a: 1, a: 2}", "9" * 5000])
def test_a_setting_is_plain_too(value):
    with pytest.raises(RecipeError, match="is not a YAML value"):
        override(PIPELINE, [f"cut.gap={value}"])


def test_a_published_recipe_names_no_place_of_this_machine(tmp_path):
    @dataclass(frozen=True)
    class Labels(Stage):
        model: str = "weak"
        other: str = "~/models/mine"
        name: ClassVar[str] = "labels"
        unit: ClassVar[str] = "turns"

        def __call__(self, table):
            return table

    pipeline = [Labels(model=str(tmp_path / "model"))]
    assert str(tmp_path / "model") in dump_recipe(pipeline)
    published = dump_recipe(pipeline, published=True)
    assert "model: model\n" in published and "other: mine\n" in published and str(tmp_path) not in published


def test_what_one_reader_changes_the_next_does_not_see():
    text = "a: {b: [1, 2024-02-29]}"
    first = yaml_of(text)
    first["a"]["b"].append(2)
    first["c"] = 3
    assert yaml_of(text) != first and yaml_of(text)["a"]["b"][0] == 1 and len(yaml_of(text)["a"]["b"]) == 2


def test_what_is_refused_is_refused_again():
    for _ in range(2):
        with pytest.raises(UntrustedInputError, match="line 1, column 8: the key 'a' twice"):
            yaml_of("{a: 1, a: 2}")


@dataclass(frozen=True)
class Mixed(Stage):
    words: list[str] | None = None
    size: int | float | str = 1
    name: ClassVar[str] = "mixed"
    unit: ClassVar[str] = "turns"

    def __call__(self, table):
        return table


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [({"words": ["a"], "size": 2.5}, Mixed(["a"], 2.5)), ({"words": None, "size": "big"}, Mixed(None, "big"))],
)
def test_a_parameter_may_have_several_types(parameters, expected):
    assert build(Mixed, parameters, "here") == expected


def test_none_of_several_types():
    with pytest.raises(RecipeError, match="size must be of type str, got None"):
        build(Mixed, {"size": None}, "here")
    with pytest.raises(RecipeError, match=r"words\[0\] must be of type str, got 1"):
        build(Mixed, {"words": [1]}, "here")
