"""The stages from books to dialogues: the default one, which names speakers, and that of recipe `papers`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from edos_dataset.arrays import empty_lists, nest, unnest
from edos_dataset.runs.fingerprints import hash_json
from edos_dataset.runs.pipeline import Stage, Unit, check_ranges
from edos_dataset.schema.tables import BOOK_DIALOGUES, BOOK_TURN, REASON
from edos_dataset.segmentation.books.attribution import weights_text
from edos_dataset.segmentation.books.extraction import Speech, extract
from edos_dataset.segmentation.books.papers import Papers, extract_as_papers
from edos_dataset.segmentation.books.rules import languages, load_rules, rules_text
from edos_dataset.segmentation.books.speech import Extraction, Utterance
from edos_dataset.segmentation.dialogues import UNSURE
from edos_dataset.sources.books.book import HEADING, Block, Said
from edos_dataset.sources.documents import rejected_books

_NO_LIMIT = 1 << 40
"""Words of an utterance; the stage `length` decides how long one may be."""


@dataclass(frozen=True)
class FindDialoguesAsPapers(Stage):
    """Find the dialogues of each book as the code behind the Gutenberg Dialogue Dataset does, oddities kept
    (`segmentation.books.papers`; Csaky and Recski, 2021, Section 3): READ_BOOKS with texts to BOOK_DIALOGUES.

    Args:
        dialog_gap: characters between two utterances beyond which a dialogue ends, from 0.
        min_delimiters: delimiters per 10,000 words that a book has to exceed, from 0; it needs a tenth as many
            dialogues per 10,000 words at least.
        min_double_delimiters: paragraphs with two dashes or more per 10,000 words that a book with dashes has to
            exceed, from 0.
        keep_empty: keep utterances without words, as their code does.
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
        """Find the dialogues; a book without any is rejected, with its reason."""
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
        """Return the rejected books."""
        return rejected_books(rejected)


@dataclass(frozen=True)
class FindDialogues(Stage):
    """Find the dialogues of each book, in any style of quotes and dashes, and the speakers that it names
    (`segmentation.books.extraction`): READ_BOOKS with blocks to BOOK_DIALOGUES, each turn with its `certainty`.

    Args:
        unsure_gap: characters of narration in the paragraphs of two turns that touch over which a conversation
            continues whatever is known of the speakers, from 0.
        gap: the same, and of paragraphs of narration, where something suggests that another person answers, from 0
            (the paper: 150). Where nothing does, a paragraph of narration ends the dialogue.
        most_gap: the same where by names two people of the conversation alternate, `gap` or more.
        min_turns: utterances of a dialogue, from 2.
    """

    unsure_gap: int = Speech.unsure_gap
    gap: int = Speech.gap
    most_gap: int = Speech.most_gap
    min_turns: int = Speech.min_turns

    name: ClassVar[str] = "dialogues"
    unit: ClassVar[Unit] = "books"
    needs, gives, ends = ("blocks",), ("dialogue_id", "turns"), ("text", "blocks")

    def __post_init__(self) -> None:
        """Check the parameters."""
        self._speech()

    def _speech(self) -> Speech:
        return Speech(self.unsure_gap, self.gap, self.most_gap, self.min_turns)

    def fingerprint(self) -> str:
        """Return a hash of the stage, including the rules of all languages and the weights of who speaks."""
        return hash_json([super().fingerprint(), weights_text(), *map(rules_text, languages())])

    def __call__(self, table: pa.Table) -> pa.Table:
        """Find the dialogues; a book without any is rejected, with its reason."""
        flat, offsets = unnest(table, "blocks")
        *columns, said = (flat.field(name).to_pylist() for name in Block._fields)
        blocks = list(map(Block, *columns, (tuple(Said(**each) for each in of_block) for of_block in said)))
        books = zip(table["language"].to_pylist(), offsets[:-1], offsets[1:], strict=True)
        speech = self._speech()
        found = [extract(blocks[start:stop], load_rules(language), speech) for language, start, stop in books]
        chapters = [_chapters(blocks[start:stop]) for start, stop in zip(offsets[:-1], offsets[1:], strict=True)]
        return dialogues_of(table, found, chapters)

    def notes(self, rejected: pa.Table) -> list[dict[str, Any]]:
        """Return the rejected books."""
        return rejected_books(rejected)


