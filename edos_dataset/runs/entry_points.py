"""Entry points, by which other distributions extend this package."""

from importlib.metadata import EntryPoint, entry_points
from typing import Any


def entry_point_names(group: str) -> list[str]:
    """Return the sorted names of all entry points of a group."""
    return sorted({point.name for point in entry_points(group=group)})


def load_entry_point(group: str, name: str) -> tuple[Any, str] | None:
    """Return the object of a named entry point, and its distribution's name and version for messages; None if no
    installed distribution has the entry point.

    Raises:
        ValueError: two distributions use the name, or the object cannot be imported.
    """
    points = sorted(entry_points(group=group, name=name), key=distribution_of)
    if not points:
        return None
    if len(distributions := list(dict.fromkeys(map(distribution_of, points)))) > 1:
        raise ValueError(
            f"{name!r} of {group} is given by {' and by '.join(distributions)}: uninstall all of them but one"
        )
    return load(points[0]), distributions[0]


def load(point: EntryPoint) -> Any:  # noqa: ANN401 - any object
    """Return the object of an entry point.

    Raises:
        ValueError: it cannot be imported.
    """
    try:
        return point.load()
    except Exception as error:  # importing somebody else's module can raise anything
        distribution = distribution_of(point)
        raise ValueError(
            f"{point.name!r} of {point.group}, which {distribution} gives as {point.value}, cannot be imported: "
            f"{type(error).__name__}: {error}; mend or uninstall {distribution}"
        ) from error


def distribution_of(point: EntryPoint) -> str:
    """Return the name and version of an entry point's distribution."""
    return f"{point.dist.name} {point.dist.version}" if point.dist else "an unnamed distribution"
