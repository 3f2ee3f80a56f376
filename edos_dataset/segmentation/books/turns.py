"""The turns of a paragraph: which quotes are speech, which of them are one person's, and who that is.

Tables of rules decide, `IS_SPEECH` and `ANOTHER_SPEAKER`; they read a quote with the narration around it.
"""

import re
from collections.abc import Sequence

from edos_dataset.segmentation.books.paragraphs import Parts
from edos_dataset.segmentation.books.rules import Rule, Rules, Table, small_words
from edos_dataset.segmentation.books.speakers import Speaker, tag_after, tag_before
from edos_dataset.segmentation.books.speech import Doubt, Turn, differ, same

_ENDS = frozenset(".!?…,;:—–-")
_SENTENCE_ENDS = frozenset(".!?…")
_LETTER = re.compile(r"[^\W_]")
_NUMERAL = re.compile(r"[IVXLC\d]+\.?[ —–-]*")  # of a chapter, between dashes
_RUN_IN = re.compile(r"[.!?…] *(?:--|—|–)$")
_CLAUSE_END = re.compile(r"[,;:.!?]")
_NEAR = 70  # characters of narration in which a word says what a quote is
_FAR = 250  # the same, of a lead-in
_CAPITAL = re.compile("[A-ZÀ-ÖØ-ÞŐŰ]")
_NEW_SENTENCE = re.compile(rf"[.!?…] \W{{0,2}}{_CAPITAL.pattern}")
_BETWEEN_TURNS = frozenset(("", "—", "–", "--", "-"))


class Quote:
    """A quote, or what a dash begins, in its paragraph.

    Attributes:
        speech: the quote.
        before: narration before it, with quotes in it that are not speech.
        after: narration behind it.
        lead: the speaker by the tag before it, "X replied:".
        tag: the speaker by the tag behind it, ", said X".
        marked: a mark of speech ends it.
        turns: of the paragraph, before the quote.
        parts: of the paragraph.
        rules: of the language.
    """

    __slots__ = ("after", "before", "lead", "marked", "parts", "rules", "speech", "tag", "turns")

    def __init__(self, turns: Sequence[Turn], parts: Parts, rules: Rules) -> None:
        self.turns, self.parts, self.rules = turns, parts, rules

    def read(self, speech: str, before: str, after: str) -> None:
        """Move to the next quote of the paragraph; one object serves all of them, which is faster."""
        self.speech, self.before, self.after = speech, before, after
        self.lead = tag_before(before, self.rules) if before else None
        self.tag = tag_after(speech, after, self.rules) if speech and after else None
        self.marked = speech[-1:] in _ENDS or after[:1] == ","

    def first_letter(self) -> str:
        """Return its first letter or digit; it has one."""
        found = _LETTER.search(self.speech)
        assert found is not None
        return found[0]

    def is_thought(self) -> bool:
        """Return whether a tag says that it is thought, or said to oneself."""
        thinks, to_self = self.rules.thinks, self.rules.to_self
        if self.tag is not None and (self.tag.verb in thinks or to_self.within(self.after[:_NEAR])):
            return True
        return self.lead is not None and (self.lead.verb in thinks or to_self.within(self.before[-_FAR:]))

    def continues(self) -> bool:
        """Return whether somebody has been speaking in the paragraph."""
        return bool(self.turns) or self.parts.begins_open

    def as_narration(self) -> str:
        """Return the narration around it, with the quote in it."""
        opening, closing = self.parts.pair or ("", "")
        return f"{self.before} {opening}{self.speech}{closing} {self.after}".strip()


def _has_no_letter(quote: Quote) -> bool:
    return not quote.speech[:1].isalnum() and _LETTER.search(quote.speech) is None


def _is_numeral(quote: Quote) -> bool:
    return _NUMERAL.fullmatch(quote.speech) is not None


def _is_any(quote: Quote) -> bool:
    return True


def _continues_paragraph_before(quote: Quote) -> bool:
    return quote.parts.begins_open and quote.before == ""


def _opens_paragraph(quote: Quote) -> bool:
    return not quote.before


def _opens_paragraph_as_speech(quote: Quote) -> bool:
    if quote.before:
        return False
    return not quote.after or quote.tag is not None or quote.marked or quote.parts.ends_open


