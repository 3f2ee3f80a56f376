"""Paragraphs made by hand, per language and phenomenon, and what is heard in them."""

import pytest

from edos_dataset.segmentation.books.extraction import Speech, extract
from edos_dataset.segmentation.books.rules import languages, load_rules
from edos_dataset.segmentation.books.speech import Extraction
from edos_dataset.sources.books.book import CONTENTS, HEADING, NOTE, SPEECH, VERSE, Block

FILLER = {
    "“ ”": ["“Where were you?”", "“At home.”"],
    '"': ['"Where were you?"', '"At home."'],
    "‘ ’": ["‘Where were you?’", "‘At home.’"],
    "» «": ["»Wo warst du?«", "»Zu Hause.«"],
}


def of(paragraphs: list[str], language: str = "en", **parameters: int) -> Extraction:
    """Extract out of paragraphs; one that begins with # is a heading."""
    blocks = [Block(text.lstrip("# "), HEADING) if text.startswith("#") else Block(text) for text in paragraphs]
    return extract(blocks, load_rules(language), Speech(**parameters))


def texts(extraction: Extraction) -> list[list[str]]:
    """Return the texts of the dialogues."""
    return [[utterance.text for utterance in dialogue] for dialogue in extraction.dialogues]


HEARD = {
    "en curly": (
        "en",
        ["“Where is she?” asked Tom.", "“I cannot say,” said Ann, “for I was out.”"],
        [["Where is she?", "I cannot say, for I was out."]],
    ),
    "en straight": ("en", ['"Where is she?" asked Tom.', '"Out--" said Ann.'], [["Where is she?", "Out--"]]),
    "en single, apostrophes": (
        "en",
        ["‘Where’s the boys’ mother?’ asked Tom.", "‘She isn’t here,’ said Ann, ‘nor ’twas she ever.’"],
        [["Where’s the boys’ mother?", "She isn’t here, nor ’twas she ever."]],
    ),
    "en straight single": (
        "en",
        ["'Where's the boys' mother?' asked Tom.", "''Tis late,' said Ann. 'She isn't here.'"],
        [["Where's the boys' mother?", "'Tis late. She isn't here."]],
    ),
    "en nested": (
        "en",
        ["“He said ‘no’ to me,” said Tom.", "“And I say ‘yes!’” cried Ann."],
        [["He said ‘no’ to me,", "And I say ‘yes!’"]],
    ),
    "en over paragraphs": (
        "en",
        ["“It was long ago.", "“We were young then,” said Tom.", "“And poor.”"],
        [["It was long ago. We were young then,", "And poor."]],
    ),
    "en two in a paragraph": ("en", ["“Yes?” asked Tom, and Ann replied, “No.”"], [["Yes?", "No."]]),
    "en two side by side": ("en", ["“Will you?”—“Never!”"], [["Will you?", "Never!"]]),
    "en words in quotes": (
        "en",
        ["The word “liberty” was on the sign, and “Old Inn” below.", "“Shall we?” said Ann.", "“Let us.”"],
        [["Shall we?", "Let us."]],
    ),
    "en letter": (
        "en",
        ["He wrote: “Come at once.”", "“Is that all?” said Ann.", "“It is.”"],
        [["Is that all?", "It is."]],
    ),
    "en thought": (
        "en",
        ["“What a fool!” thought Ann.", "“Do sit,” said Tom.", "“Thank you.”"],
        [["Do sit,", "Thank you."]],
    ),
    "en continues": (
        "en",
        ["“Well,” said Tom.", "He looked at the fire.", "“Well,” he continued, “so it is.”", "“So it is,” said Ann."],
        [["Well, Well, so it is.", "So it is,"]],
    ),
    "en continues in the same sentence": (
        "en",
        ["“If you will,” said Tom, and Ann knew what he meant, “let us go.”", "“Where?”"],
        [["If you will, let us go.", "Where?"]],
    ),
    "en word behind a word": (
        "en",
        ["He said something about “honour,” and sat.", "“Do you?” said Ann.", "“I do.”"],
        [["Do you?", "I do."]],
    ),
    "en thought, led in": (
        "en",
        ["He thought:", "“What a fool!”", "“Do sit,” said Ann.", "“Yes.”"],
        [["Do sit,", "Yes."]],
    ),
    "nl run in": (
        "nl",
        ["„Waar waart gij?” vroeg Karel.--„Thuis,” zei Anna, „en alleen.”--„Goed.”"],
        [["Waar waart gij?", "Thuis, en alleen.", "Goed."]],
    ),
    "hu dash only where speech continues": (
        "hu",
        ["- Vége a háborúnak, felelt Pál, - menjünk haza.", "- Hová?"] * 5,
        [["Vége a háborúnak, menjünk haza.", "Hová?"] * 5],
    ),
    "it led in within": (
        "it",
        ["— Perché?", "— Chi? — disse Nora. — Un'amica. — Si fermò e proseguì piano: — È una donna."] * 5,
        [["Perché?", "Chi? Un'amica. È una donna."] * 5],
    ),
    "de": (
        "de",
        ["»Wo warst du?« fragte Karl.", "»Zu Hause«, sagte Anna, »und allein.«"],
        [["Wo warst du?", "Zu Hause, und allein."]],
    ),
    "de low": ("de", ["„Wo warst du?“ fragte Karl.", "„Zu Hause.“"], [["Wo warst du?", "Zu Hause."]]),
    "nl low": (
        "nl",
        ["„Waar waart gij?” vroeg Karel.", "„Thuis,” zei Anna, „en alleen.”"],
        [["Waar waart gij?", "Thuis, en alleen."]],
    ),
    "es": (
        "es",
        ["—Sí —dijo él—. Vamos.", "—¿Adónde? —preguntó Ana, y se sentó.", "—A casa."] * 5,
        [["Sí. Vamos.", "¿Adónde?", "A casa."] * 5],
    ),
    "es hyphen": (
        "es",
        ["-Sí -dijo Juan-. Vamos a la casa bien-amada.", "-¿Adónde?"] * 6,
        [["Sí. Vamos a la casa bien-amada.", "¿Adónde?"] * 6],
    ),
    "it": (
        "it",
        ["— Sì, — disse egli, — andiamo.", "— Dove? — chiese Anna.", "— A casa."] * 5,
        [["Sì, andiamo.", "Dove?", "A casa."] * 5],
    ),
    "it guillemets": ("it", ["«Sì,» disse egli, «andiamo.»", "«Dove?» chiese Anna."], [["Sì, andiamo.", "Dove?"]]),
    "hu": (
        "hu",
        ["– Igen – mondta Péter. – Menjünk.", "– Hová? – kérdezte Anna.", "– Haza."] * 5,
        [["Igen Menjünk.", "Hová?", "Haza."] * 5],
    ),
    "hu hyphen": (
        "hu",
        ["- Igen - mondta Péter. - Menjünk haza-felé.", "- Hová?", "- Haza, felelte halkan a leány."] * 5,
        [["Igen Menjünk haza-felé.", "Hová?", "Haza,"] * 5],
    ),
    "pt": (
        "pt",
        ["--Sim, disse Pedro, vamos.", "--Onde? perguntou Anna rindo.", "--Para casa."] * 5,
        [["Sim, vamos.", "Onde?", "Para casa."] * 5],
    ),
}


