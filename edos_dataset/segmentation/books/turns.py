"""The turns of a paragraph: which quotes are speech, which of them are one person's, and who that is."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from edos_dataset.segmentation.books.doubts import Doubt
from edos_dataset.segmentation.books.parts import Parts
from edos_dataset.segmentation.books.rules import Rules
from edos_dataset.segmentation.books.speakers import Speaker, same_name, told_after, told_before
from edos_dataset.segmentation.books.words import small_words

_ENDS = frozenset(".!?…,;:—–-")
_LETTER = re.compile(r"[^\W_]")
_NUMERAL = re.compile(r"[IVXLC\d]+\.?[ —–-]*")  # of a chapter, between dashes
_RUN_IN = re.compile(r"[.!?…] *(?:--|—|–)$")
_CLAUSE_END = re.compile(r"[,;:.!?]")
_ATTACHED = frozenset(".,;:!?…)")
_NEAR = 70  # characters of narration in which a word tells what a quote is
_FAR = 250  # the same, of a lead-in
_CAPITAL = re.compile("[A-ZÀ-ÖØ-ÞŐŰ]")
_NEW_SENTENCE = re.compile(rf"[.!?…] \W{{0,2}}{_CAPITAL.pattern}")
_BETWEEN_TURNS = frozenset(("", "—", "–", "--", "-"))


@dataclass(slots=True)
class Turn:
    """What one person says, as far as its paragraphs tell.

    Attributes:
        texts: speech, a text a quote.
        paragraphs: numbers of the blocks it stands in.
        narration: what the narrator says between and after its quotes.
        name: of the speaker; None where unknown.
        person: as in `rules.Rules.pronouns`; None where unknown.
        verbs: of saying beside it.
        lead: narration before it in its paragraph.
        tail: narration after it in its paragraph.
        open: its last quote is not closed.
        further: the narrator says beside its first quote that the speaker goes on.
        doubts: what was guessed of it and of the narration before it.
    """

    texts: list[str]
    paragraphs: list[int]
    narration: list[str] = field(default_factory=list)
    name: str | None = None
    person: str | None = None
    verbs: list[str] = field(default_factory=list)
    lead: str = ""
    tail: str = ""
    open: bool = False
    further: bool = False
    doubts: list[Doubt] = field(default_factory=list)

    def hear(self, speaker: Speaker | None) -> None:
        """Take in what the narrator tells of its speaker; what is known stays."""
        if speaker is None:
            return
        self.verbs.append(speaker.verb)
        if self.name is None and (self.person is None or speaker.person in (None, self.person)):
            self.name = speaker.name
        self.person = self.person or speaker.person

    def text(self) -> str:
        """Return its words: the quotes joined by spaces, marks attached."""
        joined, *others = self.texts
        for text in others:
            joined += text if text[0] in _ATTACHED and text[:2] != ".." else f" {text}"
        return joined

    def words(self, few: int) -> int:
        """Return how many words it has; not so many that they are counted where it has no more than a few."""
        most = sum(map(len, self.texts)) + len(self.texts)
        return len(self.text().split()) if most > 2 * few else 0  # each has a letter and a space, if one is added


def differ(one: Turn | Speaker, other: Turn | Speaker, rules: Rules) -> bool:
    """Say whether two are different people for sure."""
    if one.name and other.name and not same_name(one.name, other.name, rules):
        return True
    if one.person and other.person and one.person != other.person:
        return True
    return (one.person == "i" and bool(other.name)) or (other.person == "i" and bool(one.name))


def same(one: Turn | Speaker, other: Turn | Speaker, rules: Rules) -> bool:
    """Say whether two are one person for sure: of one name, or both "I"."""
    if one.name and other.name:
        return same_name(one.name, other.name, rules)
    return one.person == other.person == "i"


def turns_of(parts: Parts, number: int, rules: Rules) -> list[Turn]:
    """Return the turns of a paragraph.

    Args:
        parts: of the paragraph.
        number: of its block.
        rules: of the language.
    """
    texts = parts.texts
    if parts.pair is not None and len(texts) == 3 and not (texts[0].strip() or texts[2].strip()):
        speech = texts[1].strip()  # mostly all is speech, and nothing told
        return [Turn([speech], [number], open=parts.ends_open)] if _LETTER.search(speech) else []
    return _told_turns(parts, number, rules)


def _unsaid(before: str, quoted: str, after: str, parts: Parts) -> str:
    """Return narration in which something is quoted that nobody says."""
    opening, closing = parts.pair or ("", "")
    return f"{before} {opening}{quoted}{closing} {after}".strip()


def _told_turns(parts: Parts, number: int, rules: Rules) -> list[Turn]:
    """Return what `turns_of` does, by what is told between quotes or dashes."""
    texts, pending, heard = parts.texts, parts.texts[0].strip(), True
    turns: list[Turn] = []
    turn: Turn | None = None
    for place in range(1, len(texts), 2):
        speech, after = texts[place].strip(), texts[place + 1].strip()
        told = told_after(speech, after, rules) if speech and after else None
        lead = told_before(pending, rules) if pending else None
        tagged = (told is not None and _unheard(told, after[:_NEAR], rules)) or (
            lead is not None and _unheard(lead, pending[-_FAR:], rules)
        )
        heard = not tagged and (heard or lead is not None)
        goes_on = turn is not None or parts.begins_open
        if not heard or not (_is_speech(speech, pending, after, told or lead, goes_on, parts, rules)):
            pending = _unsaid(pending, speech, after, parts)
            continue
        new = turn is None or _another(turns, pending, speech, lead, told, parts, rules)
        if turn is not None and pending:
            turn.narration.append(pending)
        if turn is None or new:
            turn = Turn([speech], [number], lead=pending)
            turn.further = any([each is not None and each.verb in rules.goes_on for each in (lead, told)])
            turns.append(turn)
            if pending and lead is None and told is None:
                turn.doubts.append(Doubt.WITHIN)
        else:
            turn.doubts += _doubts_between(turn, pending, lead, told, rules)
            if pending[:1] == "," and speech[0].islower() and turn.texts[-1][-1] not in _ENDS:
                turn.texts[-1] += ","
            turn.texts.append(speech)
        turn.hear(lead)
        turn.hear(told)
        pending = after
    if turn is not None:
        turn.tail = pending
        turn.open = parts.ends_open
        if pending:
            turn.narration.append(pending)
    _doubt(turns, rules)
    return turns


def _doubts_between(turn: Turn, between: str, lead: Speaker | None, told: Speaker | None, rules: Rules) -> list[Doubt]:
    """Return what is doubtful of a turn that goes on over some narration in its paragraph."""
    if not (_CAPITAL.match(between) or _NEW_SENTENCE.search(between)):
        return []
    if (lead is not None and same(turn, lead, rules)) or (told is not None and same(turn, told, rules)):
        return []
    return [Doubt.LED] if lead is not None and lead.verb not in rules.goes_on else [Doubt.JOINED]


def _doubt(turns: Sequence[Turn], rules: Rules) -> None:
    """Note what is doubtful of the turns of a paragraph."""
    for turn in turns:
        if len(turns) > 1:
            turn.doubts.append(Doubt.TWO)
        if turn.lead or turn.narration:
            beside = " ".join([turn.lead[-_FAR:], *[text[:_FAR] for text in turn.narration]])
            if rules.unheard.meet(small_words(beside)) or rules.to_self.within(beside):
                turn.doubts.append(Doubt.UNHEARD)


def unheard(narration: str, rules: Rules) -> bool:
    """Say whether some narration leads in, with a colon, what is thought, said to oneself, or written."""
    if narration.rstrip("—–- ")[-1:] != ":":
        return False
    told = told_before(narration, rules)
    if told is None or told.verb in rules.writes:
        return rules.writes.meet(small_words(narration[-_NEAR:]))
    return told.verb in rules.thinks or rules.to_self.within(narration[-_NEAR:])


def _another(
    turns: Sequence[Turn],
    between: str,
    speech: str,
    lead: Speaker | None,
    told: Speaker | None,
    parts: Parts,
    rules: Rules,
) -> bool:
    """Say whether another person speaks after some narration in the same paragraph."""
    turn = turns[-1]
    dashed = parts.pair is None
    if between in _BETWEEN_TURNS:
        return turn.texts[-1][-1] in ".!?…" and speech[0] not in ".,;:…" and not speech[0].islower()
    if speech[0] in ",;:" or (speech[0].islower() and turn.texts[-1][-1] == ","):
        return False  # the sentence goes on
    if lead is not None and lead.verb not in rules.goes_on:
        unknown = not (turn.name or turn.person or turn.verbs)
        if differ(turn, lead, rules) or (lead.name and unknown):
            return True
        if len(turns) > 1 and not turn.name and same(turns[-2], lead, rules):
            return True  # whom the turn answers
    if told is not None and told.name and not turn.name and turn.verbs and between.endswith("."):
        return told.verb not in rules.goes_on  # "‘Where?’ said he. ‘Here,’ said the other."
    if rules.run_in and not dashed and _RUN_IN.search(between) and not speech[0].islower():
        return True
    if rules.run_in and dashed and turn.verbs and between.endswith(".") and told is not None:
        return told.verb not in rules.goes_on and (told.name is not None or told.person is not None)
    return told is not None and differ(turn, told, rules)


def _unheard(told: Speaker, near: str, rules: Rules) -> bool:
    """Say whether what is quoted is thought, or said to oneself."""
    return told.verb in rules.thinks or rules.to_self.within(near)


def _is_speech(
    speech: str, before: str, after: str, told: Speaker | None, goes_on: bool, parts: Parts, rules: Rules
) -> bool:
    """Say whether what stands between quotes is said, and not a word, a title, a letter or a song."""
    letter = _LETTER.search(speech)
    if letter is None:
        return False
    if parts.pair is None:
        return not _NUMERAL.fullmatch(speech)
    if parts.begins_open and before == "":
        return True
    marked = speech[-1] in _ENDS or after[:1] == ","
    if not before:
        return marked or told is not None or parts.ends_open or not after
    end = before[-1]
    if end not in ":," and told is None and not goes_on and speech[letter.start()].islower():
        return False
    if not goes_on and (told is None or told.verb in rules.writes) and rules.writes.meet(small_words(before[-_NEAR:])):
        return False
    if end.isalnum() or end in "’')":
        said = goes_on or told_after(speech, after, rules) is not None if after else goes_on
        if not said:
            clause = small_words(_CLAUSE_END.split(before[-_NEAR:])[-1])
            said = told is not None and speech[letter.start()].isupper() and rules.says.meet(clause)
        return marked and said and len(speech) > 1
    return marked or told is not None
