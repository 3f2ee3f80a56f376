"""No untrusted text can hold a run up: reading it takes time in proportion to its length."""

import ast
import html
import importlib
import re
from contextlib import suppress
from pathlib import Path
from types import FunctionType

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import edos_dataset
from edos_dataset.cleaning import captions
from edos_dataset.cleaning import captions as markup
from edos_dataset.crowd.selection import Readability
from edos_dataset.generation.safety import danger_in
from edos_dataset.languages.detection import contradict_language, guess_language
from edos_dataset.segmentation.books.manner import manner_of
from edos_dataset.segmentation.books.rules import load_rules
from edos_dataset.segmentation.turns.tokens import hash_tokens
from edos_dataset.sources.detokenize import detokenize
from edos_dataset.sources.encodings import decode
from edos_dataset.sources.formats import formats_by_suffix
from edos_dataset.sources.parsed import ReadError
from edos_dataset.sources.subtitles.opus import parse_opus
from edos_dataset.sources.subtitles.text import parse_subtitles
from edos_dataset.text import count_tokens, normal_form, normalise, tokenize
from tests.support.adversaries import check_growth, texts_against, texts_of_signs
from training.transcripts.matching import number_words
from training.transcripts.speakers import read_cues

ROOT = Path(edos_dataset.__file__).parent
ANCHORED = {"match", "fullmatch"}
BUILT = {  # modules that build an expression when they run, of text that is escaped: nothing in it repeats
    # (that of `manner` repeats words; it reads 160 characters; `manner_of` and `danger_in` are run below)
    "edos_dataset.cleaning.pseudonyms",
    "edos_dataset.crowd.answers",
    "edos_dataset.generation.safety",
    "edos_dataset.runs.shards",
    "edos_dataset.segmentation.books.manner",
    "edos_dataset.segmentation.books.paragraphs",
    "edos_dataset.segmentation.books.rules",
    "edos_dataset.segmentation.sentences",
    "edos_dataset.text",
    "edos_dataset.web.pasted",
}


def _sources():
    for path in sorted(ROOT.rglob("*.py")):
        name = ".".join(path.relative_to(ROOT.parent).with_suffix("").parts)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if any(_calls(tree)):
            yield name, tree


