"""Readers, files and licences of third-party labelled sets."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from edos_dataset.cleaning.captions import repair_letters
from edos_dataset.releases.labelled_sets.label_sets import known_names
from edos_dataset.releases.labelled_sets.texts import plain_text, spoken_text, unquoted, untokenised, with_names
from edos_dataset.releases.raw import Reject, read_csv
from edos_dataset.runs.untrusted import UntrustedInputError, json_of


@dataclass(frozen=True)
class LabelledDialogue:
    """A dialogue whose turns have labels of its own set. A single sentence is a dialogue of one turn.

    Attributes:
        dialogue_id: Unique in its file.
        turns: Texts in order; none is empty.
        speakers: Speaker of each turn, None if not stated.
        labels: Labels of each turn: none, one or several.
    """

    dialogue_id: str
    turns: tuple[str, ...]
    speakers: tuple[str | None, ...]
    labels: tuple[tuple[str, ...], ...]


class Turn(NamedTuple):
    """A turn of a file.

    Attributes:
        line: Line of the file, from 1; None if a line contains several turns.
        text: Cleaned text; empty if nothing is said.
        speaker: The speaker, None if not stated.
        labels: Labels of the set.
    """

    line: int | None
    text: str
    speaker: str | None
    labels: tuple[str, ...]


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file that are not blank, with their numbers from 1.

    Raises:
        ValueError: The file is not UTF-8.
    """
    try:
        with path.open(encoding="utf-8-sig") as file:
            yield from ((number, line.rstrip("\n")) for number, line in enumerate(file, start=1) if line.strip())
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 ({error}): save it as UTF-8, or get it again") from error


def dialogue_of(
    source: str, file: str, name: str, turns: Iterable[Turn | Reject]
) -> Iterator[LabelledDialogue | Reject]:
    """Yield the dialogue of some turns, if it is complete, and the rejects.

    A turn in which nothing is said (a laugh, a stage direction) is rejected alone, since the history is complete
    without it. A turn that could not be read, or has an unknown label, rejects its dialogue.

    Args:
        source: Name of the set.
        file: Name of the file.
        name: Id of the dialogue.
        turns: Turns in order, or rejects for those that could not be read.
    """
    said: list[Turn] = []
    broken: Reject | None = None
    for turn in turns:
        rejected = turn if isinstance(turn, Reject) else _reject(source, file, name, turn)
        if isinstance(turn, Turn) and rejected is None:
            said.append(turn)
        elif rejected is not None:
            broken = broken if rejected.reason == "no_text" else rejected
            yield rejected
    if broken and said:
        yield Reject(file, None, broken.reason, f"{name}: one of its turns is rejected")
    elif said:
        _, texts, speakers, labels = zip(*said, strict=True)
        yield LabelledDialogue(name, texts, speakers, labels)


def _reject(source: str, file: str, name: str, turn: Turn) -> Reject | None:
    """Return the reject of a turn; None if the turn is accepted."""
    strange = [label for label in turn.labels if label not in known_names(source)]
    if strange:
        return Reject(file, turn.line, "unknown_label", f"{name}: {strange[0]}")
    return None if turn.text else Reject(file, turn.line, "no_text", name)


def read_dailydialog(path: Path) -> Iterator[LabelledDialogue | Reject]:
    """Yield the dialogues of `train.json`, `valid.json` or `test.json`, one per line, in ParlAI's format.

    A turn has two labels, its emotion ("happiness") and its act ("act:question"). Two speakers, A and B, alternate. The
    id of a dialogue is its line number.
    """
    for number, line in lines_of(path):
        try:
            turns = [_dailydialog_turn(number, place, turn) for place, turn in enumerate(json_of(line)["dialogue"])]
        except (UntrustedInputError, KeyError, TypeError, AttributeError) as error:
            yield Reject(path.name, number, "wrong_columns", str(error))
            continue
        yield from dialogue_of("dailydialog", path.name, str(number), turns)


def _dailydialog_turn(line: int, place: int, turn: Mapping[str, str]) -> Turn:
    labels = (turn["emotion"].strip().lower(), f"act:{turn['act'].strip().lower()}")
    return Turn(line, untokenised(plain_text(turn["text"])), "AB"[place % 2], labels)


