"""An output that is a source, lies inside one or contains one is refused before anything is read."""

import pytest

from command_line import edos

COMMANDS = [
    ("curate", "{}"),
    ("books", "{}"),
    ("segment", "{}"),
    ("label", "{}"),
    ("respond", "{}"),
    ("extend", "{}", "elsewhere"),
    ("extend", "elsewhere", "{}"),
    ("hydrate", "{}", "elsewhere"),
    ("hydrate", "elsewhere", "{}"),
    ("labels-only", "{}"),
    ("crowd", "hits", "{}"),
    ("crowd", "seed", "{}"),
    ("crowd", "export", "{}", "--to", "argilla"),
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize(
    ("source", "out", "message"),
    [
        ("data", "data", "data is the source and would be lost"),
        ("data", "./other/../data", "is the source and would be lost"),
        ("data", "data/deep/out", "data/deep/out lies inside the source data"),
        ("data/films", "data", "the source data/films lies inside data, which is for output only"),
    ],
)
def test_out_and_sources_are_apart(tmp_path, monkeypatch, words, source, out, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data" / "films").mkdir(parents=True)
    (tmp_path / "data" / "films" / "a.srt").write_text("1\n00:00:01,000 --> 00:00:02,000\nHi!\n")
    refused = edos(*(word.format(source) for word in words), "--out", out)
    assert refused.exit_code == 1 and message in refused.stderr, refused.output
    assert [path.name for path in sorted(tmp_path.rglob("*"))] == ["data", "films", "a.srt"]


def test_beside_a_source_is_no_fault(tmp_path):
    (tmp_path / "turns.txt").write_text("I lost my job.\nOh no!\n")
    done = edos("label", tmp_path / "turns.txt", "--out", tmp_path / "turns.jsonl", "--model", "fast")
    assert done.exit_code == 0, done.stderr
