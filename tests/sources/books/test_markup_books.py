"""Books in TEI, HTML and EPUB: of which kind what is, what the file says of itself, and what it is refused for."""

import io
import zipfile

import pytest

from edos_dataset.sources.books.book import CONTENTS, HEADING, NOTE, PARAGRAPH, SPEECH, VERSE
from edos_dataset.sources.formats import read_book, read_plain
from edos_dataset.sources.parsed import ReadError

PROSE = "The keeper counted the ships again. " * 40
HEADER = """<teiHeader><fileDesc><titleStmt><title>Két ajtó : ELTeC edition</title>
<author ref="x">Senki Anna (1822-1856)</author></titleStmt><sourceDesc><bibl><date>2002</date></bibl>
<bibl type="firstEdition"><date>1898</date></bibl></sourceDesc></fileDesc>
<profileDesc><langUsage><language ident="hun"/></langUsage></profileDesc></teiHeader>"""


def tei(body, header=HEADER, root="TEI"):
    return f'<?xml version="1.0"?>\n<{root} xmlns="http://www.tei-c.org/ns/1.0">{header}<text>{body}</text></{root}>'.encode()


AES = "http://www.w3.org/2001/04/xmlenc#aes128-cbc"


def encryption(path, algorithm):
    """Return what an EPUB says of an encrypted file."""
    return f"""<?xml version="1.0"?><encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container"
      xmlns:enc="http://www.w3.org/2001/04/xmlenc#"><enc:EncryptedData><enc:EncryptionMethod Algorithm="{algorithm}"/>
      <enc:CipherData><enc:CipherReference URI="{path}"/></enc:CipherData></enc:EncryptedData></encryption>"""


def texts_and_kinds(data, name):
    """Return kind, chapter, speaker and text of each block but the padding."""
    return [
        (block.kind, block.chapter, block.speaker, block.text)
        for block in read_book(data, name, None).blocks
        if block.text != PROSE.strip()
    ]


@pytest.mark.parametrize(
    ("markup", "blocks"),
    [
        ("<div><head>I.</head><p>- Who\n   is <hi>it</hi>?<lb/>- I.</p></div>",
         [(HEADING, 0, None, "I."), (PARAGRAPH, 1, None, "- Who is it? - I.")]),
        ("<lg><l>One line</l><l>and one</l></lg><lg><l>Two</l></lg>",
         [(VERSE, 0, None, "One line and one"), (VERSE, 0, None, "Two")]),
        ("<l>One line</l><l>and one</l><p>Prose.</p>",
         [(VERSE, 0, None, "One line and one"), (PARAGRAPH, 0, None, "Prose.")]),
        ("<sp><speaker>ANNA.</speaker><p>Who? <stage>aside</stage>I.</p></sp><p>He went.</p>",
         [(SPEECH, 0, "ANNA", "Who? I."), (PARAGRAPH, 0, None, "He went.")]),
        ("<sp><speaker>ANNA</speaker><stage>goes</stage><l>One</l><l>two</l></sp>",
         [(SPEECH, 0, "ANNA", "goes"), (SPEECH, 0, "ANNA", "One two")]),
        ("<p>Before<note><p>A note.</p></note> and after.</p>",
         [(PARAGRAPH, 0, None, "Before and after."), (NOTE, 0, None, "A note.")]),
        ("<p>a <choice><sic>teh</sic><corr>the</corr></choice> b</p>", [(PARAGRAPH, 0, None, "a the b")]),
        ("<p>a<!-- no --> b<pb n='3'/> c &amp; d</p>", [(PARAGRAPH, 0, None, "a b c & d")]),
        ("<div type='contents'><p>I. 3</p></div><list><item>x</item></list>",
         [(CONTENTS, 0, None, "I. 3"), (CONTENTS, 0, None, "x")]),
        ("<p>jár\u00adó</p>", [(PARAGRAPH, 0, None, "járó")]),
    ],
)  # fmt: skip
def test_tei(markup, blocks):
    assert texts_and_kinds(tei(f"<body>{markup}<p>{PROSE}</p></body>"), "HU1.xml") == blocks


def test_what_tei_says_of_itself():
    book = read_book(tei(f"<body><p>{PROSE}</p></body>"), "HU1.xml", None)
    assert book[1:5] == ("hu", "Két ajtó", "Senki Anna", 1898)
    bare = read_book(tei(f"<body><p>{PROSE}</p></body>", ""), "x.xml", None)
    assert bare[1:5] == (None, None, None, None)


PAGE = """<!DOCTYPE html><html lang="en-GB"><head><title>The Project Gutenberg eBook of Two Doors, by Ann Nobody</title>
<style>p {{}}</style></head><body>{}</body></html>"""