def _calls(tree):
    """Yield the calls that take a regular expression."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of_re = isinstance(node.func.value, ast.Name) and node.func.value.id == "re"
            if (of_re and node.func.attr != "escape") or node.func.attr.endswith("_regex"):
                yield node


def _patterns(value):
    if isinstance(value, re.Pattern):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [found for part in value for found in _patterns(part)] if isinstance(value, (list, tuple)) else []


def _ways(tree, name):
    """Return the methods of a pattern that a module calls."""
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name
    }


@pytest.fixture(scope="module")
def expressions():
    """Return (place, pattern or text, way) of every expression of the package, and the modules that build one."""
    found, built = [], set()
    for module, tree in _sources():
        values = vars(importlib.import_module(module))
        named = {id(call) for statement in tree.body if isinstance(statement, ast.Assign) for call in _calls(statement)}
        for statement in tree.body:
            if isinstance(statement, ast.Assign) and any(_calls(statement)):
                name = statement.targets[0].id
                ways = _ways(tree, name)
                way = ways.pop() if len(ways) == 1 and ways <= ANCHORED else "finditer"
                assert _patterns(values[name]), f"{module}.{name} holds expressions where this test finds none"
                found += [(f"{module}.{name}", pattern, way) for pattern in _patterns(values[name])]
        for call in _calls(tree):
            if id(call) in named:
                continue
            argument = call.args[1] if call.func.attr.endswith("_regex") else call.args[0]
            try:
                text = eval(compile(ast.Expression(argument), module, "eval"), values)
            except NameError:
                if not call.func.attr.endswith("_regex"):
                    built.add(module)
                continue
            place = f"{module}:{call.lineno}"
            if call.func.attr.endswith("_regex"):
                found.append((place, text, call.func.attr))
            else:
                found.append((place, re.compile(text), call.func.attr if call.func.attr in ANCHORED else "finditer"))
    return found, built


def _run(pattern, way):
    if way.endswith("_regex"):
        more = [""] if way.startswith("replace") else []
        return lambda text: getattr(pc, way)(pa.array([text]), pattern, *more)
    if way in ANCHORED:
        return lambda text: getattr(pattern, way)(text)
    return lambda text: sum(1 for _ in pattern.finditer(text))


def _as_bytes(texts):
    for text in texts:
        yield lambda size, text=text: text(size).encode("latin-1", "replace")


def test_every_expression_is_found(expressions):
    found, built = expressions
    assert len(found) > 100
    assert built == BUILT


def test_expressions_take_time_in_proportion_to_the_text(expressions):
    faults = []
    for place, pattern, way in expressions[0]:
        texts = texts_of_signs() if isinstance(pattern, str) else texts_against(pattern)
        if not isinstance(pattern, str) and isinstance(pattern.pattern, bytes):
            texts = _as_bytes(texts)
        if fault := check_growth(_run(pattern, way), texts):
            faults.append(f"{place} ({way}): {fault}")
    assert not faults, "\n".join(faults)


def _subtitle(form):
    return lambda text: _read(parse_subtitles, form.replace("TEXT", text).encode("utf-8", "surrogatepass"))


def _opus(form):
    return lambda text: _read(parse_opus, form.replace("TEXT", text).encode("utf-8", "surrogatepass"))


def _read(reader, data):
    with suppress(ReadError):
        return reader(data, "en")


READERS = {
    "srt": _subtitle("1\n00:00:01,000 --> 00:00:02,000\nTEXT\n"),
    "vtt": _subtitle("WEBVTT\n\n00:01.000 --> 00:02.000\nTEXT\n"),
    "ass": _subtitle("[Events]\nDialogue: 0,0:00:01.00,0:00:02.00,,,,,,,TEXT\n"),
    "opus": _opus('<document><s id="1">TEXT</s></document>'),
    "opus tokens": lambda text: _opus('<document><s id="1">TEXT</s></document>')(
        " ".join(f'<w id="1">{html.escape(word)}</w>' for word in text.split())
    ),
    "opus words and times": lambda text: _opus('<document><s id="1">TEXT</s></document>')(
        'a<time id="T1S" value="0"/>' * (len(text) // 20)
    ),
}


def _many(suffix, head, each, foot=""):
    """Return a reader, and a function from a size to a file of many cues or messages."""
    reader = formats_by_suffix()[suffix].reader

    def text(size):
        number = max(size // len(each), 1)
        return head + "".join(each.format(n=n, h=n // 3600, m=n // 60 % 60, s=n % 60) for n in range(number)) + foot

    return lambda text: _read(reader, text.encode()), text


MANY = {
    "whatsapp": _many(".txt", "", "[04.01.2{h}, 1{h}:{m:02}:{s:02}] Anna: No {n}.\n"),
    "telegram": _many(
        ".json",
        '{"messages": [',
        '{{"type": "message", "date_unixtime": "{n}", "from": "A", "text": ["No", "{n}"]}},',
        "{}]}",
    ),
    "discord": _many(".csv", "Author,Date,Content\n", "a,2026-01-04T1{h}:{m:02}:{s:02}Z,No {n}.\n"),
    "slack": _many(
        ".json",
        "[",
        '{{"type": "message", "user": "U{s}", "ts": "{n}.0", "text": "<@U1> {n}"}},',
        '{"type": 0, "ts": 0}]',
    ),
    "messenger": _many(
        ".json",
        '{"participants": [], "messages": [',
        '{{"sender_name": "A", "timestamp_ms": {n}, "content": "No {n}."}},',
        "{}]}",
    ),
    "transcript": _many(
        ".json", '{"segments": [', '{{"start": {n}, "end": {n}.9, "speaker": "S{s}", "text": "No {n}."}},', "{}]}"
    ),
    "voices": _many(
        ".vtt", "WEBVTT\n\n", "{h:02}:{m:02}:{s:02}.000 --> {h:02}:{m:02}:{s:02}.900\n<v Ann>No {n}.</v>\n\n"
    ),
    "rolling": _many(".srt", "", "{h:02}:{m:02}:{s:02},000 --> {h:02}:{m:02}:{s:02},900\nAnd so on\n{n}\n\n"),
    "backward": _many(".srt", "", "00:{s:02}:{m:02},000 --> 00:{s:02}:{m:02},900\nNo {n}.\n\n"),
    "a word a cue": _many(".srt", "", "{h:02}:{m:02}:{s:02},000 --> {h:02}:{m:02}:{s:02},999\nword{n}\n\n"),
    "youtube xml": _many(
        ".srv3", "<timedtext><body>", '<p t="{n}000" d="900"><s>No</s><s> {n}</s></p>', "</body></timedtext>"
    ),
    "youtube json": _many(
        ".json3", '{"wireMagic": "pb3", "events": [', '{{"tStartMs": {n}000, "segs": [{{"utf8": "{n}"}}]}},', "{}]}"
    ),
    "sbv": _many(".sbv", "", "{h}:{m:02}:{s:02}.000,{h}:{m:02}:{s:02}.900\nNo {n}.\n\n"),
    "microdvd": _many(".sub", "", "{{{n}0}}{{{n}9}}No {n}.|Yes.\n"),
    "ttml": _many(".ttml", "<tt><body><div>", '<p begin="{n}s" end="{n}.9s">No<br/>{n}</p>', "</div></body></tt>"),
    "sami": _many(".smi", "<SAMI>", "<SYNC Start={n}000><P Class=EN>No {n}."),
    "lrc": _many(".lrc", "", "[{n}:00.00][{n}:30.00]No {n}.\n"),
    "screenplay": _many(
        ".html",
        "<pre>\n  INT. A - DAY\n",
        "\n  He goes {n}.\n\n           ANN{s}\n      (low)\n       No {n}.\n",
        "</pre>",
    ),
    "script of names": _many(".html", "<pre>\nANN\n", "ANN{s}\n", "</pre>"),
    "notes never closed": _many(".html", "<pre>\nANN\n", "ANN{s}\n(no {n}\n((\n", "</pre>"),
    "transcript of a play": _many(".html", "<pre>\n", "ANN{s}: (low) No {n}. (Goes.) Yes!\n", "</pre>"),
    "fountain": _many(".fountain", "INT. A\n\n", "ANN{s}\n(low)\nNo *{n}*. [[\n\n"),
    "final draft": _many(
        ".fdx",
        "<FinalDraft><Content>",
        '<Paragraph Type="Character"><Text>ANN{s}</Text></Paragraph>'
        '<Paragraph Type="Dialogue"><Text>No {n}.</Text></Paragraph>',
        "</Content></FinalDraft>",
    ),
}

FUNCTIONS = {
    **{
        name: value
        for name, value in vars(captions).items()
        if isinstance(value, FunctionType) and not name.startswith("_")
    },
    "strip_markup": markup.strip_markup,
    "repair_letters": markup.repair_letters,
    "decode": lambda text: _read(lambda data, _: decode(data), text.encode("utf-8", "replace")),
    "decode a byte that is not UTF-8": lambda text: _read(
        lambda data, _: decode(data), text.encode("utf-8", "replace") + b"\n\xe9"
    ),
    "detokenize": lambda text: detokenize([text], "fr"),
    "number_words": lambda text: number_words([text]),
    "hash_tokens": lambda text: hash_tokens(pa.array([text]), "en"),
    "normal_form": normal_form,
    "normalise": normalise,
    "tokenize": tokenize,
    "count_tokens": lambda text: count_tokens(pa.array([text])),
    "guess_language": guess_language,
    "contradict_language": lambda text: contradict_language([text], "en"),
    "read_cues": read_cues,
    "manner_of": lambda text: manner_of(text, [f"said, with {text}", text], ["said"], load_rules("en")),
    "danger_in": danger_in,
    "readability": lambda text: Readability({}).score([text]),
    **READERS,
}
"""Functions that take untrusted text."""

KNOWN = ("\u0301\u0316", '" ', "' ", "made& ", " & edited", " & Edited ", "x{\\p1", "aI", "'s", "-->\n", "...\n", "#\n")


@pytest.mark.filterwarnings("ignore:Failed to parse margin")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_take_time_in_proportion_to_the_text(name):
    texts = [lambda size, known=known: known * (size // len(known)) + "\0!" for known in (*KNOWN, *"<{[(&-. a1")]
    assert check_growth(FUNCTIONS[name], texts, per_character=2e-5) is None


@pytest.mark.parametrize("kind", MANY)
def test_files_of_many_cues_take_time_in_proportion_to_their_number(kind):
    read, text = MANY[kind]
    assert check_growth(read, [text], per_character=4e-5) is None
