"""XED: sentences of OpenSubtitles with Plutchik's emotions, and projections to other languages (Öhman et al., 2020)."""

from collections.abc import Iterator
from pathlib import Path

from edos_dataset.cleaning.markup import repair_letters
from edos_dataset.releases.labelled_sets.record import LabelledDialogue, Turn, dialogue_of, lines_of
from edos_dataset.releases.labelled_sets.texts import plain_text, spoken_text, unquoted, untokenised, with_names
from edos_dataset.releases.raw import Reject

EMOTIONS = ("anger", "anticipation", "disgust", "fear", "joy", "sadness", "surprise", "trust", "neutral")
"""XED's labels, by their numbers from 1."""


def read_xed(path: Path) -> Iterator[LabelledDialogue | Reject]:
    """Yield the sentences of `en-annotated.tsv` or `LANGUAGE-projections.tsv`, lines `text TAB numbers`, or of
    `neu_LANGUAGE.txt`, lines `9 TAB text`; a sentence is named by its line.

    The neutral sentences have lost their commas; nothing here can give them back. Projections hold lines of
    alignment instead of sentences, which are rejected, and so is a sentence that an open quote tore in two.
    """
    neutral = path.name.startswith("neu_")
    language = path.stem.removeprefix("neu_").partition("-")[0]
    for number, line in lines_of(path):
        values = line.split("\t")
        given, text = (values[0], values[-1]) if neutral else (values[-1], values[0])
        names = [EMOTIONS[int(value) - 1] for value in given.split(",") if value.strip() in tuple("123456789")]
        if len(values) != 2:
            yield Reject(path.name, number, "wrong_columns", line[:60])
        elif not names or len(names) != len(given.split(",")):
            yield Reject(path.name, number, "unknown_label", given[:60])
        else:
            said = spoken_text(with_names(untokenised(plain_text(unquoted(text)), language)))
            said = repair_letters(said) if language == "en" else said
            turn = Turn(number, said, None, tuple(dict.fromkeys(names)))
            yield from dialogue_of("xed", path.name, str(number), [turn])