@pytest.mark.parametrize(("language", "paragraphs", "heard"), HEARD.values(), ids=HEARD.keys())
def test_hears(language: str, paragraphs: list[str], heard: list[list[str]]) -> None:
    """What is said is heard as who says it says it."""
    assert texts(of(paragraphs, language)) == heard


def test_names_speakers_by_the_narrator_and_by_turns() -> None:
    """Without networks for the language, who is named speaks, and the unnamed of two who alternate are known."""
    talk = ["„Wo ist sie?“ fragte Herr Hill.", "„Fort“, sagte Klara.", "„Warum?“", "„Um zu gehen.“"]
    named = [*talk, "„Wann?“ fragte Hill.", "„Am Mittag“, sagte Klara.", "„Gut.“"]
    assert [turn.speaker for turn in of(talk, "de").dialogues[0]] == ["Herr Hill", "Klara", None, None]
    (dialogue,) = of(named, "de").dialogues
    speakers = ["Herr Hill", "Klara", "Herr Hill", "Klara", "Hill", "Klara", "Herr Hill"]
    assert [turn.speaker for turn in dialogue] == speakers
    assert dialogue[0].character == dialogue[4].character != dialogue[1].character


def test_pronouns_are_no_names() -> None:
    """Who is only called "she" is not named."""
    (dialogue,) = of(["“Where?” she asked.", "“Here,” I said."]).dialogues
    assert [utterance.speaker for utterance in dialogue] == [None, None]


