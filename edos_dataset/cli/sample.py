"""`edos sample`."""

from pathlib import Path
from typing import Annotated

import typer

from edos_dataset.cli.errors import explained


@explained()
def sample(folder: Annotated[Path, typer.Argument(help="Folder to write.", show_default=False)]) -> None:
    """Copy the packaged sample, invented short films in every format with every kind of defect, to a folder, to try
    `edos curate` on; no file of yours is replaced.
    """
    from filecmp import cmp
    from importlib.resources import as_file, files
    from shutil import copytree

    with as_file(files("edos_dataset") / "sample" / "films") as films:
        for path in sorted(Path(films).rglob("*")):
            target = folder / path.relative_to(films)
            if path.is_file() and target.exists() and not (target.is_file() and cmp(path, target, shallow=False)):
                raise ValueError(f"{target} is there already and not the sample's: give another folder")
        copytree(films, folder, dirs_exist_ok=True)
    number = sum(path.is_file() for path in folder.rglob("*"))
    typer.echo(f"{number} files in {folder}; next: edos curate {folder} --out edos")
