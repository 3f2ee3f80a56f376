"""The papers' cleaning rules for turns (EDOS, Section 3; Xie & Pu, Appendix A)."""

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import flags, unnest
from edos_dataset.cleaning.captions import split_speaker
from edos_dataset.cleaning.rejects import AfterRemoved, check_after_removed, cut_turns, shelter
from edos_dataset.languages import primary_language
from edos_dataset.runs.pipeline import Stage, Unit, check_ranges
from edos_dataset.schema.tables import TURN
from edos_dataset.text import normalise, tokenize

RULES = (
    "documentary",
    "previously_on",
    "repeats_previous",
    "bad_start",
    "too_short",
    "too_long",
    "few_letters",
    "repetitive",
    "profanity",
)
"""Reason codes of the rules; a turn that breaks several is rejected for the first of them."""

_ODD_SPACE = r"[\s\p{Z}]{2,}|[^\S ]|[^\P{Z} ]"
_OPENING = r"^(?:\.\.|…)[\s.…]*"
_MAY_NAME_SPEAKER = r"^.{1,48}:"
_PREVIOUSLY = r"(?i)^\W*previous(?:ly)? on\b"
_GOOD_START = r"^[\p{L}\p{N}'\"“”„«»‘’‚‹›¿¡]"
_NUMBER = r"^\p{Nd}[\p{Nd}.,:/]{0,12} ?[%\p{Sc}]?[.!?…]{0,3}$"
_QUESTION = re.compile(r"[?？؟][\"'”’»)\]]*$")
_NO_LETTER = r"[^\p{L}\p{M} ]"


