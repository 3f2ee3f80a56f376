"""Screenplays as labelled documents: who speaks, where scenes part, what is nobody's, and which are held out."""

from pathlib import Path

import numpy as np
import pytest

from edos_dataset.arrays import unnest
from edos_dataset.segmentation.turns.net import EVIDENCE, UNKNOWN_ROWS
from labelled_films import flat
from training.turns.boundaries import hide_layout
from training.turns.screenplays import held_out, label_screenplays, read_film_scripts, read_screenplays

ROWS = [
    "0\tANN\t\tWhere is the lantern? I need it.",
    "0\tBOB (O.S.)\t(tired)\tBehind the door.",
    "0\tBOB (CONT'D)\t\tAnd the key is there too.",
    "1\tBOB\t\tGood morning.",
    "1\t1 CONTINUED: 1\t\tHe leaves the room.",
    "1\tANN\t\tGood morning.",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one screenplay that is held out, and one that is not; one line of theirs has a part too few."""
    (tmp_path / "film_scripts").mkdir()
    for title in ("mill", "harbour8"):
        (tmp_path / "film_scripts" / f"{title}.tsv").write_text("\n".join([*ROWS, "2\tANN"]) + "\n", encoding="utf-8")
    return tmp_path


def test_a_title_decides_once_and_for_all_what_is_held_out() -> None:
    """One in fifteen."""
    assert [title for title in ("mill", "harbour8", "dawn") if held_out(title)] == ["harbour8"]
    assert sum(held_out(f"film {number}") for number in range(3000)) == pytest.approx(200, abs=40)


def test_a_boundary_is_known_inside_a_scene_between_two_that_are_named(folder: Path) -> None:
    """Notes belong to no name, a line of the action is nobody's, and each sentence has a cue."""
    table = read_film_scripts(folder)
    assert table["document_id"].to_pylist() == ["film_scripts/mill"]
    sentences, _ = unnest(table, "sentences")
    assert sentences.field("text").to_pylist()[:3] == ["Where is the lantern?", "I need it.", "Behind the door."]
    assert flat(table, "same_turn").tolist() == [-1, 1, 0, 1, -1, -1, -1]
    start, end = (sentences.field(name).to_numpy() for name in ("start", "end"))
    np.testing.assert_allclose(start[1:] - end[:-1], 0.1, atol=2e-3)
    assert not any(sentences.field("speaker").to_pylist())


def test_the_held_out_ones_are_read_for_the_evaluation(folder: Path) -> None:
    """By title."""
    found = dict(read_screenplays(folder / "film_scripts"))
    assert list(found) == ["harbour8", "mill"] and len(found["mill"]) == len(ROWS)
    assert label_screenplays({"harbour8": found["harbour8"]}).num_rows == 1


def test_the_layout_of_a_screenplay_is_hidden() -> None:
    """Times always, blocks in half of the documents."""
    rng, kinds = np.random.default_rng(0), set()
    for _ in range(30):
        hidden = (hide_layout(UNKNOWN_ROWS[None] - 1, rng) == UNKNOWN_ROWS)[0]
        kinds.add(frozenset(name.split(".")[0] for name, one in zip(EVIDENCE, hidden, strict=True) if one))
    assert kinds == {frozenset({"timing", "density"}), frozenset({"timing", "density", "block"})}