def read_emorynlp(path: Path) -> Iterator[LabelledDialogue | Reject]:
    """Yield the scenes of `train.json`, `dev.json` or `test.json`, or of a table `train.csv` as MELD's authors keep it.

    Raises:
        ValueError: The file is not JSON of episodes with scenes, or not a table with a row for each utterance.
    """
    if path.suffix == ".csv":
        yield from _scenes_of_table(path)
        return
    try:
        scenes = [scene for episode in json_of(path.read_bytes())["episodes"] for scene in episode["scenes"]]
    except (UntrustedInputError, KeyError, TypeError) as error:
        why = f"{path} is not a file of EmoryNLP: expected JSON of episodes with scenes ({error})"
        raise ValueError(why) from error
    for number, scene in enumerate(scenes, start=1):
        try:
            name, turns = str(scene["scene_id"]), [_emorynlp_turn(utterance) for utterance in scene["utterances"]]
        except (KeyError, TypeError, AttributeError) as error:
            yield Reject(path.name, None, "wrong_columns", f"scene {number}: {error}")
            continue
        yield from dialogue_of("emorynlp", path.name, name, turns)


def _emorynlp_turn(utterance: Mapping[str, Any]) -> Turn:
    speaker = plain_text(" and ".join(utterance["speakers"])) or None
    return Turn(None, spoken_text(utterance["transcript"]), speaker, (utterance["emotion"].strip().lower(),))


_QUOTED = re.compile(r"(['\"])(.*?)\1")
_EMORYNLP_COLUMNS = ("Utterance", "Speaker", "Emotion", "Scene_ID", "Season", "Episode")


def _scenes_of_table(path: Path) -> Iterator[LabelledDialogue | Reject]:
    scenes: dict[str, list[Turn]] = {}
    for line, row in read_csv(path, _EMORYNLP_COLUMNS):
        if isinstance(row, Reject):
            yield row
            continue
        season, episode, scene = (row[column].strip() for column in ("Season", "Episode", "Scene_ID"))
        speaker = plain_text(" and ".join(quoted[2] for quoted in _QUOTED.finditer(row["Speaker"]))) or None
        said = Turn(line, spoken_text(row["Utterance"]), speaker, (row["Emotion"].strip().lower(),))
        scenes.setdefault(f"s{season:0>2}_e{episode:0>2}_c{scene:0>2}", []).append(said)
    for name, turns in scenes.items():
        yield from dialogue_of("emorynlp", path.name, name, turns)


_ESCONV_TURN = re.compile(r"[\d.]+ ([01]) (\d{1,9}) (?:\[([^\]]*)\] ?)?(.*)")
_ESCONV_SPEAKERS = ("seeker", "helper")


def read_esconv(path: Path) -> Iterator[LabelledDialogue | Reject]:
    """Yield the conversations of `train.tsv`, `dev.tsv` or `test.tsv`, each once.

    A line is a turn of the helper after up to four turns, `loss speaker number [strategy] text`, separated by " EOS ".
    A line continues a conversation if it ends later, begins at most one turn after its end, and agrees on the turns
    that both have; if turns are missing in between, a new dialogue begins, so that no history has a gap. The id of a
    dialogue is its first line number.
    """
    first, turns = 1, dict[int, Turn]()
    for number, line in lines_of(path):
        matches = [_ESCONV_TURN.fullmatch(part.strip()) for part in " ".join(line.split()).split(" EOS ")]
        found = {int(match[2]): _esconv_turn(number, match) for match in matches if match}
        if len(found) != len(matches):
            yield Reject(path.name, number, "wrong_columns", line[:60])
            continue
        if turns and not _continues(turns, found):
            yield from dialogue_of("esconv", path.name, str(first), turns.values())
            first, turns = number, {}
        turns.update({place: turn for place, turn in sorted(found.items()) if place not in turns})
    yield from dialogue_of("esconv", path.name, str(first), turns.values())


def _continues(turns: dict[int, Turn], found: dict[int, Turn]) -> bool:
    reaches = min(found) <= max(turns) + 1 <= max(found)
    return reaches and all(turns[place][1:] == found[place][1:] for place in turns.keys() & found.keys())


def _esconv_turn(line: int, match: re.Match[str]) -> Turn:
    labels = (match[3].strip().lower(),) if match[3] else ()
    return Turn(line, plain_text(match[4]), _ESCONV_SPEAKERS[int(match[1])], labels)


def _number(text: str) -> int | None:
    """Return the number that a text says in decimal digits; None for anything else, or more than nine digits."""
    return int(text) if text.strip().isdecimal() and len(text.strip()) < 10 else None


