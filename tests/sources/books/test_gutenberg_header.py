"""What Project Gutenberg puts around a book: old and new headers, licences, declared encodings."""

import pytest

from edos_dataset.sources.books.gutenberg import declared_encoding, unwrap

BODY = "\n\nCHAPTER I\n\nIt rained.\n\n"
NEW = (
    "The Project Gutenberg eBook of Two Doors\n\nTitle: Two Doors\n       A Tale\n\nAuthor: Ann Nobody\n\n"
    "Language: Hungarian\n\nOriginal publication: London: Some House, 1891\n\n"
    "*** START OF THE PROJECT GUTENBERG EBOOK TWO\nDOORS ***"
)
OLD = (
    "The Project Gutenberg Etext of Two Doors, by Ann Nobody\n\nsmall print\n\n"
    "*END*THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS*Ver.04.29.93*END*"
)
ENDS = (
    "*** END OF THE PROJECT GUTENBERG EBOOK TWO DOORS ***\nlicence\n",
    "End of the Project Gutenberg EBook of Two Doors, by Ann Nobody\n\n*** END OF THIS PROJECT GUTENBERG EBOOK",
    "End of Project Gutenberg's Two Doors\n",
    "***START**THE SMALL PRINT!**FOR PUBLIC DOMAIN EBOOKS**START***\nlicence",
)


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize(
    ("header", "facts"),
    [
        (NEW, ("Two Doors A Tale", "Ann Nobody", "hu", 1891)),
        (OLD, ("Two Doors", "Ann Nobody", None, None)),
        ("***START OF THE PROJECT GUTENBERG EBOOK X***", (None, None, None, None)),
    ],
)
def test_wrapped(header, facts, end):
    book = unwrap(header + BODY + end)
    assert book.text.strip() == BODY.strip() and book[1:] == facts


def test_what_is_not_wrapped_stays():
    text = "A book about Project Gutenberg.\n\nTitle: none\n"
    assert unwrap(text) == (text, None, None, None, None)


@pytest.mark.parametrize(
    ("head", "name", "declared"),
    [
        (b"Character set encoding: ISO-8859-1\r\n", "1.txt", "iso-8859-1"),
        (b"Character set encoding: ISO Latin-1\n", "1-0.txt", "latin-1"),
        (b"Character set encoding: Unicode UTF-8\n", "1.txt", "utf-8"),
        (b"", "1234-8.txt", "iso8859-1"),
        (b"", "1234-0.txt", "utf-8"),
        (b"", "alice.txt", None),
    ],
)
def test_declared(head, name, declared):
    assert declared_encoding(head + b"text", name) == declared
