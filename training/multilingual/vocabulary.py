"""A smaller vocabulary for a multilingual encoder: the word pieces of the languages at hand, and the most frequent ones
of the other languages in the same script.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

SCRIPTS = ("LATIN", "GREEK", "CYRILLIC")
"""Scripts all of whose single letters are kept."""

_FILLED = "LATIN"  # the script whose other pieces fill the vocabulary
_VIETNAMESE = re.compile("[\u1ea0-\u1ef9\u01a1\u01b0]", re.IGNORECASE)  # 2,000 pieces of syllables
_SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")


def seen_pieces(tokenizer: Tokenizer, texts: Iterable[str], least: int) -> set[int]:
    """Return the ids of the pieces that occur in texts at least this often."""
    counts: dict[int, int] = {}
    batch: list[str] = []
    for text in texts:
        batch.append(text)
        if len(batch) == _TOGETHER:
            _count(tokenizer, batch, counts)
            batch = []
    _count(tokenizer, batch, counts)
    return {piece for piece, count in counts.items() if count >= least}


_TOGETHER = 10_000


def _count(tokenizer: Tokenizer, texts: list[str], counts: dict[int, int]) -> None:
    for found in tokenizer.encode_batch_fast(texts, add_special_tokens=False):
        for piece in found.ids:
            counts[piece] = counts.get(piece, 0) + 1


def kept_pieces(pieces: Sequence[str], seen: set[int], most: int) -> list[int]:
    """Return the ids of the pieces to keep, in order.

    Args:
        pieces: all pieces, the most frequent first after the special ones.
        seen: those that must stay.
        most: how many to keep, if those that must stay are fewer.
    """
    kept = seen | {number for number, piece in enumerate(pieces) if piece in _SPECIAL or _is_letter(piece)}
    for number, piece in enumerate(pieces):
        if len(kept) >= most:
            break
        if scripts_of(piece) <= {_FILLED} and not _VIETNAMESE.search(piece):
            kept.add(number)
    return sorted(kept)


def _is_letter(piece: str) -> bool:
    return len(piece.removeprefix("\u2581")) == 1 and scripts_of(piece) <= set(SCRIPTS)


def scripts_of(piece: str) -> set[str]:
    """Return the scripts of the letters of a piece, such as {"LATIN"}."""
    return {_script(letter) for letter in piece if letter.isalpha()}


@lru_cache(maxsize=100_000)
def _script(letter: str) -> str:
    return unicodedata.name(letter, "?").partition(" ")[0]


def write_pruned(path: Path, out: Path, kept: Sequence[int]) -> None:
    """Write a tokenizer of the kind Unigram with only some of its pieces, which are numbered anew.

    Args:
        path: its tokenizer.json.
        out: the file to write.
        kept: ids of the pieces to keep.
    """
    made: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    model, numbers = made["model"], {old: new for new, old in enumerate(kept)}
    model["vocab"] = [[piece, round(score, 4)] for piece, score in (model["vocab"][old] for old in kept)]
    model["unk_id"] = numbers[model["unk_id"]]
    made["added_tokens"] = [
        token | {"id": numbers[token["id"]]} for token in made["added_tokens"] if token["id"] in numbers
    ]
    for token in made["post_processor"]["special_tokens"].values():
        token["ids"] = [numbers[old] for old in token["ids"]]
    out.write_text(json.dumps(made, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
