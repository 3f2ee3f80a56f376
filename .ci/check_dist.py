"""Check what was built: the wheel holds the whole package, byte for byte, and nothing else; the sdist holds what
building and testing need.

    python .ci/check_dist.py DIST

DIST is a folder with one wheel and one sdist.
"""

import sys
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = "edos_dataset"
FOLDERS = {PACKAGE: PACKAGE, **{name: f"{PACKAGE}/{name}" for name in ("loading_scripts", "model_cards")}}
"""Folder of the checkout → its place in the wheel."""

REQUIRED = (
    "py.typed",
    "sample/truth.json",
    "loading_scripts/edos_run.py",
    "model_cards/general.md",
    "labeling/models/weights/general/packed.safetensors",
    "labeling/models/weights/large/packed.safetensors",
    "generation/weights/chat/packed.safetensors",
    "generation/weights/chat/predictor/packed.safetensors",
    "generation/weights/chat-large/packed.safetensors",
    "model_cards/chat.md",
    "segmentation/turns/weights/context/context.safetensors",
    "segmentation/turns/weights/net/net.safetensors",
    "segmentation/turns/weights/marks/net.safetensors",
    "segmentation/turns/weights/scripts/net.safetensors",
    "crowd/spellings.yaml",
    "crowd/languages/en.yaml",
    "label_sets/languages/de.yaml",
    "crowd/mturk/form.html",
    "web/crowd/assets/layout.html",
    "audits/labels.html",
    "publishing/cards/templates/dataset.md.j2",
    "web/page.css",
)
"""Files without which the package is broken, whatever the checkout holds."""

IN_SDIST = (
    "pyproject.toml",
    "constraints.txt",
    "Makefile",
    "README.md",
    "CHANGELOG.md",
    "LICENSE",
    "docs/",
    "tests/",
    "training/",
    f"{PACKAGE}/",
)
LARGEST = 100 * 2**20
"""Bytes; the index that wheels go to takes no larger file."""


def package_files(root: Path) -> dict[str, bytes]:
    """Return the files of the package in a checkout, by their path in the wheel."""
    found = {}
    for folder, place in FOLDERS.items():
        # what renders the cards stays in the checkout
        for path in (root / folder).glob("*.md") if folder == "model_cards" else (root / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                found[f"{place}/{path.relative_to(root / folder).as_posix()}"] = path.read_bytes()
    return found


def wheel_faults(wheel: Path, expected: Mapping[str, bytes]) -> list[str]:
    """Return what is wrong with a wheel, a sentence each."""
    with zipfile.ZipFile(wheel) as archive:
        held = {name: archive.read(name) for name in archive.namelist() if ".dist-info/" not in name}
    needed = {f"{PACKAGE}/{name}" for name in REQUIRED} | set(expected)
    faults = [f"{wheel.name} lacks {name}" for name in sorted(needed - set(held))]
    faults += [
        f"{wheel.name} holds {name}, which is no file of the package" for name in sorted(set(held) - set(expected))
    ]
    faults += [
        f"{wheel.name} holds another {name} than the checkout"
        for name in sorted(set(held) & set(expected))
        if held[name] != expected[name]
    ]
    return faults


def sdist_faults(sdist: Path) -> list[str]:
    """Return what is wrong with an sdist, a sentence each."""
    with tarfile.open(sdist) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    faults = [
        f"{sdist.name} lacks {wanted}"
        for wanted in IN_SDIST
        if not any(name == wanted or (wanted[-1] == "/" and name.startswith(wanted)) for name in names)
    ]
    return faults + [
        f"{sdist.name} holds {name}, a by-product"
        for name in names
        if "__pycache__" in name or name.startswith((".venv", "build/", "dist/"))
    ]


def main(arguments: list[str]) -> None:
    """Check a folder, from the command line."""
    if len(arguments) != 1:
        sys.exit(__doc__)
    dist = Path(arguments[0])
    wheels, sdists = sorted(dist.glob("*.whl")), sorted(dist.glob("*.tar.gz"))
    if len(wheels) != 1 or len(sdists) != 1:
        sys.exit(
            f"{dist} must hold one wheel and one sdist, it holds {len(wheels)} and {len(sdists)}: empty it and build "
            "again"
        )
    faults = wheel_faults(wheels[0], package_files(ROOT)) + sdist_faults(sdists[0])
    faults += [
        f"{path.name} has {path.stat().st_size:,} bytes, more than {LARGEST:,}"
        for path in (*wheels, *sdists)
        if path.stat().st_size > LARGEST
    ]
    if faults:
        sys.exit("\n".join(faults))
    sys.stdout.write(
        "".join(f"{path.name}: {path.stat().st_size:,} bytes, as it should be\n" for path in (*wheels, *sdists))
    )


if __name__ == "__main__":
    main(sys.argv[1:])
