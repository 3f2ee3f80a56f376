"""What is wrong with a pipeline is said before a byte is read: order, stages that come twice, numbers out of range."""

import math
from dataclasses import fields

import pytest

from edos_dataset.augmentation.steps import KINDS
from edos_dataset.commands.built_in import KNOWN, pipeline_of, subtitles_to_dialogues, subtitles_to_edos
from edos_dataset.runs.phases import check_order
from edos_dataset.runs.pipeline import Output, Stage
from edos_dataset.runs.recipes import RecipeError, build


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
