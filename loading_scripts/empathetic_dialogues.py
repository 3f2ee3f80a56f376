"""EmpatheticDialogues by emotion, as the EDOS authors published it: plain, or with a label of their classifier on every turn (CC BY-NC 4.0)."""

from collections.abc import Iterator

import datasets

from edos_dataset.labels import EMOTIONS, LABELS
from edos_dataset.releases import Reject, ReleaseBuilder, Row, read_conversations
from edos_dataset.schema import list_of


class EmpatheticDialogues(ReleaseBuilder):
    """A conversation a row: `dialogue_id`, `emotion` of the speaker, `situation`, `turns` with `text`, `speaker` and, if annotated, `label`."""

    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIGS = [datasets.BuilderConfig("unannotated", VERSION), datasets.BuilderConfig("annotated", VERSION, description="with a machine's labels")]
    DEFAULT_CONFIG_NAME = "unannotated"
    FOLDER = "empathetic_dialogues"

    @classmethod
    def file_names(cls, config: str) -> list[str]:
        """Return the files of a config, one for each emotion."""
        return [f"{config}/{emotion}.csv" for emotion in EMOTIONS]

    def _info(self) -> datasets.DatasetInfo:
        label = datasets.ClassLabel(names=list(LABELS))
        turn = {"text": datasets.Value("string"), "speaker": datasets.Value("string"), "label": label}
        columns = {"dialogue_id": datasets.Value("string"), "emotion": label, "situation": datasets.Value("string"), "turns": list_of(turn)}
        return datasets.DatasetInfo(description=__doc__, features=datasets.Features(columns), license="CC BY-NC 4.0")

    def rows(self) -> Iterator[Row | Reject]:
        """Yield the conversations and what is rejected."""
        for path in self.files:
            yield from read_conversations(path, self.config.name == "annotated")