@pytest.mark.parametrize(
    ("markup", "blocks"),
    [
        ("<h2><a id='c'/>Chapter I</h2><p>“Who&nbsp;is <i>it</i>?”</p>",
         [(HEADING, 0, None, "Chapter I"), (PARAGRAPH, 1, None, "“Who is it?”")]),
        ("<p>He went.<span class='pagenum'>[7]</span><a class='fnanchor'>[1]</a> On.</p>",
         [(PARAGRAPH, 0, None, "He went. On.")]),
        ("<div class='poem'><div class='stanza'><div class='verse'>One</div><div class='verse'>two</div></div></div>",
         [(VERSE, 0, None, "One two")]),
        ("<div class='footnote'><p>A note</p></div>", [(NOTE, 0, None, "A note")]),
        ("<table><tr><td>I</td><td>3</td></tr></table>", [(CONTENTS, 0, None, "I"), (CONTENTS, 0, None, "3")]),
        ("Text without an element<br>and more", [(PARAGRAPH, 0, None, "Text without an element and more")]),
        ("<p>unclosed<p>next", [(PARAGRAPH, 0, None, "unclosed"), (PARAGRAPH, 0, None, "next")]),
        ("<script>no</script><p>&#8212;Sí. &lt;b&gt;</p>", [(PARAGRAPH, 0, None, "—Sí. <b>")]),
    ],
)  # fmt: skip
def test_html(markup, blocks):
    found = texts_and_kinds(PAGE.format(f"<p>{PROSE}</p>{markup}<p>{PROSE}</p>").encode(), "x.html")
    assert found == blocks


@pytest.mark.parametrize("encoding", ["utf-8", "iso-8859-1"])
def test_what_html_says_of_itself(encoding):
    head = f'<meta http-equiv="Content-Type" content="text/html; charset={encoding}">'
    pages = PAGE.format(
        f"<pre>x\n*** START OF THE PROJECT GUTENBERG EBOOK X ***</pre><p>{'Así está él. ' * 90}</p>"
        "<p>*** END OF THE PROJECT GUTENBERG EBOOK X ***</p><p>licence</p>"
    ).replace("<style>", head + "<style>")
    book = read_book(pages.encode(encoding), "11-h.htm", "es")
    assert (book.title, book.author, book.language) == ("Two Doors", "Ann Nobody", "en")
    assert [block.text for block in book.blocks] == [("Así está él. " * 90).strip()]


CONTAINER = '<container><rootfiles><rootfile full-path="OPS/b.opf"/></rootfiles></container>'
PACKAGE = """<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">
<metadata><dc:title>Two Doors</dc:title><dc:creator>Ann Nobody</dc:creator><dc:language>en-US</dc:language></metadata>
<manifest><item id="b" href="two%20b.xhtml"/><item id="a" href="a.xhtml"/></manifest>
<spine><itemref idref="a"/><itemref idref="b"/></spine></package>"""
PAGES = {
    "META-INF/container.xml": CONTAINER,
    "OPS/b.opf": PACKAGE,
    "OPS/two b.xhtml": PAGE.format("<h2>Chapter II</h2><p>“No.”</p>"),
    "OPS/a.xhtml": PAGE.format(f"<h2>Chapter I</h2><p>{PROSE}</p>"),
}


def epub(**changed):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**PAGES, **changed}.items():
            if content is not None:
                archive.writestr(name, content)
    return stream.getvalue()


def test_epub():
    book = read_book(epub(), "11.epub", None)
    assert book[1:4] == ("en", "Two Doors", "Ann Nobody")
    assert [(block.kind, block.text[:12]) for block in book.blocks] == [
        (HEADING, "Chapter I"), (PARAGRAPH, "The keeper c"), (HEADING, "Chapter II"), (PARAGRAPH, "“No.”"),
    ]  # fmt: skip
    assert read_plain(epub(), "11.epub").split("\n\n")[2:] == ["Chapter II", "“No.”\n"]


