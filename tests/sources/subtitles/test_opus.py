import os
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edos_dataset.sources.parsed import Parsed, ReadError
from edos_dataset.sources.subtitles.opus import parse_opus, parse_xml, scan, walk

DECLARATION = '<?xml version="1.0" encoding="utf-8"?>\n'
NAN = np.nan
META = """<meta>
  <source><genre>Action, Family ,Sci-Fi</genre><year>2002</year><original>Japanese</original>
  <duration>88</duration></source>
  <conversion><tokens>200</tokens><unknown_words>3</unknown_words><corrected_words>1</corrected_words></conversion>
  <subtitle><language>English</language><confidence>0.75</confidence><cds>1/1</cds><duration>01:27:52,005</duration></subtitle>
</meta>"""


def start(number: int, value: str) -> str:
    return f'<time id="T{number}S" value="00:00:{value}" />'


def end(number: int, value: str) -> str:
    return f'<time id="T{number}E" value="00:00:{value}" />'


def words(text: str) -> str:
    return "\n".join(f'<w id="1.{number}">{escape(word)}</w>' for number, word in enumerate(text.split(), start=1))


def sentence(number: object, *parts: str) -> str:
    return f'<s id="{number}">\n' + "\n".join(parts) + "\n</s>"


def document(*parts: str, meta: str = META) -> str:
    return f'{DECLARATION}<document id="1">\n' + "\n".join(parts) + f"\n{meta}\n</document>"


def read(*parts: str, meta: str = META) -> Parsed:
    return parse_opus(document(*parts, meta=meta).encode())


def lines(parsed: Parsed) -> list[tuple[int, str, float, float, int, int]]:
    columns = (parsed.ids, parsed.texts, parsed.starts, parsed.ends, parsed.first_blocks, parsed.last_blocks)
    return [(int(i), text, float(s), float(e), int(f), int(la)) for i, text, s, e, f, la in zip(*columns, strict=True)]


def same(one: list[tuple], other: list[tuple]) -> None:
    np.testing.assert_equal(one, other)


def test_tokens_become_sentences_with_the_times_of_their_blocks() -> None:
    parsed = read(
        sentence(
            1,
            start(1, "01,000"),
            words("Buy land ..."),
            end(1, "02,000"),
            start(2, "02,500"),
            words("lots of it ."),
            end(2, "04,000"),
        ),
        sentence(2, start(3, "05,000"), words("That 's my job .")),
        sentence(4, words("Is n't it ?"), end(3, "07,000")),
    )
    same(
        lines(parsed),
        [
            (1, "Buy land... lots of it.", 1.0, 4.0, 0, 1),
            (2, "That's my job.", 5.0, 7.0, 2, 2),
            (4, "Isn't it?", 5.0, 7.0, 2, 2),
        ],
    )
    assert parsed.bad_times == 0
    assert (parsed.encoding, parsed.encoding_confidence) == ("utf-8", 1.0)


def test_raw_text_is_kept_as_written() -> None:
    parsed = read(
        sentence(
            1,
            start(1, "01,000"),
            "Well ,  I'm  here .",
            end(1, "02,000"),
            start(2, "03,000"),
            "\n  - You &amp; me?",
            end(2, "04,000"),
        )
    )
    same(lines(parsed), [(1, "Well , I'm here . - You & me?", 1.0, 4.0, 0, 1)])


def test_every_block_may_have_the_same_number() -> None:
    parsed = read(
        sentence(1, start(1, "03,000"), words("Tell me ."), end(1, "05,000")),
        sentence(2, start(1, "06,000"), words("What ?"), end(1, "10,000")),
    )
    same(lines(parsed), [(1, "Tell me.", 3.0, 5.0, 0, 0), (2, "What?", 6.0, 10.0, 1, 1)])


