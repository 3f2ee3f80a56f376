"""Sources in a store: the objects below an address, as the walk lists files."""

from collections.abc import Iterator

from edos_dataset.runs.stores.base import Status
from edos_dataset.runs.stores.paths import RemotePath
from edos_dataset.sources.paths import spell_out


def objects_below(source: RemotePath) -> Iterator[tuple[str, str, Status]]:
    """Yield the object of an address, or those of a folder: path, which begins with the name of the source, where it
    is, and what the store says of it; in the order of their keys.

    Raises:
        StoreError: the store does not answer, or there is no such bucket.
        FileNotFoundError: there is neither.
        PermissionError: it may not be listed.
    """
    name, bucket = spell_out(source.name), f"{source.scheme}://{source.parts[1]}"
    if (one := source.status()) is not None:
        yield name, str(source), one
        return
    folder = f"{source.key}/" if source.key else ""
    none = True
    for key, status in source.store.list(folder):
        none = False
        if status is not None and not key.endswith("/"):
            yield f"{name}/{spell_out(key[len(folder) :])}", f"{bucket}/{key}", status
    if none:
        raise FileNotFoundError(2, "there is no such object or folder", str(source))