def _follows_speech_behind_mark(quote: Quote) -> bool:
    if not (quote.before and (quote.turns or quote.parts.begins_open)):
        return False
    return (quote.marked or quote.tag is not None or quote.lead is not None) and not _is_behind_word(quote)


def _is_word_of_sentence(quote: Quote) -> bool:
    if quote.before[-1] in ":," or quote.tag is not None or quote.lead is not None:
        return False
    return not quote.continues() and quote.first_letter().islower()


def _is_written(quote: Quote) -> bool:
    speaker, writes = quote.tag or quote.lead, quote.rules.writes
    if quote.continues() or not (speaker is None or speaker.verb in writes):
        return False
    return writes.meet(small_words(quote.before[-_NEAR:]))


def _is_behind_word(quote: Quote) -> bool:
    end = quote.before[-1]
    return end.isalnum() or end in "’')"


def _is_said_behind_word(quote: Quote) -> bool:
    if not (_is_behind_word(quote) and quote.marked and len(quote.speech) > 1):
        return False
    if quote.continues() or quote.tag is not None:
        return True
    if quote.lead is None or not quote.first_letter().isupper():
        return False
    return quote.rules.says.meet(small_words(_CLAUSE_END.split(quote.before[-_NEAR:])[-1]))


def _is_marked_or_tagged(quote: Quote) -> bool:
    return quote.tag is not None or quote.lead is not None or quote.marked


IS_SPEECH_BEHIND_DASH = Table[Quote, bool](
    Rule("there is no letter in it", _has_no_letter, False, "— ¿Vienes? —dijo Ana.\n— ... —\n— Voy.", "es"),
    Rule("it is the number of a chapter", _is_numeral, False, "— IV —\n— ¿Vienes? —dijo Ana.\n— Voy.", "es"),
    Rule("it is anything else", _is_any, True, "— ¿Vienes? —dijo Ana.\n— Voy.", "es"),
)
"""Whether what a dash begins is speech."""

IS_SPEECH = Table[Quote, bool](
    Rule("there is no letter in it", _has_no_letter, False, "“—!” He stared.\n“Yes?” said Ann."),
    Rule("it opens the paragraph, as speech does", _opens_paragraph_as_speech, True, "“Where is she?” asked Tom."),
    Rule(
        "speech stands before it, and a mark ends the narration between",
        _follows_speech_behind_mark,
        True,
        "“Sit down,” said Tom. “You are tired.”",
    ),
    Rule(
        "the speech of the paragraph before continues",
        _continues_paragraph_before,
        True,
        "«Llegué tarde.\n»y solo» y se fue.",
        "es",
    ),
    Rule("it opens the paragraph, as a name does", _opens_paragraph, False, "“Old Inn” was on the sign."),
    Rule("it is a word of the sentence", _is_word_of_sentence, False, "He was proud of his “honour.”"),
    Rule("it is written, sung or read", _is_written, False, "A letter came: “Come at once.”"),
    Rule(
        "it stands within a sentence and is said",
        _is_said_behind_word,
        True,
        "He looked up and said “Come here!” to us.",
    ),
    Rule("it stands within a sentence", _is_behind_word, False, "The sign of the “Blue Boar,” was new."),
    Rule("a mark ends it or a tag names its speaker", _is_marked_or_tagged, True, "She rose. “Let us go!”"),
)
"""Whether a quote is speech, and not a word, a title, a letter or a song; if no rule holds it is not."""


def _stands_beside(quote: Quote) -> bool:
    return quote.before in _BETWEEN_TURNS


def _stands_beside_a_sentence(quote: Quote) -> bool:
    if quote.before not in _BETWEEN_TURNS:
        return False
    return (
        quote.turns[-1].texts[-1][-1] in _SENTENCE_ENDS
        and quote.speech[0] not in ".,;:…"
        and not quote.speech[0].islower()
    )


def _continues_sentence(quote: Quote) -> bool:
    first = quote.speech[0]
    return first in ",;:" or (first.islower() and quote.turns[-1].texts[-1][-1] == ",")


def _names_nobody(quote: Quote) -> bool:
    return quote.lead is None and quote.tag is None and not _is_run_in(quote)