@pytest.mark.parametrize(
    ("parts", "expected", "bad_times"),
    [
        # times between the sentences instead of in them
        (
            [start(1, "01,000"), sentence(1, words("One")), end(1, "02,000"), sentence(2, words("Two"))],
            [(1.0, 2.0, 0), (NAN, NAN, 1)],
            2,
        ),
        # no end, then no start
        (
            [sentence(1, start(1, "01,000"), words("One"), start(2, "03,000"), words("Two"), end(2, "04,000"))],
            [(1.0, 4.0, 0)],
            1,
        ),
        (
            [sentence(1, words("One"), end(1, "02,000")), sentence(2, words("Two"), end(2, "04,000"))],
            [(NAN, 2.0, 0), (NAN, 4.0, 1)],
            2,
        ),
        # no times at all
        ([sentence(1, words("One")), sentence(2, words("Two"))], [(NAN, NAN, 0), (NAN, NAN, 0)], 2),
        # no time in the value
        ([sentence(1, start(1, "xx"), words("One"), end(1, ""))], [(NAN, NAN, 0)], 2),
        # a block without words counts as a block
        (
            [sentence(1, start(1, "01,000"), end(1, "02,000"), start(2, "03,000"), words("One"), end(2, "04,000"))],
            [(3.0, 4.0, 1)],
            0,
        ),
        # a step back of 20 seconds
        (
            [
                sentence(n, start(n, f"{s},000"), words("One"), end(n, f"{s + 1},000"))
                for n, s in enumerate([47, 50, 30, 55], start=1)
            ],
            [(47.0, 48.0, 0), (50.0, 51.0, 1), (NAN, NAN, 2), (55.0, 56.0, 3)],
            2,
        ),
        # an end before its start
        ([sentence(1, start(1, "05,000"), words("One"), end(1, "02,000"))], [(5.0, NAN, 0)], 1),
    ],
)
def test_times_anywhere_missing_or_wrong(
    parts: list[str], expected: list[tuple[float, float, int]], bad_times: int
) -> None:
    parsed = read(*parts)
    same([(line[2], line[3], line[4]) for line in lines(parsed)], expected)
    assert parsed.bad_times == bad_times


@pytest.mark.parametrize(
    ("ids", "expected"),
    [([3, 5, 9], [3, 5, 9]), ([1, 2, 1], [1, 2, 3]), (["a", "b"], [1, 2]), ([1, 10**12], [1, 2]), ([2, 2], [1, 2])],
)
def test_ids_are_the_files_if_they_rise(ids: list[object], expected: list[int]) -> None:
    assert read(*(sentence(number, words("One")) for number in ids)).ids.tolist() == expected


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        (
            '<w alternative="Previously" id="1.1">PREVIOUSLY</w> <w alternative="on" emphasis="true" id="1.2">ON</w>',
            "Previously on",
        ),
        ('<w emphasis="true" alternative="Keon" id="1.1">KEON</w>', "Keon"),
        ('<w alternative="tall" id="1.1">tail</w>', "tail"),  # a rejected guess
        ('<w id="1.1" initial="l">I</w>', "I"),  # OCR, corrected by OPUS
        ('<w id="1.1" initial="goin\'">goin</w>', "goin'"),
        ('<w id="1.1" initial="hangin">hanging</w> <w id="1.2">\'</w> <w id="1.3">out</w>', "hangin' out"),
        ('<w alternative="Can" id="1.1">CAN</w> <w id="1.2">\'T</w>', "Can't"),
    ],
)
def test_words_that_opus_changed(word: str, expected: str) -> None:
    assert read(f'<s emphasis="true" id="1">{word}</s>').texts == [expected]


def test_spaces_are_taken_from_the_file_where_it_gives_them() -> None:
    text = (
        '<s id="1"><w misc="SpaceAfter=No" id="1.1">Do</w><w id="1.2">n\'t</w><w misc="SpaceAfter=No" '
        'id="1.3">go</w><w id="1.4">!</w></s>'
    )
    assert read(text).texts == ["Don't go!"]


def test_meta() -> None:
    facts = read(sentence(1, words("One"))).facts
    assert (facts.year, facts.genres, facts.original_language, facts.language) == (
        2002,
        ["Action", "Family", "Sci-Fi"],
        "Japanese",
        "English",
    )
    assert (facts.confidence, facts.doubtful, facts.is_part) == (0.75, 0.02, False)


