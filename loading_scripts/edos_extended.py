"""The EDOS authors' extended labels, spread from the crowd's to similar dialogues or assigned by a classifier (CC BY
4.0; the text is that of subtitles).
"""

from collections.abc import Iterator
from pathlib import Path

import datasets

from edos_dataset.releases.builders import RawFiles, RawReleaseBuilder
from edos_dataset.releases.raw import Reject, Row, read_extension
from edos_dataset.schema import EXTENDED, features

_METHODS = {"similar": "spread", "self_labeled": "self-label", "similar_self_labeled": "spread"}
_COLUMNS = ("dialogue_id", "turns", "label", "method", "seed_id", "similarity", "confidence")


class EdosExtended(RawReleaseBuilder):
    """One dialogue per row, with the label of its last turn; the columns are those of the config `extended`."""

    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIGS = [
        datasets.BuilderConfig(name, datasets.Version("1.0.0"), description=f"{name}_dialogs.csv") for name in _METHODS
    ]
    DEFAULT_CONFIG_NAME = "similar"

    @classmethod
    def raw_files(cls, config: str) -> RawFiles:
        """Return the location of the file of a config."""
        return RawFiles("edos_amt", {"train": [f"{config}_dialogs.csv"]}, ("edos_amt", ""))

    def _info(self) -> datasets.DatasetInfo:
        known = features(EXTENDED)
        return datasets.DatasetInfo(
            description=__doc__,
            features=datasets.Features({name: known[name] for name in _COLUMNS}),
            license="CC BY 4.0 (labels)",
        )

    def rows(self, path: Path) -> Iterator[Row | Reject]:
        """Yield the dialogues and the rejected rows."""
        return read_extension(path, _METHODS[self.config.name])
