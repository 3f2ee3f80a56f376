import pytest

from edos_dataset.sources.detokenize import detokenize


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        ("We 're ready , sir !", "We're ready, sir!"),
        ("I do n't know .", "I don't know."),
        ("I don 't know .", "I don't know."),
        ("I DON 'T KNOW .", "I DON'T KNOW."),
        ("I can 'T say .", "I can't say."),
        ("It ’s Tom ’s .", "It’s Tom’s."),
        ("Yes , ma 'am , at ten o 'clock .", "Yes, ma'am, at ten o'clock."),
        ("Ask O 'Neil , y 'all .", "Ask O'Neil, y'all."),
        ("What 's goin ' on ?", "What's goin' on?"),
        ("WATCH IT ' CAUSE I SAY SO", "WATCH IT 'CAUSE I SAY SO"),
        ("Get 'em , 'cause I said so", "Get 'em, 'cause I said so"),
        ('She said , " Go home , " and left .', 'She said, "Go home," and left.'),
        ('" How did you do it ? " or " What \'s your secret ? "', '"How did you do it?" or "What\'s your secret?"'),
        ("\" All right , that 's what we do .", "\"All right, that's what we do."),
        ('Into chicken salad . "', 'Into chicken salad."'),
        ('[ LAUGHS ] " This is my dad . "', '[LAUGHS] "This is my dad."'),
        ("He called it ' art ' once .", "He called it 'art' once."),
        ("' All right , ' he said .", "'All right,' he said."),
        ("I 'm just trying ' to get these guys", "I'm just trying to get these guys"),
        ("Nobody 's laughin ' at the boys ' toys", "Nobody's laughin' at the boys' toys"),
        ("( sighs ) Well ... no .", "(sighs) Well... no."),
        ("... and then we left .", "...and then we left."),
        (".. and then", "..and then"),
        ("With clarity ... . one goal", "With clarity.... one goal"),
        ("...", "..."),
        (".22 calibre", ".22 calibre"),
        ("a .22 calibre", "a .22 calibre"),
        ("- I 'll go ! - No !", "- I'll go! - No!"),
        ("Come on - - patch it up", "Come on -- patch it up"),
        ("It costs $ 5 or 100 % of it", "It costs $5 or 100% of it"),
        ("You are # 1", "You are #1"),
        ("# Hey Chandu #", "# Hey Chandu #"),
        ("4 : 00 ?", "4:00?"),
        ("Distance : 350 .", "Distance: 350."),
        ("“ Really ? ” „ Ja “ « Oui »", "“Really?” „Ja “«Oui»"),
        ("¿ Qué pasa ?", "¿Qué pasa?"),
        ("rock 'n' roll", "rock 'n' roll"),
        ("well-known half-robot", "well-known half-robot"),
        ('"', '"'),
        ("", ""),
    ],
)
def test_spaces_as_people_write_them(tokens: str, text: str) -> None:
    assert detokenize([tokens]) == [text]
    assert detokenize(["Yes .", tokens, '" No .'])[1] == text, "the sentences around it must not matter"


def test_elisions_are_joined_in_romance_languages_only() -> None:
    assert detokenize(["l' homme qu' il cherche d' accord"], "fr") == ["l'homme qu'il cherche d'accord"]
    assert detokenize(["startin' about it"], "en") == ["startin' about it"]


def test_the_number_of_sentences_stays_the_same() -> None:
    sentences = ["One .", "", "' Two '", '" Three', "..."]
    assert detokenize(sentences) == ["One.", "", "'Two'", '"Three', "..."]