@pytest.mark.parametrize(
    ("meta", "is_part"),
    [
        (
            "<source><duration>88</duration></source><subtitle><cds>1/2</cds><duration>00:44:00,000</duration></subtitle>",
            True,
        ),
        (
            "<source><duration>88</duration></source><subtitle><cds>1/2 "
            "(1)</cds><duration>01:27:52,005</duration></subtitle>",
            False,
        ),
        ("<subtitle><cds>2/2</cds></subtitle>", True),
        ("<subtitle><cds>1/1</cds></subtitle>", False),
        ("<subtitle><cds>1/</cds></subtitle>", False),
        ("", False),
    ],
)
def test_a_disc_of_several(meta: str, is_part: bool) -> None:
    assert read(sentence(1, words("One")), meta=f"<meta>{meta}</meta>").facts.is_part is is_part


def test_meta_of_nonsense_is_null() -> None:
    meta = (
        "<source><year>1</year><genre> , "
        "</genre></source><subtitle><confidence>nan</confidence></subtitle><conversion><tokens>x</tokens></conversion>"
    )
    facts = read(sentence(1, words("One")), meta=f"<meta>{meta}</meta>").facts
    assert (facts.year, facts.genres, facts.confidence, facts.doubtful, facts.language) == (None, [], None, None, None)


LAUGHS = "".join(f'<!ENTITY l{n} "&l{n - 1};&l{n - 1};">' for n in range(1, 40))


@pytest.mark.parametrize(
    ("content", "reason", "detail"),
    [
        (
            f'<!DOCTYPE d [<!ENTITY l0 "ha">{LAUGHS}]>\n<document><s id="1">&l39;</s></document>',
            "forbidden_xml",
            "entity",
        ),
        (
            f'<!DOCTYPE d [<!ENTITY l0 "ha">{LAUGHS}]>\n<document><s id="&l39;">x</s></document>',
            "forbidden_xml",
            "line 1",
        ),
        (
            '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>\n<document><s id="1">&x;</s></document>',
            "forbidden_xml",
            "entity",
        ),
        (
            '<!DOCTYPE d SYSTEM "http://localhost/x.dtd">\n<document><s id="1">&x;</s></document>',
            "forbidden_xml",
            "reference to an entity",
        ),
        ('<document><s id="1"><w id="1.1">a</w></s><s id="2"><w id="2.1">b', "truncated", ""),
        ('<document><s id="1"><w id="1.1">a</w></document>', "malformed_xml", "line 1"),
        ('<document><s id="1"><w id="1.1">a & b</w></s></document>', "malformed_xml", ""),
        ('<document><s id="1"><w id="1.1">a&nbsp;b</w></s></document>', "malformed_xml", "undeclared entity"),
        ('<document><s id="1"><w id="1.1">a\x08b</w></s></document>', "malformed_xml", "invalid char"),
        ("1\n00:00:01,000 --> 00:00:02,000\nHi", "malformed_xml", ""),
        ("<html><body>404</body></html>", "not_subtitles", "sentence"),
        ('<document><s id="1"><w id="1.1"> </w></s><s id="2"/></document>', "not_subtitles", "sentence"),
    ],
)
def test_what_is_refused_and_why(content: str, reason: str, detail: str) -> None:
    with pytest.raises(ReadError) as caught:
        parse_opus(content.encode())
    assert caught.value.reason == reason
    assert detail in caught.value.detail


def test_a_harmless_doctype_is_read() -> None:
    assert parse_opus(b'<!DOCTYPE document><document><s id="1"><w id="1.1">Hi</w></s></document>').texts == ["Hi"]


