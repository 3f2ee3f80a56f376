"""Recipe `papers`: every delimiter and every oddity on texts of its own. Expected values are worked out by hand from
what the authors' code does (PEERS 1); nothing here is a book of others.
"""

import pytest

from edos_dataset.segmentation.books.papers import WEIGHTS, Papers, choose_delimiter, extract_as_papers
from tests.support.adversaries import check_growth

ANY = Papers(min_delimiters=0, min_double_delimiters=-1)
"""No book is left out."""

FILLER = "Nobody said a word for a while, and the rain went on outside."


def texts(*paragraphs, language="en", parameters=ANY):
    found = extract_as_papers("\n\n".join(paragraphs), language, parameters)
    return [[utterance.text for utterance in dialogue] for dialogue in found.dialogues]


def numbers(*paragraphs, language="en"):
    found = extract_as_papers("\n\n".join(paragraphs), language, ANY)
    return [[utterance.paragraphs for utterance in dialogue] for dialogue in found.dialogues]


@pytest.mark.parametrize(
    ("language", "one", "other", "expected"),
    [
        ("en", '"Good day," she said. "Come in."', '"I can\'t."', ["Good day, Come in.", "I can't."]),
        ("en", "“Good day,” she said. “Come in.”", "“I can’t.”", ["Good day, Come in.", "I can’t."]),
        ("nl", "‘Dag,’ zei ze. ‘Kom binnen.’", "‘Nee.’", ["Dag, Kom binnen.", "Nee."]),
        ("en", "_MARY._ Good day. _Sits._ Come in.", "_JOHN._ No.", ["Good day. Sits. Come in.", "No."]),
        ("de", "„Ja,“ sagte er, „ich komme.“", "„Nein.“", ["Ja,ich komme.", "Nein."]),
        ("de", "»Ja,« sagte er, »ich komme.«", "»Nein.«", ["Ja,ich komme.", "Nein."]),
        ("de", '"Ja," sagte er, "ich komme."', '"Nein."', ["Ja, sagte er, ich komme.", "Nein."]),
        ("es", "--Buenas--dijo ella--. Entre.", "-- No.", ["Buenas . Entre.", "No."]),
        ("it", "--Buon giorno--disse--entri.", "--No.", ["Buon giorno entri.", "No."]),
        ("pt", "--Bom dia.", "--Não.", ["Bom dia.", "Não."]),
        ("hu", "– Jó napot – mondta. – Jöjjön be.", "– Nem.", ["Jó napot Jöjjön be.", "Nem."]),
    ],
)
def test_languages(language, one, other, expected):
    assert texts(one, other, language=language) == [expected]


def test_seven_languages_and_no_other():
    assert sorted(WEIGHTS) == ["de", "en", "es", "hu", "it", "nl", "pt"]
    with pytest.raises(ValueError, match=r"knows no books in 'fr': expected one of en, nl, de, es, it, pt, hu"):
        extract_as_papers("– Oui.", "fr")


def test_delimiter_is_that_which_counts_most():
    assert choose_delimiter("“one” two “three”", "en") == ("“", 5)
    assert choose_delimiter('"one" "two" “three”', "en") == ('"', 5)
    assert choose_delimiter("", "en") == ('"', 1), "every count begins at 1, and the first of equals wins"
    assert choose_delimiter("_A._ b\n_C._ _d_ _e_\n", "en") == ("_", 3), "an underscore counts once a line"
    assert choose_delimiter("„eins“ »zwei« »drei«", "de") == ("»", 5)
    assert choose_delimiter("— uno -- dos --", "es") == ("--", 5)


def test_gap_parts_dialogues():
    filler = "x" * 149
    assert len(texts("“One.”", filler, "“Two.”")) == 0, "149 + a space for the line + a space behind the quote > 150"
    assert len(texts("“One.”", filler[1:], "“Two.”")) == 1
    assert len(texts("“One.”", "x\n" * 73 + "x", "“Two.”")) == 1, "74 lines of one letter count 148"
    assert len(texts("“One.”", "x\n" * 75 + "x", "“Two.”")) == 0
    behind = "y" * 140
    assert len(texts(f"“One.” {behind}", "“Two.”")) == 1, "what stands behind the last quote counts"
    assert len(texts(f"“One.” {behind}", FILLER, "“Two.”")) == 0
    assert len(texts("“One.”", f"{'y' * 900} “Two.”")) == 1, "what stands before the first quote never does"
    assert len(texts("„Eins.“" + "y" * 900, "„Zwei.“", language="de")) == 1, "nor in German behind it"


def test_speech_over_paragraphs_is_only_its_last_one():
    assert texts("“One begins", "“and goes on", "“And ends.”", "“Answer.”") == [["And ends.", "Answer."]]


def test_first_quote_begins_with_a_capital():
    assert texts("“One.”", "the so-called “expert” came.", "“Two.”") == [["One.", "Two."]]
    assert texts("“One.”", "“7 of us.”", "“—No.”", "“ No.”", "“Two.”") == [["One.", "Two."]]
    assert texts("“One.”", "“Two,” he said, “and three.”") == [["One.", "Two, and three."]], "only the first must"
    assert texts("“One.”", "“”", "“Two.”") == [["One.", "Two."]]


