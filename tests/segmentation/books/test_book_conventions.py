"""What languages and prints do with speech, in paragraphs made by hand, and what is heard in them."""

import pytest

from edos_dataset.segmentation.books.extraction import Speech, extract
from edos_dataset.segmentation.books.rules import load_rules
from edos_dataset.segmentation.books.speakers import tag_after
from edos_dataset.segmentation.books.speech import Utterance
from edos_dataset.sources.books.book import HEADING, SPEECH, Block


def heard(paragraphs: list[str], language: str) -> list[list[Utterance]]:
    """Return the dialogues of paragraphs."""
    return extract([Block(text) for text in paragraphs], load_rules(language), Speech()).dialogues


def test_who_is_addressed_before_the_narrator_is_no_narration() -> None:
    """In "yes, sir, said he" the narrator's words begin at the verb."""
    (dialogue,) = heard(["— Sì, signore, disse Carlo, vengo.", "— Presto, Carlo, disse la madre."] * 5, "it")
    assert [(turn.text, turn.speaker) for turn in dialogue[:2]] == [
        ("Sì, signore, vengo.", "Carlo"),
        ("Presto, Carlo,", "la madre"),
    ]


@pytest.mark.parametrize(
    ("narration", "language", "verb", "name", "person"),
    [
        ("disse-lhe Pedro.", "pt", "disse", "Pedro", None),
        ("diss'egli ridendo.", "it", "diss", None, "m"),
        ("diss’ella.", "it", "diss", None, "f"),
    ],
)
def test_what_hangs_on_a_verb(narration: str, language: str, verb: str, name: str | None, person: str | None) -> None:
    """A verb of saying is known with the pronoun that hangs on it, and so is who speaks."""
    assert tag_after("Sim,", narration, load_rules(language)) == (verb, name, person)


@pytest.mark.parametrize(
    ("narration", "language", "name", "person"),
    [
        ("sagte der Vater leise.", "de", "der Vater", "m"),
        ("fuhr die Mutter fort.", "de", "die Mutter", "f"),
        ("sagte der Wachtmeister.", "de", "der Wachtmeister", "m"),
        ("sagte der und lachte.", "de", None, "m"),
        ("sagte die leise.", "de", None, None),
        ("felelé az asszony.", "hu", "az asszony", "f"),
        ("felelé az.", "hu", None, None),
        ("dijo aquel hombre.", "es", "aquel hombre", "m"),
    ],
)
def test_an_article_before_a_noun_is_no_pronoun(
    narration: str, language: str, name: str | None, person: str | None
) -> None:
    """A word that may be an article or a pronoun begins a name where a noun follows."""
    found = tag_after("Ja,", narration, load_rules(language))
    assert found is not None and (found.name, found.person) == (name, person)


def test_another_person_goes_on() -> None:
    """Who goes on with the talk by name is another person than the one who has just spoken."""
    talk = ["»Ich bin müde«, fuhr der Vater fort.", "»Geh zu Bett«, fuhr die Mutter fort."]
    (dialogue,) = extract([Block(text) for text in talk * 6], load_rules("de"), Speech()).dialogues
    assert [turn.speaker for turn in dialogue[:2]] == ["der Vater", "die Mutter"]


def test_a_colon_leads_in_what_follows() -> None:
    """Narration behind speech that ends in a colon tells who speaks next, and not who has spoken."""
    rules = load_rules("en")
    assert tag_after("It is done.", "The doctor laughed, and said:--", rules) is None
    assert tag_after("It is done,", "to which she answered:--", rules) is None
    assert tag_after("It is done,", "she said.", rules) == ("said", None, "f")


OPENED = ["«Ven -dijo Ana-, que es tarde.", "-Ya voy.", "-Pues pronto».", "* * *"]


def test_quotes_open_the_talk_where_dashes_go_on() -> None:
    """Old Spanish prints put the first speech in quotes, begin the others with dashes, and close the last one."""
    found = heard(OPENED * 10, "es")
    assert [turn.text for turn in found[0][:3]] == ["Ven, que es tarde.", "Ya voy.", "Pues pronto."]
    assert found[0][0].narration == "dijo Ana"


def test_quotes_behind_a_verb_and_a_colon_open_it_too() -> None:
    """There a verb of saying and a colon may lead in the first speech, with the narrator's words around it."""
    found = heard(["Llamó a la puerta, y dijo: «Soy yo». Y entró.", "-Pasa.", "* * *"] + OPENED * 10, "es")
    assert [turn.text for turn in found[0]] == ["Soy yo", "Pasa."]


def test_quotes_of_letters_open_no_talk() -> None:
    """Where no dash follows upon paragraphs in quotes by habit, they are letters and thoughts, and nobody says them."""
    found = heard(["«Querida Ana: vengo mañana».", "Leyó la carta y salió.", "-¿Vienes?", "-Voy."] * 10, "es")
    assert all(not turn.text.startswith("Querida") for dialogue in found for turn in dialogue)


def test_who_is_left_on_the_stage_speaks_to_nobody() -> None:
    """Behind somebody's leaving the last speech of a scene is a monologue; where others speak on, the talk goes on."""
    talk = [Block("Any news?", SPEECH, 1, "Anna"), Block("None.", SPEECH, 1, "Bert"), Block("Alas!", SPEECH, 1, "Anna")]
    left = [*talk, Block("[Exit Anna.]"), Block("Gone, and forever.", SPEECH, 1, "Bert")]
    scene = Block("Scene II", HEADING, 1)
    assert [len(dialogue) for dialogue in extract([*left, scene], load_rules("en"), Speech()).dialogues] == [3]
    more = [*left, Block("Come now.", SPEECH, 1, "Carl"), scene]
    assert [len(dialogue) for dialogue in extract(more, load_rules("en"), Speech()).dialogues] == [5]


def test_who_speaks_first_is_led_in() -> None:
    """A colon before the first speech of a conversation names who speaks, as it does before any other."""
    (dialogue,) = heard(["She turned round, and Martha said:", "“Who is there?”", "“It is I,” said Tom."], "en")
    assert [turn.speaker for turn in dialogue] == ["Martha", "Tom"]


@pytest.mark.parametrize("quotes", ["‘’", "''"])
def test_single_quotes_before_words_that_are_elisions_too(quotes: str) -> None:
    """A quote that is closed is none of an elision, and an elision within speech opens none."""
    said = [
        "‘Is it late?’ said Anna.",
        "‘Er, I think ’tis so,’ said Tom.",
        "‘Tell ’em,’ said Anna.",
        "‘I will,’ said Tom.",
    ] * 3
    texts = [text.replace("‘", quotes[0]).replace("’", quotes[1]) for text in said]
    (dialogue,) = heard(texts, "en")
    marks = quotes[1]
    assert [turn.text for turn in dialogue[:3]] == ["Is it late?", f"Er, I think {marks}tis so,", f"Tell {marks}em,"]


def test_what_is_said_to_oneself_is_no_turn() -> None:
    """In German "für sich" is to oneself, as "bei sich" is."""
    talk = ["»Kommst du?« fragte Anna.", "»Ja«, sagte Paul. »Er lügt«, sagte sie für sich.", "»Gut«, sagte Anna."]
    assert [turn.text for turn in heard(talk * 6, "de")[0][:2]] == ["Kommst du?", "Ja"]
