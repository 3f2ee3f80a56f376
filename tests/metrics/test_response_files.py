"""Files of texts and of word vectors, whole and broken."""

import numpy as np
import pytest

from edos_dataset.metrics.responses.words import read_lines, read_vectors


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a\n\nb", ["a", "", "b"]),
        (b"a\r\nb\rc\n", ["a", "b", "c"]),
        ("\ufeffa\u2028b\x85c\x0bd\n".encode(), ["a\u2028b\x85c\x0bd"]),
    ],
)
def test_lines(tmp_path, content, lines):
    (tmp_path / "f").write_bytes(content)
    assert read_lines(tmp_path / "f") == lines


@pytest.mark.parametrize("read", [read_lines, read_vectors])
def test_what_cannot_be_read(tmp_path, read):
    with pytest.raises(ValueError, match="gone cannot be read: No such file or directory; give"):
        read(tmp_path / "gone")
    with pytest.raises(ValueError, match=r"cannot be read: Is a directory; give"):
        read(tmp_path)
    (tmp_path / "latin").write_bytes(b"a 1\n\xe9 2\n")
    with pytest.raises(ValueError, match=r"latin, .*line \d: not UTF-8 .*; save the file as UTF-8"):
        read(tmp_path / "latin")


def vectors_of(folder, text, wanted=None):
    (folder / "v").write_text(text, encoding="utf-8")
    return {word: vector.tolist() for word, vector in read_vectors(folder / "v", wanted).items()}


def test_vectors(tmp_path):
    assert vectors_of(tmp_path, "a 1 -2e0\nb 3 .5\n") == {"a": [1, -2], "b": [3, 0.5]}
    assert vectors_of(tmp_path, "2 2\na 1 2 \n\nb\t3 4") == {"a": [1, 2], "b": [3, 4]}  # as fastText begins
    assert vectors_of(tmp_path, "a 1 2\na 3 4\n") == {"a": [3, 4]}
    assert vectors_of(tmp_path, "a 1 2\n. . . 3 4\nb\u00a0c 3 4\nd 5 6\n") == {"a": [1, 2], "d": [5, 6]}
    assert vectors_of(tmp_path, "a 1 2\nb 3 4\n", {"b", "c"}) == {"b": [3, 4]}
    assert read_vectors(tmp_path / "v")["a"].dtype == np.float64


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no vectors"),
        ("2 50\n", "has no vectors"),
        ("a\n", "v, line 1: 0 numbers behind the word 'a', not one as before"),
        ("a 1 2\n\nb 3\n", "v, line 3: 1 numbers behind the word 'b', not 2 as before: give a file"),
        ("a 1 2\nb 3 4 5\n", "v, line 2: 3 numbers behind the word 'b', not 2 as before: give a file"),
        ("a 1 2\nb 3 x\n", "v, line 2: 'x' is not a number"),
        ("a 1 2\nb 3 nan\n", "v, line 2: a number of the vector is not finite"),
        ("a 1 2\nb inf 3\n", "v, line 2: a number of the vector is not finite"),
    ],
)
def test_malformed_vectors(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        vectors_of(tmp_path, text, {"nothing"})