def test_names_lead_in_before_speech() -> None:
    """A lead-in in the paragraph before names who speaks."""
    (dialogue,) = of(["“Who is there?”", "Then Pinocchio answered in a small voice:", "“It is I.”"]).dialogues
    assert [utterance.speaker for utterance in dialogue] == [None, "Pinocchio"]


def test_narration_is_kept_apart() -> None:
    """What the narrator says between and after the quotes is beside the utterance, with its place in it."""
    (dialogue,) = of(["“Yes,” said Tom, “let us go.” He rose.", "“Wait.”"]).dialogues
    assert dialogue[0].narration == "said Tom,\nHe rose."
    assert dialogue[0].narration_at == (len("Yes,"), len("Yes, let us go."))
    assert dialogue[1].narration is None and dialogue[1].narration_at is None
    assert [utterance.paragraphs for utterance in dialogue] == [(0,), (1,)]


_TOLD = {
    "before the speech": (["Tom rose and said: “Yes.”", "“Wait.”"], [["0 Tom rose and said:"], []]),
    "a paragraph before it": (
        ["“Come!” said Tom.", "“No,” said Ann.", "It was cold.", "“Now,” said Tom."],
        [["5 said Tom."], ["3 said Ann."], ["0 It was cold.", "4 said Tom."]],
    ),
    "between two people": (["“Yes?” asked Tom, and Ann replied, “No.”"], [["4 asked Tom, and Ann replied,"], []]),
    "within the speech of one": (
        ["“I am tired,” said Ann.", "She sat. Then Ann said: “And hungry.” She ate.", "“So am I,” said Tom."],
        [["11 said Ann.", "11 She sat. Then Ann said:", "23 She ate."], ["8 said Tom."]],
    ),
    "in a paragraph that continues": (
        ["“It is late.", "“We go,” said Tom, “now.”", "“Yes.”"],
        [["18 said Tom,"], []],
    ),
}


@pytest.mark.parametrize(("paragraphs", "told"), _TOLD.values(), ids=_TOLD)
def test_narration_has_its_place_in_the_speech(paragraphs: list[str], told: list[list[str]]) -> None:
    """Each piece of narration is told once, behind as many characters of the speech as in the book."""
    (dialogue,) = of(paragraphs).dialogues
    found = [list(zip(each.narration_at or (), (each.narration or "").split("\n"), strict=False)) for each in dialogue]
    assert [[f"{place} {text}" for place, text in each] for each in found] == told


def test_one_person_alone_is_no_dialogue() -> None:
    """Quotes of one person in a row are a monologue."""
    extraction = of(["“I am tired,” said Alice.", "“And hungry,” said Alice.", "“Very hungry,” Alice added."])
    assert extraction.dialogues == []
    assert extraction.reason == "no_dialogue"


