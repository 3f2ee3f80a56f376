"""From pasted text to turns: one line a turn, speakers and dashes taken off, bad input explained in a sentence."""

import re
import unicodedata
from dataclasses import dataclass

from edos_dataset.cleaning.captions import name_speaker, split_dash, split_speaker
from edos_dataset.languages.detection import guess_language

MAX_TURNS = 50
MAX_CHARACTERS = 1_000
"""Most characters of a turn. The longest dialogue of both limits takes some seconds on one core."""

_ROOM = 100  # characters of a line beside its turn: speaker, dashes, blanks
# "A:", "b2:", "Speaker 1:"; names are found by `split_speaker`. No path ("C:\").
_LETTER = re.compile(r"((?:speaker|person) ?\w{1,2}|[a-z]\d?) ?:(?![/\\])\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Turn:
    """A turn: what is said, and by whom, or None where the line doesn't say."""

    text: str
    speaker: str | None = None


@dataclass(frozen=True)
class Pasted:
    """A pasted dialogue: its turns, oldest first, at least one, and sentences on what to beware of."""

    turns: tuple[Turn, ...]
    warnings: tuple[str, ...] = ()


def read_paste(text: str) -> Pasted:
    """Return the turns of a pasted text.

    Args:
        text: a turn a line; blank lines are ignored, and so are leading dashes. A speaker before a colon is taken off
            and kept beside the turn.

    Raises:
        ValueError: it is empty, too long, or without a letter; the message is a sentence for the page.
    """
    if not isinstance(text, str):
        raise ValueError(f"The dialogue must be one text, a turn a line; this was a {type(text).__name__}.")
    if len(text) > MAX_TURNS * (MAX_CHARACTERS + _ROOM):
        raise ValueError(
            f"This text has {len(text):,} characters. Paste at most {MAX_TURNS} turns of at most {MAX_CHARACTERS:,} "
            "characters each."
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"Character {error.start + 1:,} is half of a character, which no text may hold. Remove it, and press the "
            "button again."
        ) from error
    turns = tuple(turn for turn in map(read_line, text.splitlines()) if turn.text)
    if not turns:
        raise ValueError("There is nothing to read yet. Write a dialogue, one turn a line.")
    if len(turns) > MAX_TURNS:
        raise ValueError(
            f"This dialogue has {len(turns):,} turns, and at most {MAX_TURNS} can be read at once. Paste a part of it."
        )
    for number, turn in enumerate(turns, 1):
        if len(turn.text) > MAX_CHARACTERS:
            raise ValueError(
                f"Turn {number} has {len(turn.text):,} characters, and at most {MAX_CHARACTERS:,} are allowed. Put "
                "each turn on a line of its own."
            )
    if not any(map(_has_letters, turns)):
        raise ValueError(
            "There are no letters in this text, so there is no feeling to read from it. Paste a dialogue in words."
        )
    return Pasted(turns, tuple(_warnings(turns)))


def read_line(line: str) -> Turn:
    """Return the turn of a line; its text is empty if nothing is said."""
    text = "".join(character for character in " ".join(line.split()) if character.isprintable())
    text = name_speaker(split_dash(text)[0])
    if match := _LETTER.match(text):
        text, speaker = text[match.end() :], match[1]
    else:
        text, speaker = split_speaker(text)
    return Turn(split_dash(text)[0].strip(), speaker)


def _warnings(turns: tuple[Turn, ...]) -> list[str]:
    warnings = []
    mute = [str(number) for number, turn in enumerate(turns, 1) if not _has_letters(turn)]
    if mute:
        warnings.append(f"No letters in turn{'s' * (len(mute) > 1)} {', '.join(mute)}: a label there says little.")
    text = "\n".join(turn.text for turn in turns)
    letters = [character for character in text if character.isalpha()]
    if 2 * sum("LATIN" in unicodedata.name(letter, "") for letter in letters) < len(letters):
        return [
            *warnings,
            "Most letters of this text are not Latin. The models know English only; don't trust what they say of it.",
        ]
    language = guess_language(text)
    if language not in (None, "en"):
        warnings.append(
            f"This doesn't look like English, rather like “{language}”. The models know no other language; don't trust "
            "what they say of it."
        )
    return warnings


def _has_letters(turn: Turn) -> bool:
    return any(map(str.isalpha, turn.text))
