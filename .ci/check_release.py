"""Check that a tag, the version of the package, its citation and its changelog agree; write the notes of the release to
standard output.

python .ci/check_release.py v1.2.0 > notes.md
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
_ENTRY = re.compile(
    r"^## \[(?P<name>[^\]]+)\](?: - (?P<date>\d{4}-\d{2}-\d{2}))?[ ]*\n(?P<notes>.*?)(?=^## |\Z)",
    re.MULTILINE | re.DOTALL,
)


def version_in(path: Path, pattern: str) -> str:
    """Return the version that a file names, by a pattern with one group.

    Raises:
        ValueError: it names none.
    """
    found = re.search(pattern, path.read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise ValueError(f"{path.name} names no version")
    return found[1]


def release_notes(tag: str, root: Path) -> str:
    """Return the changelog's notes on a release.

    Args:
        tag: "v" and the version.
        root: the checkout.

    Raises:
        ValueError: the tag is not that of the package's version, or citation or changelog are of another one; the
            message says what to change.
    """
    version = version_in(root / "edos_dataset" / "version.py", r'^__version__ = "([^"]+)"')
    if tag != f"v{version}":
        raise ValueError(
            f"the tag is {tag}, the version of edos_dataset/version.py is {version}: tag v{version}, or change the "
            "version first"
        )
    cited = version_in(root / "CITATION.cff", r"^version: *(\S+)")
    if cited != version:
        raise ValueError(f"CITATION.cff cites version {cited}, the package is {version}")
    entries = [entry for entry in _ENTRY.finditer((root / "CHANGELOG.md").read_text(encoding="utf-8"))]
    waiting = next((entry["notes"].strip() for entry in entries if entry["name"] == "Unreleased"), "")
    if waiting:
        raise ValueError(f"CHANGELOG.md still has entries under [Unreleased]: put them under '## [{version}] - DATE'")
    released = [entry for entry in entries if entry["name"] != "Unreleased"]
    if not released or released[0]["name"] != version or not released[0]["date"]:
        found = f"{released[0]['name']} of {released[0]['date'] or 'no date'}" if released else "none"
        raise ValueError(f"the top entry of CHANGELOG.md must be '## [{version}] - DATE'; it is {found}")
    notes = released[0]["notes"].strip()
    if not notes:
        raise ValueError(f"CHANGELOG.md says nothing about {version}")
    return notes


def main(arguments: list[str]) -> None:
    """Check a tag, from the command line."""
    if len(arguments) != 1:
        sys.exit(__doc__)
    try:
        sys.stdout.write(release_notes(arguments[0], ROOT) + "\n")
    except ValueError as error:
        sys.exit(f"no release: {error}")


if __name__ == "__main__":
    main(sys.argv[1:])
