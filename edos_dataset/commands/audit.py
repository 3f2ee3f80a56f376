"""The page of labels to read anew, written into a finished extension: what `edos audit` does."""

from pathlib import Path

from edos_dataset.augmentation.audit import write_audit
from edos_dataset.runs.commit import committed
from edos_dataset.runs.folder import OutputFolder, check_out_file

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