@pytest.mark.parametrize("encoding", ["iso8859-2", "cp1250", "utf-16", "utf-16-le", "utf-8-sig"])
def test_an_encoding_other_than_declared(encoding: str) -> None:
    text = document(sentence(1, words("Őrült vagy , nem tudom , hol van az esernyő .")))
    parsed = parse_opus(text.encode(encoding), "hu")
    assert parsed.texts == ["Őrült vagy, nem tudom, hol van az esernyő."]
    assert parsed.encoding != "utf-8" or encoding == "utf-8-sig"


def test_texts_are_composed() -> None:
    assert read(sentence(1, words("Cafe\u0301 ne\u0301"))).texts == ["Café né"]


def both_ways(text: str) -> None:
    """The scanner gives what the tree gives, or leaves the file to it; what lxml refuses it must never read."""
    scanned = scan(text)
    if scanned is None:
        return
    by_scanner, expected = scanned[0], walk(parse_xml(text))
    for name in by_scanner.__slots__:
        assert getattr(by_scanner, name) == getattr(expected, name) or name == "texts", name
    assert [" ".join(line.split()) for line in by_scanner.texts] == [" ".join(line.split()) for line in expected.texts]


TOKEN = st.text(st.sampled_from("aBé'\".,-&<>;]♪ "), min_size=1, max_size=5)
TIME = st.builds(
    lambda letter, value: f'<time id="T1{letter}" value={quoteattr(value)} />',
    st.sampled_from("SSEEX"),
    st.sampled_from(["00:00:01,000", "00:00:02,500", "0:1:2", "", "bad"]),
)
WORD = st.builds(
    lambda text, attributes: f"<w {attributes}>{escape(text)}</w>",
    TOKEN,
    st.sampled_from(
        ['id="1.1"'] * 8
        + ['alternative="a" id="1.1"', 'emphasis="true" id="1.1"', 'id="1.1" initial="a"', 'id="1.1" lemma="a"', ""]
    ),
)
PART = st.one_of(
    WORD,
    WORD,
    WORD,
    TIME,
    TIME,
    st.sampled_from(["\n  ", " ", "<!-- no -->", "<?no no?>", "&#233;", "<i>a</i>"]),
    TOKEN.map(escape),
)
SENTENCE = st.builds(
    lambda parts, number: f'<s id="{number}">{"".join(parts)}</s>',
    st.lists(PART, max_size=8),
    st.sampled_from(["1", "2", "x"]),
)
BODY = st.lists(
    st.one_of(SENTENCE, SENTENCE, SENTENCE, TIME, st.sampled_from(["\n", "text", "<s>a</s>"])), max_size=6
).map("".join)


@settings(max_examples=150, deadline=None)
@given(BODY)
def test_scanner_and_tree_agree(body: str) -> None:
    both_ways(f'<document id="1">{body}{META}</document>')


@settings(max_examples=100, deadline=None)
@given(BODY, st.data())
def test_the_scanner_reads_no_damaged_file(body: str, data: st.DataObject) -> None:
    text = f'<document id="1">{body}</document>'
    at = data.draw(st.integers(0, len(text) - 1))
    both_ways(
        text[:at]
        + data.draw(st.sampled_from(["", "<", ">", "&", "</s>", "</w>", '<s id="1">', '"', "\x01", "]]>"]))
        + text[at + 1 :]
    )


def test_the_usual_layout_is_scanned() -> None:
    body = sentence(
        1,
        start(1, "01,000"),
        '<w alternative="Hi" id="1.1">HI</w>',
        '<w emphasis="true" id="1.2">there</w>',
        end(1, "02,000"),
    )
    assert (
        scan(f'<document id="1">{body}\n{sentence(2, "raw &amp; text", start(2, "03,000"))}{META}</document>')
        is not None
    )


@pytest.mark.skipif("EDOS_DATA_DIR" not in os.environ, reason="needs the real files")
def test_real_files_both_ways() -> None:
    files = sorted(Path(os.environ["EDOS_DATA_DIR"], "opensubtitles_xml").glob("*.xml"))
    assert files
    for file in files:
        text = file.read_text(encoding="utf-8").partition("?>")[2]
        assert scan(text) is not None, file.name
        both_ways(text)
