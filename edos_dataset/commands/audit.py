"""Pages to judge on: of the labels of a finished extension, and of the dialogues of any data set of ours: what
`edos audit` does.
"""

from pathlib import Path

from edos_dataset.audits.documents import draw_items
from edos_dataset.audits.errors import BOOKS, DIALOGUES, PAPER_READ
from edos_dataset.audits.page import Page, render
from edos_dataset.audits.passages import passages_of
from edos_dataset.augmentation.audit import write_audit
from edos_dataset.runs.commit import committed
from edos_dataset.runs.folder import OutputFolder
from edos_dataset.runs.out_file import check_out_file
from edos_dataset.runs.shards import write_text
from edos_dataset.runs.tables import configs_in
from edos_dataset.schema import EXTENDED

PAGE = "audit.html"


def write_page(extension: Path, per_label: int = 5, seed: int = 0, force: bool = False) -> Path:
    """Write the page anew into a folder that `edos extend` wrote, or into a copy of one.

    Args:
        extension: the folder.
        per_label: as of `write_audit`.
        seed: likewise.
        force: replace a page that somebody has edited, and the one in a copy, of which nobody knows.

    Returns:
        Path of the page.

    Raises:
        FolderError: the folder is none, the page would be lost, or `edos extend` is at work in the folder.
        ValueError: as of `write_audit`.
    """
    page = extension / PAGE
    if not (extension / ".run").exists():
        write_audit(extension, check_out_file(page, force=force), per_label, seed)
        return page
    with OutputFolder(extension, "extend", force=force) as folder:
        prepared = folder.prepare(keep=committed(extension).keys() - {PAGE})
        write_audit(extension, prepared / PAGE, per_label, seed)
        folder.commit()
    return page


def audits_labels(folder: Path, config: str | None = None) -> bool:
    """Return whether what a folder's audit shows are labels, as `edos extend` gives them, or else dialogues."""
    return config in (None, EXTENDED) and folder.is_dir() and EXTENDED in configs_in(folder)


def write_dialogues_page(
    folder: Path,
    config: str | None = None,
    unit: str = DIALOGUES,
    number: int | None = None,
    books: Path | None = None,
    seed: int = 0,
    around: int = 6,
    blind: bool = False,
    out: Path | None = None,
    force: bool = False,
) -> Path:
    """Write a page of dialogues, or of pairs of turns in a row, to judge by named error types.

    Args:
        folder: what `edos curate` or `edos books` wrote.
        config: one of its configs, by default its first.
        unit: DIALOGUES or PAIRS.
        number: of them, by default as many as the Gutenberg Dialogue paper's authors read (Section 4): 50 dialogues or
            100 pairs.
        books: the books that they were cut out of: the page then shows the paragraphs around them.
        seed: of the drawing; equal data, numbers and seeds give the same bytes.
        around: turns, or paragraphs, shown before and after, at most.
        blind: hide where each is from until it is judged.
        out: the HTML file, by default `audit_CONFIG_UNIT.html` in the working directory.
        force: replace a file that is there.

    Returns:
        Path of the page.

    Raises:
        FolderError: the folder is none of ours or damaged, or `out` cannot be written.
        ValueError: as of `draw_items` and `passages_of`.
    """
    number = PAPER_READ[unit][0] if number is None and unit in PAPER_READ else number or 0
    config, kind, items = draw_items(folder, config, unit, number, seed, around)
    target = check_out_file(out or Path(f"audit_{config}_{unit}.html"), force=force)
    if books is not None and kind != BOOKS:
        raise ValueError(f"config {config!r} of {folder} is not cut out of books: leave out --books")
    passages = {} if books is None else passages_of(items, books, around)
    write_text(target, render(Page(config, kind, unit, items, passages, blind)))
    return target