@pytest.mark.parametrize(
    "between",
    [
        "# CHAPTER II",
        "* * *",
        "It was cold. " * 100,
        "The next morning they met again.",
        "He left. A week later he was back, and she stood at the door.",
    ],
)
def test_dialogue_ends(between: str) -> None:
    """A chapter, a scene, much narration and another time end a dialogue."""
    talk = ["“Will you come?” asked Tom.", "“I will,” said Ann."]
    assert len(of([*talk, between, *talk]).dialogues) == 2


SAT = "She sat by the fire. "
TALK = ["“Will you come?” asked Tom.", "“I will,” said Ann."]


@pytest.mark.parametrize(
    ("paragraphs", "lengths"),
    [
        ([*TALK, SAT * 10, "“When?”", "“Soon,” said Ann."], [4]),  # by turns it was Tom who asked
        ([*TALK, SAT * 10, "“And you?” said Ann."], [2]),  # probably the same person
        ([*TALK, SAT * 10, "“Really?”", "“Really!”"], [2, 2]),  # nobody says who speaks
        ([*TALK, "He came in.", "“Good day,” said Mr. Hill.", "“Good day, Mr. Hill.”"], [2, 2]),  # somebody else
        (
            ["“Well?” asked Tom.", "Ann made no answer.", "“Well?”", "“No,” said Ann."],
            [2],
        ),  # Tom asked alone
        (["“Come,” said Tom.", "“No.” And Ann wept.", "* * *", "“Come,” said Tom.", "“No,” said Ann."], [2, 2]),
    ],
)
def test_who_speaks_behind_narration(paragraphs: list[str], lengths: list[int]) -> None:
    """Behind narration a dialogue continues or ends, by what is known of the speakers."""
    assert [len(dialogue) for dialogue in of(paragraphs).dialogues] == lengths


def test_dialogue_continues_over_narration_with_evidence() -> None:
    """After 400 characters a dialogue continues where somebody of it answers, and not where nobody does."""
    before = ["“Will you come?” asked Tom.", "“I may,” said Ann.", "“But when?” asked Tom.", "She sat. " * 44]
    assert len(of([*before, "“Soon,” answered Ann."]).dialogues[0]) == 4
    assert len(of(["“A,” said Tom.", "“B.”", before[-1], "“C,” cried a porter.", "“D.”"]).dialogues) == 2


def test_a_long_speech_is_a_turn() -> None:
    """However long a speech is, it is a turn; the stage `length` decides what is left out."""
    long = ("word " * 500).strip()
    assert texts(of(["“One.”", f"“{long}”", "“Three.”"])) == [["One.", long, "Three."]]


def test_plays() -> None:
    """Speeches of a play are turns; two of one person are one; a heading ends the scene."""
    blocks = [
        Block("ACT I", HEADING),
        Block("Who's there?", SPEECH, 1, "Bernardo"),
        Block("Nay, answer me.", SPEECH, 1, "Francisco"),
        Block("Stand, and unfold yourself.", SPEECH, 1, "Francisco"),
        Block("Scene II", HEADING, 1),
        Block("Though yet of Hamlet", SPEECH, 2, "King"),
    ]
    extraction = extract(blocks, load_rules("en"), Speech())
    assert texts(extraction) == [["Who's there?", "Nay, answer me. Stand, and unfold yourself."]]
    assert [utterance.speaker for utterance in extraction.dialogues[0]] == ["Bernardo", "Francisco"]
    assert extraction.style == "NAME."


@pytest.mark.parametrize("kind", [NOTE, CONTENTS, VERSE])
def test_other_kinds_hold_no_dialogue(kind: str) -> None:
    """Notes, contents and verse are passed over."""
    blocks = [Block(text, kind) for text in ("“Where?” asked Tom.", "“Here,” said Ann.")]
    extraction = extract(blocks, load_rules("en"), Speech())
    assert extraction.dialogues == []
    assert extraction.reason == ("verse" if kind == VERSE else "no_dialogue")