@dataclass(frozen=True)
class CleanTurns(Stage):
    """Apply the papers' rules to each turn; a turn that breaks one ends its dialogue.

    Before that, spaces are collapsed, and an opening "..." (a continued sentence) and "NAME:" are removed. Lengths
    count words and punctuation (see `tokenize`); repetition by default counts words alone, as every good long turn
    repeats commas and full stops. With punctuation, a third more turns are rejected, among them every eighth turn of 30
    to 60 tokens, hardly any of which is repetitive.

    Args:
        unit_of_length: unit of `min_length` and `max_length`: tokens (Xie & Pu) or characters (EDOS).
        min_length: shortest turn that stays, in `unit_of_length`, from 0.
        max_length: longest turn that stays, up to 2,147,483,648.
        min_letters: least fraction of letters among the characters other than spaces, 0 to 1.
        min_distinct: least fraction of distinct words (see `distinct`), compared without case, 0 to 1.
        drop_documentaries: whether all turns of films of the genre Documentary are rejected.
        drop_profanity: whether turns with a vulgar English word (`profanity.txt`) are rejected. EDOS says that steps
            were taken against profanity, but not which.
        after_removed: whether the turns after one that breaks a rule become a new dialogue ("split"), or are rejected
            ("drop"; the papers).
        numbers: whether a number alone, such as "4" or "1998.", stays as the answer to a question.
        whole_blocks: whether a turn that is too short, repetitive or the like stays if its block has another one that
            stays: two people in a block answer each other.
        repetitive_from: number of words from which on a turn can be repetitive, 1 or more; "No, no." is speech.
        distinct: what `min_distinct` and `repetitive_from` count: "words", or "tokens" with punctuation (the papers).
        opening_dots: whether a turn may begin with "...", which is removed; otherwise it starts badly (the papers).
    """

    unit_of_length: Literal["tokens", "characters"] = "tokens"
    min_length: int = 2
    max_length: int = 100
    min_letters: float = 0.6
    min_distinct: float = 2 / 3
    drop_documentaries: bool = True
    drop_profanity: bool = False
    after_removed: AfterRemoved = "split"
    numbers: bool = True
    whole_blocks: bool = False
    repetitive_from: int = 1
    distinct: Literal["words", "tokens"] = "words"
    opening_dots: bool = True

    name: ClassVar[str] = "clean"
    unit: ClassVar[Unit] = "turns"
    needs, gives, ends = ("dialogue_id", "turns"), (), ("turns.key",)

    def __post_init__(self) -> None:
        """Check the parameters."""
        if self.unit_of_length not in ("tokens", "characters"):
            raise ValueError(f"unit_of_length is {self.unit_of_length!r}; give 'tokens' or 'characters'")
        if self.distinct not in ("words", "tokens"):
            raise ValueError(f"distinct is {self.distinct!r}; give 'words' or 'tokens'")
        if not 0 <= self.min_length <= self.max_length:
            raise ValueError(
                f"min_length {self.min_length} and max_length {self.max_length}: give 0 <= min_length <= max_length"
            )
        check_ranges(self, max_length=(0, 1 << 31), repetitive_from=(1, 1 << 31))
        check_after_removed(self.after_removed)
        for parameter in ("min_letters", "min_distinct"):
            if not 0 <= getattr(self, parameter) <= 1:
                raise ValueError(f"{parameter} is {getattr(self, parameter)}, but a share lies between 0 and 1")

    def __call__(self, table: pa.Table) -> pa.Table:
        """Clean DIALOGUES."""
        turns, offsets = unnest(table, "turns")
        texts = _drop_names(tidy_turns(turns.field("text"), self.opening_dots), table["language"].to_pylist(), offsets)
        broken = self._broken(texts, offsets, _documentaries(table, offsets))
        # argmax finds the first rule that a turn breaks; the last row, always true, stands for none.
        code = np.argmax(np.vstack([*(broken[rule] for rule in RULES), np.ones(len(texts), bool)]), axis=0)
        fields = [texts if field.name == "text" else turns.field(field.name) for field in TURN]
        lists = pa.ListArray.from_arrays(
            pa.array(offsets, pa.int32()), pa.StructArray.from_arrays(fields, fields=list(TURN))
        )
        tidy = table.set_column(table.column_names.index("turns"), table.schema.field("turns"), lists)
        reasons = pa.array([*RULES, None], pa.string()).take(pa.array(code))
        if self.whole_blocks:
            reasons = shelter(table, reasons)
        return cut_turns(tidy, reasons, ["documentary"], self.after_removed)

    def _broken(self, texts: pa.StringArray, offsets: np.ndarray, documentary: np.ndarray) -> dict[str, np.ndarray]:
        strings = texts.to_pylist()
        characters = pc.utf8_length(texts).to_numpy()
        visible = characters - pc.count_substring(texts, " ").to_numpy()
        letters = visible - pc.count_substring_regex(texts, _NO_LETTER).to_numpy()
        in_tokens = self.unit_of_length == "tokens"
        length = _count_tokens(texts, strings, self.min_length, self.max_length) if in_tokens else characters
        answers = _number_answers(texts, strings, offsets) if self.numbers else np.zeros(len(strings), bool)
        return {
            "documentary": documentary & self.drop_documentaries,
            "previously_on": flags(pc.match_substring_regex(texts, _PREVIOUSLY)),
            "repeats_previous": _repeats(strings, letters, offsets),
            "bad_start": ~flags(pc.match_substring_regex(texts, _GOOD_START)),
            "too_short": (length < self.min_length) & ~answers,
            "too_long": length > self.max_length,
            "few_letters": (letters < self.min_letters * visible) & ~answers,
            "repetitive": np.array([self._is_repetitive(text) for text in strings], bool),
            "profanity": flags(pc.match_substring_regex(texts, _profane()))
            if self.drop_profanity
            else np.zeros(len(strings), bool),
        }

    def _is_repetitive(self, text: str) -> bool:
        parts = normalise(text).split()
        if self.distinct == "words" and len(set(parts)) == len(parts):  # no word occurs twice; cheaper than tokenizing
            return False
        tokens = tokenize(text.lower())
        counted = tokens if self.distinct == "tokens" else [token for token in tokens if token[0].isalnum()]
        return len(counted) >= self.repetitive_from and len(set(counted)) < self.min_distinct * len(counted)