def test_rejected_quotes_leave_empty_dialogues_that_count():
    long = [FILLER] * 4
    book = [*["“no capital”", *long] * 3, "“One.”", "“Two.”"]
    found = extract_as_papers("\n\n".join(book), "en", Papers(min_delimiters=100))
    assert len(found.dialogues) == 1, "4 dialogues for 168 words, three of them empty, are more than 10 in 10,000"


def test_single_quotes_and_apostrophes():
    assert texts("‘The boys’ house.’", "‘Yes.’") == [], "the apostrophe closes: an even number of quotes"
    assert texts("‘Yes’, he said.", "‘No.’") == [], "no quote closes before a comma"
    assert texts("‘Don’t.’", "‘Yes.’") == [["Don’t.", "Yes."]]


def test_long_utterances_cut_and_leave():
    words = lambda number: " ".join(["Word"] * number)  # noqa: E731
    book = ["“One.”", "“Two.”", f"“{words(100)}”", "“Three.”", "“Four.”"]
    assert texts(*book) == [["One.", "Two."], ["Three.", "Four."]]
    book[2] = f"“{words(99)}”"
    assert [len(dialogue) for dialogue in texts(*book)] == [5], "99 words are the most, as the book's name is counted"
    book[2] = f"“{words(100)}”"
    exact = Papers(min_delimiters=0, count_prefix=False)
    assert [len(dialogue) for dialogue in texts(*book, parameters=exact)] == [5]
    assert texts("“One.”", f"“{words(100)}”", "“Two.”") == [], "pieces of one utterance leave"


def test_empty_utterances_stay_unless_asked():
    book = ["– Jó.", "–", "– Nem."]
    assert texts(*book, language="hu") == [["Jó.", "", "Nem."]]
    without = Papers(min_delimiters=0, min_double_delimiters=-1, keep_empty=False)
    assert texts(*book, language="hu", parameters=without) == [["Jó.", "Nem."]]


def test_other_dashes_give_nothing():
    assert texts("—Hola.", "—No.", language="es") == []
    assert texts("- Jó.", "- Nem.", language="hu") == []
    assert texts("„Dag.”", "„Nee.”", language="nl") == []


def test_delimiter_stands_whole_in_the_first_two_characters():
    assert texts("– Egy.", " – Kettő.", "  – Három.", language="hu") == [["Egy.", "Kettő."]]
    assert texts("--Uno.", "--Dos.", " --Tres.", language="es") == [["Uno.", "Dos."]]
    assert texts("„Eins.“", " „Zwei.“", "Er: „Drei.“", language="de") == [["Eins.", "Zwei."]]


def test_books_left_out():
    words = " ".join(["word"] * 980)
    few = f"{words}\n\n“One.”\n\n“Two.”"
    assert extract_as_papers(few, "en").reason == "few_delimiters"
    eight = "\n\n".join([words, *["“One.”"] * 8])  # 17 in 988 words
    assert extract_as_papers(eight, "en").reason == "few_dialogues", "1 in 988 words, where 15 in 10,000 are asked"
    dashes = "\n\n".join([words, *["--Uno.", "--Dos.", "x" * 160] * 8])
    found = extract_as_papers(dashes, "es")
    assert (found.reason, found.style, found.dialogues) == ("few_double_delimiters", "--", [])
    double = "\n\n".join([words, *["--Uno--dijo.", "--Dos.", "x" * 160] * 8])
    found = extract_as_papers(double, "es")
    assert (found.reason, len(found.dialogues)) == (None, 8)
    alone = "\n\n".join([words, *["“One.”", "x" * 160] * 10])
    assert extract_as_papers(alone, "en").reason == "no_dialogue"
    assert extract_as_papers("", "en").reason == "few_delimiters"


def test_exactly_the_threshold_is_too_few():
    book = " ".join(["word"] * 198) + "\n\n“A.”\n\n“B.”"  # 5 delimiters in 200 words: 250 in 10,000
    assert extract_as_papers(book, "en", Papers(min_delimiters=250)).reason == "few_delimiters"
    assert extract_as_papers(book, "en", Papers(min_delimiters=249)).reason is None


def test_paragraphs_are_numbered_and_joined():
    assert numbers("Title", "\n\n“One,”\nshe said.", FILLER, "“Two.”") == [[(1,), (3,)]]
    assert texts("“One\n  and a half,”\nshe said.", "“Two.”") == [["One and a half,", "Two."]]
    assert texts("“One.”\n  \n“Two.”") == [], "a line of spaces ends no paragraph: one utterance in all"


def test_line_ends_do_not_matter():
    book = "“One,”\nshe said.\n\n“Two.”\n"
    assert len({str(extract_as_papers(book.replace("\n", end), "en", ANY)) for end in ("\n", "\r\n", "\r")}) == 1


def test_style():
    assert extract_as_papers("“One.”\n\n“Two.”", "en", ANY).style == "“ ”"
    assert extract_as_papers("»Eins.«\n\n»Zwei.«", "de", ANY).style == "» «"
    assert extract_as_papers("--Uno.", "it", ANY).style == "--"


@pytest.mark.parametrize("language", sorted(WEIGHTS))
def test_time_grows_with_the_text(language):
    books = [
        lambda size, piece=piece: piece * (size // len(piece))
        for piece in ("“", "“A.”\n\n", "\n", "\n\n", "--", "--a\n\n", "_A._ b\n\n", "»a«", '"', "‘a’ ", "– ")
    ]
    assert check_growth(lambda text: extract_as_papers(text, language, ANY), books, per_character=2e-5) is None