def _has_lead_of_another(quote: Quote) -> bool:
    turn, lead = quote.turns[-1], quote.lead
    if lead is None or lead.verb in quote.rules.goes_on:
        return False
    unknown = not (turn.name or turn.person or turn.verbs)
    return differ(turn, lead, quote.rules) or (unknown and bool(lead.name))


def _has_lead_of_whom_turn_answers(quote: Quote) -> bool:
    lead = quote.lead
    if lead is None or lead.verb in quote.rules.goes_on or len(quote.turns) < 2 or quote.turns[-1].name:
        return False
    return same(quote.turns[-2], lead, quote.rules)


def _is_tagged_anew(quote: Quote) -> bool:
    turn, tag = quote.turns[-1], quote.tag
    return tag is not None and bool(tag.name and not turn.name and turn.verbs) and quote.before.endswith(".")


def _is_tagged_anew_by_another(quote: Quote) -> bool:
    return _is_tagged_anew(quote) and quote.tag is not None and quote.tag.verb not in quote.rules.goes_on


def _is_run_in(quote: Quote) -> bool:
    if not quote.rules.run_in or quote.parts.pair is None or quote.speech[0].islower():
        return False
    return _RUN_IN.search(quote.before) is not None


def _is_tagged_behind_dash(quote: Quote) -> bool:
    if not quote.rules.run_in or quote.parts.pair is not None or quote.tag is None:
        return False
    return bool(quote.turns[-1].verbs) and quote.before.endswith(".")


def _is_tagged_behind_dash_by_another(quote: Quote) -> bool:
    tag = quote.tag
    if tag is None or tag.verb in quote.rules.goes_on or (tag.name is None and tag.person is None):
        return False
    return _is_tagged_behind_dash(quote)


def _has_tag_of_another(quote: Quote) -> bool:
    return quote.tag is not None and differ(quote.turns[-1], quote.tag, quote.rules)


ANOTHER_SPEAKER = Table[Quote, bool](
    Rule("a whole sentence stands right beside one", _stands_beside_a_sentence, True, "“Will you?”—“Never!”"),
    Rule("it stands right beside the quote before", _stands_beside, False, "“I thought—” “and so did she,” he said."),
    Rule("the sentence continues", _continues_sentence, False, "“If you will,” said Tom, “let us go.”"),
    Rule("nothing says who speaks", _names_nobody, False, "“Sit down,” said Tom. “You are tired.”"),
    Rule("a lead-in names another person", _has_lead_of_another, True, "“Yes?” asked Tom, and Ann replied, “No.”"),
    Rule(
        "a lead-in names the person whom the last turn answers",
        _has_lead_of_whom_turn_answers,
        True,
        "“Come!” said Mr. Hill. “No!” she cried. Then Hill said: “Please!”",
    ),
    Rule(
        "a tag names somebody where only a pronoun was known",
        _is_tagged_anew_by_another,
        True,
        "“Where?” he said. “Here,” said the nurse.",
    ),
    Rule(
        "such a tag says that the speaker continues",
        _is_tagged_anew,
        False,
        "“Where?” he said. “Here,” continued the nurse.",
    ),
    Rule(
        "a dash begins another person's speech behind a sentence",
        _is_run_in,
        True,
        "„Waar waart gij?” vroeg Karel.--„Thuis.”",
        "nl",
    ),
    Rule(
        "a second tag behind a dash names another person",
        _is_tagged_behind_dash_by_another,
        True,
        "— Vieni? — chiese Anna. — Vengo, — rispose Piero.",
        "it",
    ),
    Rule(
        "there is a second tag behind a dash",
        _is_tagged_behind_dash,
        False,
        "— Vengo, — disse Anna. — Aspetta, — continuò.",
        "it",
    ),
    Rule("a tag names another person", _has_tag_of_another, True, "“Why?” Tom asked. “I forgot,” Ann said."),
)
"""Whether another person speaks after narration in the same paragraph; if no rule holds the same person continues."""


def turns_of(parts: Parts, number: int, rules: Rules) -> list[Turn]:
    """Return the turns of a paragraph.

    Args:
        parts: of the paragraph.
        number: of its block.
        rules: of the language.
    """
    texts = parts.texts
    if parts.pair is not None and len(texts) == 3 and not (texts[0].strip() or texts[2].strip()):
        speech = texts[1].strip()  # the usual case: all is speech, without a tag
        return [Turn([speech], [number], open=parts.ends_open)] if _LETTER.search(speech) else []
    return _turns_beside_narration(parts, number, rules)


