"""EmpatheticDialogues (CC BY-NC 4.0): in splits, as its authors published it, or by emotion, as the EDOS authors did,
without or with a label on every turn.
"""

from collections.abc import Iterator
from pathlib import Path

import datasets

from edos_dataset.labels import EMOTIONS, LABELS
from edos_dataset.releases.builders import RawFiles, RawReleaseBuilder
from edos_dataset.releases.raw import Reject, Row, read_conversations, read_splits
from edos_dataset.schema import list_of


class EmpatheticDialogues(RawReleaseBuilder):
    """One conversation per row: `dialogue_id`, `emotion` of the speaker, `situation`, `turns` with `text`, `speaker`
    and, if annotated, `label`.
    """

    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIGS = [
        datasets.BuilderConfig("unannotated", VERSION, description="by emotion, without splits"),
        datasets.BuilderConfig("annotated", VERSION, description="the same with a machine's labels"),
        datasets.BuilderConfig("original", VERSION, description="train.csv, valid.csv and test.csv"),
    ]
    DEFAULT_CONFIG_NAME = "unannotated"

    @classmethod
    def raw_files(cls, config: str) -> RawFiles:
        """Return the locations of the files of a config: one for each split, or one for each emotion."""
        if config == "original":
            files = {"train": ["train.csv"], "validation": ["valid.csv"], "test": ["test.csv"]}
            return RawFiles("empathetic_dialogues", files, ("empathetic_dialogues/original", "original", ""))
        return RawFiles(
            "empathetic_intents",
            {"train": [f"{config}/{emotion}.csv" for emotion in EMOTIONS]},
            ("empathetic_dialogues", ""),
        )

    def _info(self) -> datasets.DatasetInfo:
        label = datasets.ClassLabel(names=list(LABELS))
        turn = {"text": datasets.Value("string"), "speaker": datasets.Value("string"), "label": label}
        columns = {
            "dialogue_id": datasets.Value("string"),
            "emotion": label,
            "situation": datasets.Value("string"),
            "turns": list_of(turn),
        }
        return datasets.DatasetInfo(description=__doc__, features=datasets.Features(columns), license="CC BY-NC 4.0")

    def rows(self, path: Path) -> Iterator[Row | Reject]:
        """Yield the conversations and the rejected ones."""
        return (
            read_splits(path)
            if self.config.name == "original"
            else read_conversations(path, self.config.name == "annotated")
        )
