"""The EDOS authors' crowd labels: `mturk_groundtruth_labels.csv`, the answers of three people for each dialogue (CC
BY 4.0; the text is that of subtitles).
"""

from collections.abc import Iterator
from pathlib import Path

import datasets

from edos_dataset.releases.builders import RawFiles, RawReleaseBuilder
from edos_dataset.releases.raw import Reject, Row, read_crowd
from edos_dataset.schema import AMT_SEED, features


class EdosAmt(RawReleaseBuilder):
    """One dialogue per row: `dialogue_id`, `turns`, `label` of the last turn (null without a majority) and `answers`;
    `edos crowd seed` divides it into splits.
    """

    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIGS = [datasets.BuilderConfig("amt", VERSION, description="the crowd's labels")]
    DEFAULT_CONFIG_NAME = "amt"

    @classmethod
    def raw_files(cls, config: str) -> RawFiles:
        """Return the location of the file."""
        return RawFiles("edos_amt", {"train": ["mturk_groundtruth_labels.csv"]}, ("edos_amt", ""))

    def _info(self) -> datasets.DatasetInfo:
        columns = {name: column for name, column in features(AMT_SEED).items() if name != "soft_label"}
        return datasets.DatasetInfo(
            description=__doc__, features=datasets.Features(columns), license="CC BY 4.0 (labels)"
        )

    def rows(self, path: Path) -> Iterator[Row | Reject]:
        """Yield the dialogues and the rejected rows."""
        return read_crowd(path)