def _turns_beside_narration(parts: Parts, number: int, rules: Rules) -> list[Turn]:
    texts, before, spoken = parts.texts, parts.texts[0].strip(), True
    is_speech = IS_SPEECH_BEHIND_DASH if parts.pair is None else IS_SPEECH
    turns: list[Turn] = []
    quote = Quote(turns, parts, rules)
    for place in range(1, len(texts), 2):
        quote.read(texts[place].strip(), before, texts[place + 1].strip())
        if quote.lead is not None or quote.tag is not None:  # only a tag makes it a thought, or speech behind one
            spoken = (spoken or quote.lead is not None) and not quote.is_thought()
        if not (spoken and is_speech.decide(quote)):
            before = quote.as_narration()
            continue
        if not turns or ANOTHER_SPEAKER.decide(quote):
            turns.append(begun(quote, number))
        else:
            go_on(turns[-1], quote)
        before = quote.after
    finish(turns, before)
    if turns:
        turns[-1].open = parts.ends_open
    _doubt(turns, rules)
    return turns


def begun(quote: Quote, number: int) -> Turn:
    """Return the turn that a quote begins in the block of a number."""
    before, lead, tag = quote.before, quote.lead, quote.tag
    turn = Turn([quote.speech], [number], lead=before)
    if before and quote.turns:
        quote.turns[-1].tell(before)
    elif before:
        turn.narrated.append((0, before))
    if lead is not None or tag is not None:
        turn.further = _continues_by_tag(lead, quote.rules) or _continues_by_tag(tag, quote.rules)
        turn.attribute(lead)
        turn.attribute(tag)
    elif before:
        turn.doubts.append(Doubt.WITHIN)
    return turn


def go_on(turn: Turn, quote: Quote) -> None:
    """Add a quote to the turn of the quote before it in the paragraph."""
    speech, before, lead, tag = quote.speech, quote.before, quote.lead, quote.tag
    if before:
        turn.tell(before)
        if _CAPITAL.match(before) or _NEW_SENTENCE.search(before):
            _doubt_over_sentence(turn, lead, tag, quote.rules)
        turn.texts[-1] = _punctuated(turn.texts[-1], before, quote)
    turn.texts.append(speech)
    if lead is not None or tag is not None:
        turn.attribute(lead)
        turn.attribute(tag)


def finish(turns: Sequence[Turn], after: str) -> None:
    """Add the narration behind the last quote of a paragraph to its last turn."""
    if turns:
        turns[-1].tail = after
        if after:
            turns[-1].tell(after)


def _punctuated(text: str, narration: str, quote: Quote) -> str:
    """Return a quote with the mark that it has where the narration between it and the next one is left out: a comma
    becomes a full stop where the narration ends a sentence and the next quote begins one.
    """
    if narration[0] == "," and quote.speech[0].islower() and text[-1] not in _ENDS:
        return f"{text},"
    if narration[-1] in ".!?" and quote.first_letter().isupper():
        if text[-1] == ",":
            return f"{text[:-1]}."
        if narration[0] == "," and text[-1].isalnum():  # as in German, where the comma stands behind the quote
            return f"{text}."
    return text


def _continues_by_tag(tag: Speaker | None, rules: Rules) -> bool:
    return tag is not None and tag.verb in rules.goes_on


def _doubt_over_sentence(turn: Turn, lead: Speaker | None, tag: Speaker | None, rules: Rules) -> None:
    """Add the doubt about a turn that continues over a sentence of narration in its paragraph."""
    if (lead is not None and same(turn, lead, rules)) or (tag is not None and same(turn, tag, rules)):
        return
    turn.doubts.append(Doubt.LED if lead is not None and lead.verb not in rules.goes_on else Doubt.JOINED)


def _doubt(turns: Sequence[Turn], rules: Rules) -> None:
    for turn in turns:
        if len(turns) > 1:
            turn.doubts.append(Doubt.TWO)
        if turn.lead or turn.narration:
            beside = " ".join([turn.lead[-_FAR:], *[text[:_FAR] for text in turn.narration]])
            if rules.unheard.meet(small_words(beside)) or rules.to_self.within(beside):
                turn.doubts.append(Doubt.UNHEARD)