@pytest.mark.parametrize(
    ("data", "name", "reason"),
    [
        (tei("<body/>"), "x.xml", "not_a_book"),
        (tei(f"<body><p>{PROSE}</p></body>")[:-30], "x.xml", "truncated"),
        (tei(f"<body><p>{PROSE}</q></body>"), "x.xml", "malformed_xml"),
        (b"<document><s>words</s></document>", "x.xml", "not_a_book"),
        (b"<!DOCTYPE TEI [<!ENTITY a 'b'>]>" + tei(f"<body><p>&a;{PROSE}</p></body>")[22:], "x.xml", "forbidden_xml"),
        (PROSE.encode(), "x.xml", "malformed_xml"),
        (b"<html><body>short</body></html>", "x.html", "not_a_book"),
        (bytes(2000), "x.html", "not_a_book"),
        (b"no zip" * 99, "x.epub", "malformed_epub"),
        (epub()[:-40], "x.epub", "malformed_epub"),
        (epub()[:200] + bytes(200) + epub()[400:], "x.epub", "malformed_epub"),
        (epub(**{"META-INF/container.xml": None}), "x.epub", "malformed_epub"),
        (epub(**{"META-INF/container.xml": "<container/>"}), "x.epub", "malformed_epub"),
        (epub(**{"META-INF/rights.xml": "<rights/>"}), "x.epub", "encrypted"),
        (epub(**{"META-INF/encryption.xml": encryption("OPS/a.xhtml", AES)}), "x.epub", "encrypted"),
        (epub(**{"OPS/a.xhtml": None}), "x.epub", "not_a_book"),
        (epub(**{"OPS/b.opf": PACKAGE.replace("itemref", "x")}), "x.epub", "malformed_epub"),
        (epub(**{"OPS/b.opf": PACKAGE.replace("<manifest>", "<!ENTITY x>")}), "x.epub", "forbidden_xml"),
        (epub(**{"OPS/a.xhtml": "<p>little</p>"}), "x.epub", "not_a_book"),
    ],
)
def test_what_is_refused(data, name, reason):
    with pytest.raises(ReadError) as refused:
        read_book(data, name, None)
    assert refused.value.reason == reason


@pytest.mark.parametrize(
    ("path", "algorithm"), [("OPS/font.otf", "http://www.idpf.org/2008/embedding"), ("OPS/cover.jpg", AES)]
)
def test_obfuscated_fonts_and_pictures_lock_no_book(path, algorithm):
    book = read_book(epub(**{"META-INF/encryption.xml": encryption(path, algorithm)}), "x.epub", None)
    assert book.blocks == read_book(epub(), "x.epub", None).blocks


def test_a_page_of_300_million_letters_is_refused():
    data = epub(**{"OPS/a.xhtml": PAGE.format("x" * (300 << 20))})  # here, as packing it takes seconds
    with pytest.raises(ReadError) as refused:
        read_book(data, "x.epub", None)
    assert refused.value.reason == "too_large"


@pytest.mark.parametrize(
    ("markup", "texts"),
    [
        ("He came.<br><br>“Who is it?”<br>\n<br/>“I.”", ["He came.", "“Who is it?”", "“I.”"]),
        ("<p>One line<br>and one.</p>", ["One line and one."]),
        ("<pre>“Who is\nit?”\n\n“I,” <i>said\nshe</i>.\n \n“Oh.”</pre>", ["“Who is it?”", "“I,” said she.", "“Oh.”"]),
        ("<p>&#147;I&#146;m here&#151;now.&#x94;</p>", ["“I’m here—now.”"]),
        ("<p>&#147;Father!&#148; said he. &#x93;And you.&#148;</p>", ["“Father!” said he. “And you.”"]),
        ("<p>&#1479;&#147 No.&#148;</p>", ["\u05c7“ No.”"]),
        ("<p><q>Who is it?</q> said she. <q>“I,”</q> said he.</p>", ["“Who is it?” said she. “I,” said he."]),
        ("<p><q>He said <q>no</q> to me.</q></p>", ["“He said ‘no’ to me.”"]),
        ("<p>“<q>Who?</q>” said she.<p>No end tags.", ["“Who?” said she.", "No end tags."]),
    ],
)
def test_paragraphs_and_quotes_as_readers_of_html_see_them(markup, texts):
    page = f"<html><body><p>{PROSE}</p>{markup}<p>{PROSE}</p></body></html>".encode()
    assert [text for *_, text in texts_and_kinds(page, "x.html")] == texts


def test_said_of_tei_is_speech():
    markup = "<p><said>Who is it?</said> she cried.</p><p><said>— I.</said></p>"
    blocks = texts_and_kinds(tei(f"<body>{markup}<p>{PROSE}</p></body>"), "x.xml")
    assert [text for *_, text in blocks] == ["“Who is it?” she cried.", "— I."]


def test_an_epub_is_read_without_a_missing_page_and_whatever_the_capitals(caplog):
    package = PACKAGE.replace("<itemref", '<itemref idref="gone"/><itemref', 1).replace("a.xhtml", "A.xhtml")
    assert read_book(epub(**{"OPS/b.opf": package}), "x.epub", None).blocks == read_book(epub(), "x.epub", None).blocks
    assert "x.epub: an EPUB is read without 1 of the" in caplog.text
