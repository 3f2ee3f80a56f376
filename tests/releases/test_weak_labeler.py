"""The weak labeler's training texts."""

import pytest

from edos_dataset.releases.raw import read_weak_labeler


def test_lines_are_texts_with_the_ids_of_their_labels(tmp_path):
    (tmp_path / "train.txt").write_text(
        "0 <SEP> I was scared.  Very. \n40 <SEP> it <SEP> was on tv\n", encoding="utf-8"
    )
    assert list(read_weak_labeler(tmp_path / "train.txt")) == [("I was scared.  Very.", 0), ("it <SEP> was on tv", 40)]


@pytest.mark.parametrize("line", ["41 <SEP> no such label", "afraid <SEP> a name", "7 no mark", ""])
def test_a_line_of_another_form_is_named(tmp_path, line):
    (tmp_path / "valid.txt").write_text(f"38 <SEP> fine\n{line}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=rf"valid\.txt, line 2: expected 'id <SEP> text' .* got '{line}'"):
        list(read_weak_labeler(tmp_path / "valid.txt"))