def read_goemotions(path: Path) -> Iterator[LabelledDialogue | Reject]:
    """Yield the comments of `train.tsv`, `dev.tsv` or `test.tsv`, lines `text TAB numbers TAB id`.

    Args:
        path: The file; `labels.txt` beside it has the names of the labels, one per line, by number from 0.

    Raises:
        ValueError: There is no `labels.txt`.
    """
    labels = path.with_name("labels.txt")
    if not labels.is_file():
        raise ValueError(f"{labels} does not exist: it should have the labels of {path.name}, one per line")
    names = dict(enumerate(line.strip() for _, line in lines_of(labels)))
    for number, line in lines_of(path):
        values = line.split("\t")
        if len(values) != 3:
            yield Reject(path.name, number, "wrong_columns", line[:60])
            continue
        text, given, name = values
        if not all(_number(value) in names for value in given.split(",")):
            yield Reject(path.name, number, "unknown_label", f"{name}: {given}")
            continue
        turn = Turn(
            number, with_names(plain_text(unquoted(text))), None, tuple(names[int(value)] for value in given.split(","))
        )
        yield from dialogue_of("goemotions", path.name, name, [turn])


_MELD_COLUMNS = ("Utterance", "Speaker", "Dialogue_ID", "Utterance_ID")


def read_meld(path: Path) -> Iterator[LabelledDialogue | Reject]:
    """Yield the dialogues of `train_sent_emo.csv`, `dev_sent_emo.csv` or `test_sent_emo.csv`, utterances by number.

    Some dialogues lack utterances that MELD's authors left out; the others form the dialogue. A row without a usable
    number is rejected.

    Raises:
        ValueError: The file is not CSV in UTF-8, or lacks a column.
    """
    yield from _dialogues_of_meld("meld", path, "Emotion", str)


def read_emotyda(path: Path) -> Iterator[LabelledDialogue | Reject]:
    """Yield the dialogues of EMOTyDA's `MELD.csv`, as `read_meld` does: MELD's utterances with their dialogue acts."""
    yield from _dialogues_of_meld("emotyda", path, "Dialogue Act", _reread)


def _dialogues_of_meld(
    source: str, path: Path, column: str, mend: Callable[[str], str]
) -> Iterator[LabelledDialogue | Reject]:
    """Yield the dialogues of a table with MELD's columns, labelled by one of them; utterances are mended first."""
    dialogues: dict[str, dict[int, Turn]] = {}
    for line, row in read_csv(path, (*_MELD_COLUMNS, column)):
        if isinstance(row, Reject):
            yield row
            continue
        name, number = row["Dialogue_ID"].strip(), _number(row["Utterance_ID"])
        turns = dialogues.setdefault(name, {})
        if not name or number is None:
            yield Reject(path.name, line, "no_id", f"{name}: {row['Utterance_ID'].strip()[:60]}")
        elif number in turns:
            yield Reject(path.name, line, "repeated_id", f"{name}: {number}")
        else:
            text = spoken_text(mend(row["Utterance"]))
            turns[number] = Turn(line, text, plain_text(row["Speaker"]) or None, (row[column].strip().lower(),))
    for name, turns in dialogues.items():
        yield from dialogue_of(source, path.name, name, (turns[number] for number in sorted(turns)))


def _reread(text: str) -> str:
    """Return a text as it was before its UTF-8 was read as Mac Roman, as EMOTyDA's was; others as they are."""
    try:
        return text.encode("mac_roman").decode("utf-8")
    except UnicodeError:
        return text


_MUSTARD_COLUMNS = ("SCENE", "KEY", "SENTENCE", "SPEAKER", "Implicit_Emotion")


def read_mustard(path: Path) -> Iterator[LabelledDialogue | Reject]:
    """Yield the scenes of MUStARD++'s `mustard++_text.csv`: the utterances before, without labels, and a last one whose
    label is the emotion that is meant ("ridicule"), half of them sarcastic (Ray et al., 2022). "PERSON" is nobody.
    """
    scenes: dict[str, list[Turn | Reject]] = {}
    for line, row in read_csv(path, _MUSTARD_COLUMNS):
        if isinstance(row, Reject):
            yield row
            continue
        scene, speaker, meant = (row[name].strip() for name in ("SCENE", "SPEAKER", "Implicit_Emotion"))
        if not scene:
            yield Reject(path.name, line, "no_id", row["SENTENCE"].strip()[:60])
            continue
        known = None if speaker in ("", "PERSON") else speaker.title()
        said = Turn(line, spoken_text(row["SENTENCE"]), known, (meant.lower(),) if meant else ())
        scenes.setdefault(scene, []).append(said)
    for scene, turns in scenes.items():
        yield from dialogue_of("mustard", path.name, scene, turns)


_TRANSCRIBER = re.compile(r"\*.*|\b[a-z]+_[a-z]+\b")


