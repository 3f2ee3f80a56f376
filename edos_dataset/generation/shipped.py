"""The response models that the package carries: the one list of their names, and where they lie."""

from pathlib import Path

from edos_dataset.encoders.folders import kept_folder
from edos_dataset.generation.packed import FILE, digest_of, unpack
from edos_dataset.labeling.models.shipped import cards_folder

WEIGHTS = Path(__file__).with_name("weights")
SHIPPED = ("chat",)
"""Names by which they are loaded, everywhere; the first one answers where none is named."""
SHIPPED_RESPONDERS = " or ".join(map(repr, SHIPPED))
"""The names, as messages tell them."""


def shipped_folder(name: str) -> Path:
    """Return the folder of a response model that ships, as `Responder.load` reads it; written at the first call in the
    cache of Hugging Face (`HF_HOME`), and kept.

    Raises:
        ValueError: none of that name ships, or its packed weights are missing or damaged.
    """
    source = WEIGHTS / name
    if name not in SHIPPED or not (source / FILE).is_file():
        raise ValueError(
            f"no response model {name!r} comes with this package: {SHIPPED_RESPONDERS} should, "
            f"in {WEIGHTS}; install it again, or name a model, its folder or its Hub id, owner/model"
        )
    # The code lies beside the weights, so a folder of another version of this package is another one.
    folder = kept_folder(f"{name}-{digest_of(source)[:16]}")
    if not folder.is_dir():
        unpack(source, folder, cards_folder() / f"{name}.md")
    return folder
