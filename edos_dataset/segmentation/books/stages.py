"""The stages from books to dialogues: the default one, which tells who speaks, and that of recipe `papers`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import empty_lists, nest, unnest
from edos_dataset.runs.fingerprints import hash_json
from edos_dataset.runs.pipeline import Stage, Unit, check_ranges
from edos_dataset.schema.books import BOOK_DIALOGUES, BOOK_TURN
from edos_dataset.schema.tables import REASON
from edos_dataset.segmentation.books.conversations import Speech
from edos_dataset.segmentation.books.extraction import extract
from edos_dataset.segmentation.books.papers import Papers, extract_as_papers
from edos_dataset.segmentation.books.rules import languages, load_rules, rules_text
from edos_dataset.segmentation.books.speech import Extraction, Utterance
from edos_dataset.segmentation.certainty import UNSURE
from edos_dataset.sources.books.book import Block
from edos_dataset.sources.books.leaving import books_that_left

_NO_LIMIT = 1 << 40
"""Words of an utterance; how long one may be, the stage `length` says."""


@dataclass(frozen=True)
class FindDialoguesAsPapers(Stage):
    """Find the dialogues of each book as the code behind the Gutenberg Dialogue Dataset does, oddities kept
    (`segmentation.books.papers`; Csaky and Recski, 2021, Section 3): READ_BOOKS with texts to BOOK_DIALOGUES.

    Args:
        dialog_gap: characters between two utterances beyond which a dialogue ends, from 0.
        min_delimiters: delimiters per 10,000 words that a book needs more than, from 0; a tenth of it are the dialogues
            per 10,000 words that it needs at least.
        min_double_delimiters: paragraphs with two dashes or more per 10,000 words that a book with dashes needs more
            than, from 0.
        keep_empty: keep utterances without words, as theirs does.
    """

    dialog_gap: int = 150
    min_delimiters: float = 150.0
    min_double_delimiters: float = 40.0
    keep_empty: bool = True

    name: ClassVar[str] = "dialogues_as_papers"
    unit: ClassVar[Unit] = "books"
    needs, gives, ends = ("text",), ("dialogue_id", "turns"), ("text", "blocks")

    def __post_init__(self) -> None:
        """Check the parameters."""
        most = {"min_delimiters": (0, 10_000), "min_double_delimiters": (0, 10_000)}
        check_ranges(self, dialog_gap=(0, 1 << 31), **most)

    def __call__(self, table: pa.Table) -> pa.Table:
        """Find the dialogues; a book without any leaves, and says why."""
        parameters = Papers(
            dialog_gap=self.dialog_gap,
            max_length=_NO_LIMIT,
            min_delimiters=self.min_delimiters,
            min_double_delimiters=self.min_double_delimiters,
            keep_empty=self.keep_empty,
        )
        books = zip(table["text"].to_pylist(), table["language"].to_pylist(), strict=True)
        return dialogues_of(table, [extract_as_papers(text, language, parameters) for text, language in books])

    def notes(self, rejected: pa.Table) -> list[dict[str, Any]]:
        """Tell which books have left."""
        return books_that_left(rejected)


@dataclass(frozen=True)
class FindDialogues(Stage):
    """Find the dialogues of each book, whatever quotes and dashes it has, and who speaks, where the book says so
    (`segmentation.books.extraction`): READ_BOOKS with blocks to BOOK_DIALOGUES, each with its `certainty`.

    Args:
        unsure_gap: characters of narration between two turns over which a conversation goes on where nothing is told of
            who speaks, from 0; no more than `gap` counts (the paper: 150).
        gap: the same where something tells that another person speaks, from 0; twice as many where a pronoun tells that
            the same person speaks on.
        most_gap: the same where names tell that people of it speak again, `gap` or more.
        min_turns: utterances of a dialogue, from 2.
        long: words of an utterance, from 1, beyond which what stands behind it is a dialogue of its own, as sure as its
            own guesses are; as the stage `length` has it, which leaves such utterances out.
    """

    unsure_gap: int = Speech.unsure_gap
    gap: int = Speech.gap
    most_gap: int = Speech.most_gap
    min_turns: int = Speech.min_turns
    long: int = Speech.long

    name: ClassVar[str] = "dialogues"
    unit: ClassVar[Unit] = "books"
    needs, gives, ends = ("blocks",), ("dialogue_id", "turns", "certainty"), ("text", "blocks")

    def __post_init__(self) -> None:
        """Check the parameters."""
        self._speech()

    def _speech(self) -> Speech:
        return Speech(self.unsure_gap, self.gap, self.most_gap, _NO_LIMIT, self.min_turns, self.long)

    def fingerprint(self) -> str:
        """Return a hash of the stage, to whose code the rules of all languages belong."""
        return hash_json([super().fingerprint(), *map(rules_text, languages())])

    def __call__(self, table: pa.Table) -> pa.Table:
        """Find the dialogues; a book without any leaves, and says why."""
        flat, offsets = unnest(table, "blocks")
        blocks = list(map(Block, *(flat.field(name).to_pylist() for name in Block._fields)))
        books = zip(table["language"].to_pylist(), offsets[:-1], offsets[1:], strict=True)
        speech = self._speech()
        found = [extract(blocks[start:stop], load_rules(language), speech) for language, start, stop in books]
        # In the order of the rows: one for a book without dialogues, too.
        sure = [certainty for each in found for certainty in (each.certainties if each.reason is None else [None])]
        return dialogues_of(table, found).append_column("certainty", pa.array(sure, pa.float32()))

    def notes(self, rejected: pa.Table) -> list[dict[str, Any]]:
        """Tell which books have left."""
        return books_that_left(rejected)


@dataclass(frozen=True)
class KeepSure(Stage):
    """Leave out the dialogues of books that are not sure enough; `certainty` stays behind.

    Args:
        least: dialogues with a lower certainty (`segmentation.books.certainty`) leave, 0 to 1; 0 keeps all.
    """

    least: float = 0.3

    name: ClassVar[str] = "certainty"
    unit: ClassVar[Unit] = "dialogues"
    needs, gives, ends = ("certainty",), (), ("certainty",)

    def __post_init__(self) -> None:
        """Check the parameter."""
        check_ranges(self, least=(0, 1))

    def __call__(self, table: pa.Table) -> pa.Table:
        """Judge BOOK_DIALOGUES by their `certainty`."""
        unsure = pc.less(table["certainty"], pa.scalar(self.least, pa.float32()))
        reason = pc.if_else(unsure, UNSURE, pa.scalar(None, pa.string()))
        return table.drop_columns(["certainty"]).append_column(REASON, reason)


def dialogues_of(table: pa.Table, found: Sequence[Extraction]) -> pa.Table:
    """Return BOOK_DIALOGUES with the column `reason`: a row for each dialogue of a book, in its order, or one without
    turns for a book that gives none.

    Args:
        table: READ_BOOKS.
        found: what each of its books gave.
    """
    rows: list[int] = []
    ids: list[str | None] = []
    reasons: list[str | None] = []
    dialogues: list[list[Utterance]] = []
    for row, (document, extraction) in enumerate(zip(table["document_id"].to_pylist(), found, strict=True)):
        if extraction.reason is not None:
            rows.append(row)
            ids.append(None)
            reasons.append(extraction.reason)
            dialogues.append([])
            continue
        rows += [row] * len(extraction.dialogues)
        ids += _ids(document, extraction.dialogues)
        reasons += [None] * len(extraction.dialogues)
        dialogues += extraction.dialogues
    taken = table.select([name for name in BOOK_DIALOGUES.names if name in table.column_names]).take(
        pa.array(rows, pa.int64())
    )
    columns = {name: taken[name] for name in taken.column_names}
    columns |= {"dialogue_id": pa.array(ids, pa.string()), "turns": _turns(dialogues)}
    whole = pa.table({name: columns[name] for name in BOOK_DIALOGUES.names}, schema=BOOK_DIALOGUES)
    return whole.append_column(REASON, pa.array(reasons, pa.string()))


def _ids(document: str, dialogues: Iterable[Sequence[Utterance]]) -> list[str]:
    """Return the ids of a book's dialogues: by the paragraph in which each begins, and where several begin in one,
    the later ones with their number behind it.
    """
    begun: dict[int, int] = {}
    ids = []
    for dialogue in dialogues:
        first = dialogue[0].paragraphs[0]
        begun[first] = number = begun.get(first, 0) + 1
        ids.append(f"{document}#{first}" + (f"+{number - 1}" if number > 1 else ""))
    return ids


def _turns(dialogues: Sequence[Sequence[Utterance]]) -> pa.ListArray:
    utterances = [utterance for dialogue in dialogues for utterance in dialogue]
    paragraphs = [utterance.paragraphs for utterance in utterances]
    numbers = np.fromiter((number for each in paragraphs for number in each), np.int32)
    ends = np.cumsum([0, *map(len, paragraphs)])
    columns = {
        "text": [utterance.text for utterance in utterances],
        "sentence_ids": pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pa.array(numbers)),
        "speaker": [utterance.speaker for utterance in utterances],
        "narration": [utterance.narration for utterance in utterances],
    }
    if not utterances:
        return empty_lists(len(dialogues), BOOK_TURN)
    return nest(np.cumsum([0, *map(len, dialogues)]), BOOK_TURN, columns)