def read_swda(path: Path) -> Iterator[LabelledDialogue | Reject]:
    """Yield the conversations of `train.txt`, `val.txt` or `test.txt`, lines `speaker|text|act` after a line
    "# NUMBER"; a file without such lines is one conversation.

    Every utterance is a turn, even after one of the same speaker, since each has its own act. Noises and transcribers'
    remarks ("child_talking", and everything after "*") are removed.
    """
    name, turns = path.stem, list[Turn | Reject]()
    for number, line in lines_of(path):
        if line.startswith("#"):
            yield from dialogue_of("swda", path.name, name, turns)
            name, turns = line.strip("# "), []
            continue
        values = line.split("|")
        if len(values) != 3:
            turns.append(Reject(path.name, number, "wrong_columns", line[:60]))
        else:
            speaker, text, act = values
            said = spoken_text(_TRANSCRIBER.sub("", text))
            turns.append(Turn(number, said, speaker.strip() or None, (act.strip().replace('_"', ""),)))
    yield from dialogue_of("swda", path.name, name, turns)


XED_EMOTIONS = ("anger", "anticipation", "disgust", "fear", "joy", "sadness", "surprise", "trust", "neutral")
"""XED's labels, numbered from 1."""


def read_xed(path: Path) -> Iterator[LabelledDialogue | Reject]:
    """Yield the sentences of `en-annotated.tsv` or `LANGUAGE-projections.tsv`, lines `text TAB numbers`, or of
    `neu_LANGUAGE.txt`, lines `9 TAB text`; the id of a sentence is its line number.

    The neutral sentences have lost their commas, which cannot be restored. Alignment lines among the projections and
    sentences that an unclosed quote split are rejected.
    """
    neutral = path.name.startswith("neu_")
    language = path.stem.removeprefix("neu_").partition("-")[0]
    for number, line in lines_of(path):
        values = line.split("\t")
        given, text = (values[0], values[-1]) if neutral else (values[-1], values[0])
        names = [XED_EMOTIONS[int(value) - 1] for value in given.split(",") if value.strip() in tuple("123456789")]
        if len(values) != 2:
            yield Reject(path.name, number, "wrong_columns", line[:60])
        elif not names or len(names) != len(given.split(",")):
            yield Reject(path.name, number, "unknown_label", given[:60])
        else:
            said = spoken_text(with_names(untokenised(plain_text(unquoted(text)), language)))
            said = repair_letters(said) if language == "en" else said
            turn = Turn(number, said, None, tuple(dict.fromkeys(names)))
            yield from dialogue_of("xed", path.name, str(number), [turn])


Reader = Callable[[Path], Iterator[LabelledDialogue | Reject]]


class LabelledSet(NamedTuple):
    """A labelled set.

    Attributes:
        read: Reader of one of its files.
        files: Split → its files, relative to the data folder; some may be missing in a copy.
        licence: Licence as its owners state it.
        commercial: Whether its licence allows commercial use of weights trained on it.
    """

    read: Reader
    files: dict[str, tuple[str, ...]]
    licence: str
    commercial: bool


SOURCES: dict[str, LabelledSet] = {
    "meld": LabelledSet(
        read_meld,
        {part: (f"meld/{part}_sent_emo.csv",) for part in ("train", "dev", "test")},
        "GPL v3",
        False,  # it is unsettled whether weights are a work "based on" GPL data; companies mostly avoid it
    ),
    "emotyda": LabelledSet(read_emotyda, {"train": ("emotyda/MELD.csv",)}, "none stated; MELD's is GPL v3", False),
    "dailydialog": LabelledSet(
        read_dailydialog,
        {"train": ("dailydialog/train.json",), "dev": ("dailydialog/valid.json",), "test": ("dailydialog/test.json",)},
        "CC BY-NC-SA 4.0",
        False,
    ),
    "emorynlp": LabelledSet(
        read_emorynlp,
        {
            "train": ("emorynlp/train.json", "emorynlp/train.csv"),
            "dev": ("emorynlp/dev.json",),
            "test": ("emorynlp/test.json",),
        },
        "Apache-2.0",
        True,
    ),
    "mustard": LabelledSet(read_mustard, {"all": ("mustard/mustard++_text.csv",)}, "none stated", False),
    "xed": LabelledSet(read_xed, {"all": ("xed/en-annotated.tsv", "xed/neu_en.txt")}, "CC BY 4.0", True),
    "goemotions": LabelledSet(
        read_goemotions,
        {part: (f"goemotions/{part}.tsv",) for part in ("train", "dev", "test")},
        "CC BY 4.0",
        True,
    ),
    "esconv": LabelledSet(
        read_esconv, {part: (f"esconv/{part}.tsv",) for part in ("train", "dev", "test")}, "CC BY-NC 4.0", False
    ),
    "swda": LabelledSet(
        read_swda,
        {"train": ("swda/train.txt",), "dev": ("swda/val.txt",), "test": ("swda/test.txt",)},
        "CC BY-NC-SA 3.0; the repository GPL v3",
        False,
    ),
}
"""Name → labelled set."""
