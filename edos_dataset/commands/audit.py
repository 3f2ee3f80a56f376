"""Pages on which people judge dialogues or extended labels, and the error rates of their judgements."""

from collections.abc import Sequence
from pathlib import Path

from edos_dataset.audits.documents import draw_items, excerpts_of
from edos_dataset.audits.judgements import (
    BOOKS,
    DIALOGUES,
    PAIRS,
    PAPER_READ,
    dialogue_rates,
    of_dialogues,
    read_judgements,
)
from edos_dataset.audits.label_page import render_labels
from edos_dataset.audits.label_rates import label_rates
from edos_dataset.audits.label_sample import label_page
from edos_dataset.audits.page import Page, render
from edos_dataset.augmentation.audit import write_audit
from edos_dataset.commands.options import Result, UsageError, verb
from edos_dataset.runs.commit import committed
from edos_dataset.runs.folder import OutputFolder, check_out_file, configs_in
from edos_dataset.runs.shards import write_text
from edos_dataset.runs.stores.paths import place_of
from edos_dataset.schema import EXTENDED

PAGE = "audit.html"


@verb
def audit(
    sources: str | Path | Sequence[str | Path],
    *,
    config: str | None = None,
    dialogues: int | None = None,
    pairs: int | None = None,
    labels: bool = False,
    books: str | Path | None = None,
    around: int = 6,
    blind: bool = False,
    per_label: int = 5,
    seed: int = 0,
    by: str = "source",
    out: str | Path | None = None,
    force: bool = False,
) -> Result:
    """Write a page on which people judge dialogues or labels; or, given their judgements, return the error rates with
    95 % intervals.

    Args:
        sources: folder written by `curate`, `books` or `extend`; or files of judgements downloaded from its page, one
            file per annotator.
        config: config of the folder; by default its first.
        dialogues: number of random dialogues to judge; by default 50, as in the Gutenberg Dialogue paper (Section 4).
        pairs: number of random pairs of consecutive turns to judge, instead of dialogues.
        labels: judge random turns of every label, and the least certain ones, instead of dialogues; for a folder of
            `extend` the default.
        books: file or folder of the books that the dialogues are from; the page then shows the paragraphs around them.
        around: maximum number of turns or paragraphs to show before and after each item.
        blind: hide the source of each item, or its label, until it is judged.
        per_label: for labels: number of random turns per label (and step of `extend`), and of doubtful ones.
        seed: random seed; equal data, numbers and seeds give the same bytes.
        by: group the rates by "source", "document_id", "language", "split" or "config".
        out: HTML file, by default `audit_CONFIG_UNIT.html` in the working directory; that of a folder of `extend` is
            `audit.html` in it.
        force: replace an existing page; for a folder of `extend`, a page that was edited.

    Returns:
        `page`, its path, and `labels`, whether it shows labels; or the rates.

    Raises:
        FolderError: the folder was not written by this package or is damaged, or the page cannot be written.
        ValueError: two of dialogues, pairs and labels are given, a source is of the wrong kind, or judgements are
            damaged.
    """
    given = [place_of(each) for each in ([sources] if isinstance(sources, str | Path) else sources)]
    if [dialogues is not None, pairs is not None, labels].count(True) > 1:
        raise UsageError("give one of --dialogues, --pairs and --labels")
    _check_there(given)
    if not given[0].is_dir():
        return _rates(given, by)
    if len(given) > 1:
        raise UsageError(f"{given[1]}: a page is made of one folder")
    target = None if out is None else place_of(out)
    extended = (dialogues, pairs) == (None, None) and shows_labels(given[0], config)
    if extended:
        page = write_page(given[0], per_label, seed, force, around, blind)
    elif labels:
        page = write_labels_page(given[0], config, per_label, seed, around, blind, target, force)
    else:
        unit, number = (DIALOGUES, dialogues) if pairs is None else (PAIRS, pairs)
        read = None if books is None else place_of(books)
        page = write_dialogues_page(given[0], config, unit, number, read, seed, around, blind, target, force)
    return Result("audit", {"page": str(page), "labels": labels or extended}, page, then=f"open {page}")


def _check_there(sources: Sequence[Path]) -> None:
    for each in sources:
        if not each.exists():
            raise ValueError(
                f"there is no file or folder {each}: give a folder that `edos curate`, `books` or `extend` wrote, or "
                "judgements that were downloaded from its page"
            )


def _rates(files: Sequence[Path], by: str) -> Result:
    if not of_dialogues(read_judgements(files[0])):
        rates = label_rates(files, by)
        right = rates["overall"]["right"]
        shown = {"judged": rates["overall"]["judged"], "right": "none judged" if right is None else f"{right:.1%}"}
    else:
        rates = dialogue_rates(files, by)
        shown = {rates["unit"]: rates["items"], "without error": f"{rates['without_error']['share']:.1%}"}
    return Result("audit", rates, None, shown)


def shows_labels(folder: Path, config: str | None) -> bool:
    """Return whether the audit of a folder shows the labels of `extend` rather than dialogues."""
    return config in (None, EXTENDED) and EXTENDED in configs_in(folder)


def write_page(
    extension: Path, per_label: int = 5, seed: int = 0, force: bool = False, around: int = 6, blind: bool = False
) -> Path:
    """Write the page of labels into a folder of `extend`, or a copy of one, and return its path.

    With `force` a page that was edited is replaced, and the page of a copy.
    """
    page = extension / PAGE
    if not (extension / ".run").exists():
        write_audit(extension, check_out_file(page, force=force), per_label, seed, around, blind)
        return page
    with OutputFolder(extension, "extend", force=force) as folder:
        prepared = folder.prepare(keep=committed(extension).keys() - {PAGE})
        write_audit(extension, prepared / PAGE, per_label, seed, around, blind)
        folder.commit()
    return page


def write_labels_page(
    folder: Path,
    config: str | None = None,
    per_label: int = 5,
    seed: int = 0,
    around: int = 6,
    blind: bool = False,
    out: Path | None = None,
    force: bool = False,
) -> Path:
    """Write a page on which people judge the labels of a config's turns, and return its path; see `audit`."""
    page = label_page(folder, config, per_label, seed, around, blind)
    target = check_out_file(out or Path(f"audit_{page.config}_labels.html"), force=force)
    write_text(target, render_labels(page))
    return target


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
    """Write a page on which people judge dialogues, or pairs of consecutive turns, by named error types, and return its
    path; see `audit`.
    """
    number = PAPER_READ[unit][0] if number is None and unit in PAPER_READ else number or 0
    config, kind, items = draw_items(folder, config, unit, number, seed, around)
    target = check_out_file(out or Path(f"audit_{config}_{unit}.html"), force=force)
    if books is not None and kind != BOOKS:
        raise ValueError(f"config {config!r} of {folder} is not cut out of books: leave out --books")
    paragraphs = {} if books is None else excerpts_of(items, books, around)
    write_text(target, render(Page(config, kind, unit, items, paragraphs, blind)))
    return target