def tidy_turns(texts: pa.StringArray, opening_dots: bool = True) -> pa.StringArray:
    """Return turns with spaces collapsed and without an opening "...", unless that is to be seen."""
    texts = pc.utf8_trim_whitespace(pc.replace_substring_regex(texts, _ODD_SPACE, " "))
    if not opening_dots:
        return pc.utf8_normalize(texts, form="NFC")
    # NFC again: removing a tag or an entity may have joined a letter and its accent
    return pc.utf8_normalize(pc.replace_substring_regex(texts, _OPENING, ""), form="NFC")


@cache
def _profane() -> str:
    """Return a pattern of the words of `profanity.txt` and their forms, alone or in a compound."""
    words = (files("edos_dataset.cleaning") / "profanity.txt").read_text(encoding="utf-8").split()
    return (
        rf"(?i)\b(?:god|mother|bull|horse|dip|dumb)?(?:{'|'.join(words)})(?:s|es|ed|er|ers|ing|in|y|head|heads|face)?\b"
    )


def _drop_names(texts: pa.StringArray, languages: list[str | None], offsets: np.ndarray) -> pa.StringArray:
    """Remove "NAME:" from the turns; only the few with a colon near the start are examined."""
    places = np.flatnonzero(flags(pc.match_substring_regex(texts, _MAY_NAME_SPEAKER)))
    rows = np.searchsorted(offsets, places, side="right") - 1
    english = [primary_language(languages[row] or "en") == "en" for row in rows.tolist()]
    spoken = [
        split_speaker(texts[place].as_py(), flag)[0] or texts[place].as_py()
        for place, flag in zip(places.tolist(), english, strict=True)
    ]
    chosen = np.zeros(len(texts), bool)
    chosen[places] = True
    return pc.replace_with_mask(texts, pa.array(chosen), pa.array(spoken, pa.string()))


def _count_tokens(texts: pa.StringArray, strings: list[str], least: int, most: int) -> np.ndarray:
    """Return the number of tokens of each turn, or a lower bound if it is certainly between `least` and `most`.

    A turn has a token between any two spaces, and no more tokens than bytes.
    """
    counts = np.fromiter((len(text.split()) for text in strings), np.int64, len(strings))
    for place in np.flatnonzero((counts < least) | (pc.binary_length(texts).to_numpy() > most)).tolist():
        counts[place] = len(tokenize(strings[place].lower()))
    return counts


def _number_answers(texts: pa.StringArray, strings: list[str], offsets: np.ndarray) -> np.ndarray:
    """Return which turns are a number alone that answers a question."""
    found = flags(pc.match_substring_regex(texts, _NUMBER))
    found[offsets[:-1][np.diff(offsets) > 0]] = False
    for place in np.flatnonzero(found):
        found[place] = _QUESTION.search(strings[place - 1]) is not None
    return found


def _documentaries(table: pa.Table, offsets: np.ndarray) -> np.ndarray:
    lists = pc.struct_field(table["source"], "genres").combine_chunks()
    genres = lists.flatten()
    named = [genre for genre in pc.unique(genres).to_pylist() if genre.strip().casefold() == "documentary"]
    rows = np.zeros(table.num_rows, bool)
    rows[pc.list_parent_indices(lists).filter(pc.is_in(genres, pa.array(named, pa.string()))).to_numpy()] = True
    return np.repeat(rows, np.diff(offsets))


def _repeats(texts: list[str], letters: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    same = np.zeros(len(texts), bool)
    same[1:] = letters[1:] == letters[:-1]  # only the few pairs with equally many letters are compared
    same[offsets[:-1][np.diff(offsets) > 0]] = False
    for place in np.flatnonzero(same):
        key = normalise(texts[place])
        same[place] = key != "" and key == normalise(texts[place - 1])
    return same
