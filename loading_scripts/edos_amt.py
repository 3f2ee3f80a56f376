"""The EDOS authors' crowd labels: `mturk_groundtruth_labels.csv`, three people's answers for each dialogue (CC BY 4.0;
the text is subtitles).
"""

from collections.abc import Iterator
from pathlib import Path

import datasets

from edos_dataset.releases.raw import RawFiles, RawReleaseBuilder, Reject, Row, read_crowd
from edos_dataset.schema import AMT_SEED, features


class EdosAmt(RawReleaseBuilder):
    """A dialogue a row: `dialogue_id`, `turns`, `label` of the last turn (null without a majority), `answers`; `edos
    crowd seed` makes splits of it.
    """

    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIGS = [datasets.BuilderConfig("amt", VERSION, description="the crowd's labels")]
    DEFAULT_CONFIG_NAME = "amt"

    @classmethod
    def raw_files(cls, config: str) -> RawFiles:
        """Return where the file lies."""
        return RawFiles("edos_amt", {"train": ["mturk_groundtruth_labels.csv"]}, ("edos_amt", ""))

    def _info(self) -> datasets.DatasetInfo:
        columns = {name: column for name, column in features(AMT_SEED).items() if name != "soft_label"}
        return datasets.DatasetInfo(
            description=__doc__, features=datasets.Features(columns), license="CC BY 4.0 (labels)"
        )

    def rows(self, path: Path) -> Iterator[Row | Reject]:
        """Yield the dialogues and what is rejected."""
        return read_crowd(path)
