"""The recipe for people: every parameter has a meaning, and the comments change nothing."""

from dataclasses import dataclass, fields
from typing import ClassVar

import pytest

from command_line import edos
from edos_dataset.commands.corpus_runs import fingerprint_of
from edos_dataset.recipes.subtitles import KNOWN, pipeline_of, subtitles_to_dialogues, subtitles_to_edos
from edos_dataset.runs.pipeline import Stage
from edos_dataset.runs.recipes import described_recipe, dump_recipe, parameter_docs, parse_recipe


@dataclass(frozen=True)
class Described(Stage):
    """Cut.

    More: of it.

    Args:
        gap: seconds,
            from 0: none.
        markers: what marks.

    Raises:
        gap: no parameter.
    """

    gap: float = 5.0
    markers: tuple[str, ...] = ("- x: y", "–\n    gap: 3")
    name: ClassVar[str] = "cut"
    unit: ClassVar[str] = "turns"

    def __call__(self, table):
        return table


@pytest.mark.parametrize("kind", KNOWN.values(), ids=lambda kind: kind.name)
def test_every_parameter_of_every_stage_is_described(kind):
    described = parameter_docs(kind)
    assert list(described) == [field.name for field in fields(kind)]
    assert not [text for text in described.values() if "likewise" in text or len(text) < 10]


def test_a_docstring_is_parsed():
    assert parameter_docs(Described) == {"gap": "seconds, from 0: none.", "markers": "what marks."}
    assert parameter_docs(type("Bare", (), {})) == {}


@pytest.mark.parametrize("pipeline", [subtitles_to_dialogues(), subtitles_to_edos(), [Described()]], ids=len)
def test_comments_change_nothing(pipeline):
    text = described_recipe(pipeline)
    lines = text.splitlines(keepends=True)
    assert "".join(line for line in lines if not line.lstrip().startswith("#")) == dump_recipe(pipeline)
    assert max(map(len, lines)) <= 121
    for item in pipeline:
        if isinstance(item, Stage):
            assert all(meaning.split()[0] in text for meaning in parameter_docs(type(item)).values())
    known = {**KNOWN, "cut": Described}
    assert parse_recipe(text.replace(f"{__name__}:Described", "cut"), "printed", known) == list(pipeline)


def test_what_is_printed_loads_as_the_same_pipeline(tmp_path):
    for flags, labels in (([], True), (["--no-labels"], False)):
        printed = edos("recipe", *flags).stdout
        assert "    # " in printed
        (tmp_path / "mine.yaml").write_text(printed, "utf-8")
        assert fingerprint_of(pipeline_of(tmp_path / "mine.yaml")) == fingerprint_of(pipeline_of(labels=labels))