@dataclass(frozen=True)
class KeepSure(Stage):
    """Reject the dialogues of books that are not certain enough.

    Args:
        least: dialogues are rejected of which the certainties of the turns (`segmentation.books.certainty`) have a
            lower product, the estimated probability that all are right; 0 to 1, 0 keeps all.
    """

    least: float = 0.0

    name: ClassVar[str] = "certainty"
    unit: ClassVar[Unit] = "dialogues"
    needs, gives, ends = ("turns",), (), ()

    def __post_init__(self) -> None:
        """Check the parameter."""
        check_ranges(self, least=(0, 1))

    def __call__(self, table: pa.Table) -> pa.Table:
        """Judge BOOK_DIALOGUES by the certainties of their turns."""
        turns, offsets = unnest(table, "turns")
        logs = np.log(pc.fill_null(turns.field("certainty"), 1.0).to_numpy(zero_copy_only=False).astype(float))
        sums = np.diff(np.concatenate([[0.0], np.cumsum(logs)])[offsets])
        unsure = pa.array(np.exp(sums) < self.least)
        reason = pc.if_else(unsure, UNSURE, pa.scalar(None, pa.string()))
        return table.append_column(REASON, reason)


def _chapters(blocks: Sequence[Block]) -> list[str | None]:
    """Return the heading above each block, None before the first one."""
    heading, found = None, []
    for block in blocks:
        if block.kind == HEADING:
            heading = block.text
        found.append(heading)
    return found


def dialogues_of(
    table: pa.Table, found: Sequence[Extraction], chapters: Sequence[Sequence[str | None]] | None = None
) -> pa.Table:
    """Return BOOK_DIALOGUES with the column `reason`: a row for each dialogue of a book, in its order, or one without
    turns for a book that gives none.

    Args:
        table: READ_BOOKS.
        found: the extraction of each of its books.
        chapters: the heading above each of its paragraphs; by default none.
    """
    rows: list[int] = []
    ids: list[str | None] = []
    reasons: list[str | None] = []
    dialogues: list[list[Utterance]] = []
    headings: list[str | None] = []
    for row, (document, extraction) in enumerate(zip(table["document_id"].to_pylist(), found, strict=True)):
        if extraction.reason is not None:
            rows.append(row)
            ids.append(None)
            reasons.append(extraction.reason)
            dialogues.append([])
            headings.append(None)
            continue
        rows += [row] * len(extraction.dialogues)
        ids += _ids(document, extraction.dialogues)
        reasons += [None] * len(extraction.dialogues)
        dialogues += extraction.dialogues
        headings += [chapters[row][turns[0].paragraphs[0]] if chapters else None for turns in extraction.dialogues]
    taken = table.select([name for name in BOOK_DIALOGUES.names if name in table.column_names]).take(
        pa.array(rows, pa.int64())
    )
    columns = {name: taken[name] for name in taken.column_names}
    columns |= {"dialogue_id": pa.array(ids, pa.string()), "chapter": pa.array(headings, pa.string())}
    columns |= {"turns": _turns(dialogues)}
    whole = pa.table({name: columns[name] for name in BOOK_DIALOGUES.names}, schema=BOOK_DIALOGUES)
    return whole.append_column(REASON, pa.array(reasons, pa.string()))


def _ids(document: str, dialogues: Iterable[Sequence[Utterance]]) -> list[str]:
    """Name each dialogue by the paragraph in which it begins; where several begin in one, the later ones get their
    number behind it.
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
    if not utterances:
        return empty_lists(len(dialogues), BOOK_TURN)
    fields = zip(BOOK_TURN, zip(*utterances, strict=True), strict=True)  # in the order of those of Utterance
    columns = {each.name: pa.array(values, each.type) for each, values in fields}
    return nest(np.cumsum([0, *map(len, dialogues)]), BOOK_TURN, columns)