@pytest.mark.parametrize("language", languages())
def test_nothing_of_nothing(language: str) -> None:
    """A book without blocks, or without speech, gives nothing, and says why."""
    for blocks in ([], [Block("Nobody speaks.")], [Block("“")], [Block("—")], [Block("")]):
        assert extract(blocks, load_rules(language), Speech()).reason == "no_dialogue"


NESTED = {
    "en, marks behind the quotes": (
        "en",
        "‘ ’",
        [
            "‘He told me “go away” and left’, said Tom.",
            "‘And you’, cried Ann, ‘told your mother’.",
            "‘I said: “Never.”’",
            "‘Were you right, then?’",
        ],
        [
            "He told me “go away” and left",
            "And you, told your mother",
            "I said: “Never.”",
            "Were you right, then?",
        ],
    ),
    "en, over paragraphs": (
        "en",
        "‘ ’",
        ["‘He said “no.”", "‘And then he left,’ said Tom.", "‘He said “no”?’"],
        ["He said “no.” And then he left,", "He said “no”?"],
    ),
    "nl, marks behind the quotes": (
        "nl",
        "‘ ’",
        ["‘Hij zei “ga weg” en ging’, zei Anna.", "‘Wat heb je gezegd?’", "‘“Nooit”’, zei Anna."],
        ["Hij zei “ga weg” en ging", "Wat heb je gezegd?", "“Nooit”"],
    ),
    "de": (
        "de",
        "» «",
        ["»Er sagte ›geh weg‹ und ging«, sagte Anna.", "»Und du sagtest: ›Niemals.‹«"],
        ["Er sagte ›geh weg‹ und ging", "Und du sagtest: ›Niemals.‹"],
    ),
}


@pytest.mark.parametrize(("language", "style", "paragraphs", "heard"), NESTED.values(), ids=NESTED.keys())
def test_hears_quotes_within_quotes(language: str, style: str, paragraphs: list[str], heard: list[str]) -> None:
    """What somebody quotes is part of what they say, in a book whose quotes are known."""
    assert texts(of([*FILLER[style] * 10, "# Chapter 2", *paragraphs], language))[-1] == heard


@pytest.mark.parametrize("style", FILLER)
def test_style_is_named(style: str) -> None:
    """The style found is named."""
    assert of(FILLER[style] * 10, "de" if style == "» «" else "en").style == style


@pytest.mark.parametrize(
    ("parameter", "value"),
    [("gap", -1), ("most_gap", 100), ("min_turns", 1), ("gap", 1.5), ("unsure_gap", -1)],
)
def test_refuses_parameters(parameter: str, value: float) -> None:
    """A parameter out of range is refused, by its name."""
    with pytest.raises(ValueError, match=f"{parameter} must be a whole number"):
        Speech(**{parameter: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("language", "paragraph", "text"),
    [
        ("en", "“You are late,” said Martha. “We had begun.”", "You are late. We had begun."),
        ("en", "“If you come,” said Martha, “I shall go.”", "If you come, I shall go."),
        ("en", "“Come,” said Martha, “and eat.”", "Come, and eat."),
        ("en", "“Come,” said Martha. “and eat.”", "Come, and eat."),
        ("en", "“Well—” said Martha. “We had begun.”", "Well— We had begun."),
        ("de", "„Du bist spät“, sagte Martha. „Wir haben angefangen.“", "Du bist spät. Wir haben angefangen."),
        ("de", "„Wenn du kommst“, sagte Martha, „gehe ich.“", "Wenn du kommst, gehe ich."),
    ],
)
def test_a_comma_before_narration_that_ends_a_sentence_becomes_a_full_stop(language, paragraph, text):
    opening, closing = ("“", "”") if language == "en" else ("„", "“")
    first, second = f"{opening}Hello?{closing} asked Ben.", f"{opening}Yes.{closing}"
    assert texts(of([first, paragraph, second], language)) == [["Hello?", text, "Yes."]]
