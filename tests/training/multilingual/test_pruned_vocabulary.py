"""Pruning the vocabulary of a multilingual tokenizer."""

import json

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from training.multilingual.vocabulary import kept_pieces, scripts_of, seen_pieces, write_pruned

PIECES = ["<s>", "<pad>", "</s>", "<unk>", "\u2581the", "\u2581das", "a", "b", "\u2581", "\u4eba", "\u044f",
          "\u2581\u044f\u0431", "th\u1ea1", "\u2581und", "<mask>"]  # fmt: skip


@pytest.fixture
def path(tmp_path):
    tokenizer = Tokenizer(models.Unigram([(piece, -float(number)) for number, piece in enumerate(PIECES)], unk_id=3))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokenizer.add_special_tokens(["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    return tmp_path / "tokenizer.json"


def test_pieces_of_the_texts_and_then_the_most_frequent_latin_ones(path):
    seen = seen_pieces(Tokenizer.from_file(str(path)), ["\u4eba das", "das"], least=2)
    assert seen == {PIECES.index("\u2581das")}
    kept = kept_pieces(PIECES, seen, 10)
    names = [PIECES[number] for number in kept]
    assert names == ["<s>", "<pad>", "</s>", "<unk>", "\u2581the", "\u2581das", "a", "b", "\u2581", "\u044f"]
    assert "th\u1ea1" not in [PIECES[number] for number in kept_pieces(PIECES, seen, 100)], "Vietnamese"


def test_scripts_are_those_of_letters():
    assert scripts_of("\u2581the2") == {"LATIN"} and scripts_of("...") == set()
    assert scripts_of("a\u044f") == {"LATIN", "CYRILLIC"}


def test_the_pruned_tokenizer_reads_as_before_with_new_numbers(path, tmp_path):
    kept = [0, 1, 2, 3, 5, 6, 7, 8, 13]
    write_pruned(path, tmp_path / "pruned.json", kept)
    before, after = (Tokenizer.from_file(str(each)) for each in (path, tmp_path / "pruned.json"))
    assert [kept[number] for number in after.encode("das und a").ids] == before.encode("das und a").ids
    assert after.encode("\u4eba").ids[2] == 3, "a piece that is gone is unknown"
    assert "<mask>" not in json.loads((tmp_path / "pruned.json").read_text())["model"]["vocab"]
