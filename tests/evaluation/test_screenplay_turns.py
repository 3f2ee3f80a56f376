"""Boundaries of held-out screenplays: what there is to decide, and how well scorers do."""

from pathlib import Path

import pytest

from evaluation.screenplay_turns import measure_scorers, read_held_out

TITLE = "harbour8"


def test_only_held_out_screenplays_count(tmp_path: Path) -> None:
    """Three boundaries inside a scene, of which the speaker changes at two."""
    said = [("ANN", "Where is it? I need it."), ("BOB", "Behind the door."), ("ANN", "Thank you.")]
    rows = "".join(f"0\t{name}\t\t{text}\n" for name, text in said)
    for title in (TITLE, "mill"):
        (tmp_path / f"{title}.tsv").write_text(rows, encoding="utf-8")
    found = measure_scorers(read_held_out(tmp_path), ["rules"])
    assert (found["screenplays"], found["boundaries"], found["always_new"]) == (1, 3, 0.6667)
    assert 0 <= found["rules"]["accuracy"] <= 1 and 0 <= found["rules"]["new"] <= 1


def test_a_folder_without_held_out_screenplays_is_told(tmp_path: Path) -> None:
    """None of them, or no screenplay at all."""
    with pytest.raises(ValueError, match="no held-out screenplay"):
        read_held_out(tmp_path)
