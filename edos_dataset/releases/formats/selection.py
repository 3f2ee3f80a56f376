"""What a user selects of a source: its part, format and columns."""

from dataclasses import dataclass

from edos_dataset.releases.formats.forms import FORMS


@dataclass(frozen=True)
class Selection:
    """The part of a source to read.

    Attributes:
        config: Config of a folder of this package or of a dataset on the Hub; by default its first one.
        split: Split of a saved dataset or of one on the Hub; by default all, each dialogue with its `split`.
        revision: Revision of a dataset on the Hub.
        column: Column or key of the texts or dialogues; by default the first known one.
        form: One of FORMS; by default decided by the file's name and beginning.
        id_column: Column of the dialogues' ids; by default the first known one.
        speaker_column: Column of the speakers, which becomes `speaker`; by default the first known one, which keeps
            its name.
        time_column: Column of times, by which the turns of a dialogue are ordered; by default the known ones.
        one_dialogue: Treat all rows as one dialogue.
        skip_bad: Leave out records that are neither dialogues nor turns, instead of raising an error that lists them.
        keep_system: Treat system prompts of chats as turns.
        keep_labels: Keep all values of turns under their names, including labels from an earlier call.
        called: Name of the source in messages; by default its path.

    Raises:
        ValueError: The format is unknown, or the settings contradict each other.
    """

    config: str | None = None
    split: str | None = None
    revision: str | None = None
    column: str | None = None
    form: str | None = None
    id_column: str | None = None
    speaker_column: str | None = None
    time_column: str | None = None
    one_dialogue: bool = False
    skip_bad: bool = False
    keep_system: bool = False
    called: str | None = None
    keep_labels: bool = False

    def __post_init__(self) -> None:
        if self.form is not None and self.form not in FORMS:
            raise ValueError(f"unknown format {self.form!r}: expected one of {', '.join(FORMS)}")
        if self.one_dialogue and self.id_column is not None:
            raise ValueError("--one-dialogue makes all rows one dialogue: leave --id-column out")

    def check_no_rows(self, name: str) -> None:
        """Check that no option for tables of turns was given, for a source of whole dialogues.

        Raises:
            ValueError: Such an option was given.
        """
        given = [option for option in self.columns if option in ("--speaker-column", "--time-column")]
        given += ["--one-dialogue"] if self.one_dialogue else []
        if given:
            raise ValueError(
                f"{given[0]} is for tables with a turn a row, and {name} has whole dialogues: leave it out"
            )

    @property
    def columns(self) -> dict[str, str]:
        """The columns that the user named: option → column."""
        named = {
            "--column": self.column,
            "--id-column": self.id_column,
            "--speaker-column": self.speaker_column,
            "--time-column": self.time_column,
        }
        return {option: name for option, name in named.items() if name is not None}


ALL = Selection()
"""The whole source, with columns found by name."""
