"""Broken files through each reader: lines with possible times, or a reason; never a traceback or a hang.

Unlike `test_subtitles` and `test_commands`, no command runs, so that many more examples fit in the time.
"""

import csv
import io
import json
import math
import time
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from edos_dataset.label_sets.label_map import load_label_map
from edos_dataset.label_sets.reading import load_label_set
from edos_dataset.releases.dialogues import read_source
from edos_dataset.releases.formats.selection import ALL
from edos_dataset.sources.formats import formats, formats_by_suffix
from edos_dataset.sources.parsed import Parsed, ReadError, refuse_longer
from edos_dataset.sources.subtitles.bilingual import one_language
from edos_dataset.sources.subtitles.speakers import name_speakers
from fuzzing import fuzz, mutated

pytestmark = pytest.mark.slow

LONGEST = 5.0
"""CPU seconds that a file of less than 1 MB may take."""

SAID = [
    "Where have you been?",
    "At the station.",
    "I'm so sorry — really.",
    "Don't be. It's fine, Anna.",
    "Żółć? Ünïcode.",
]
ANY = [
    b"\n",
    b"\n\n",
    b"\r",
    b"\x00",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"\xe2\x80\xaf",
    b"1e999",
    b"-1",
    b"99",
]
JSON = [*ANY, b"null", b"[]", b"{}", b'""', b"true", b"NaN", b"1e999", b'"\\ud800"', b"[" * 3_000, b'{"a":' * 3_000]
XML = [
    *ANY,
    b"<br/>",
    b"<",
    b">",
    b"&#55357;",
    b"&lol;",
    b"<![CDATA[",
    b"]]>",
    b"<!DOCTYPE d [",
    b"<p>",
    b"</p>",
    b"<!--",
]


def as_json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def stamped(form: str) -> bytes:
    """Return a line or block for each sentence; `form` takes its number, start and end in seconds, and text."""
    return "".join(form.format(n=n, s=2 * n, e=2 * n + 1, t=text) for n, text in enumerate(SAID, 1)).encode()


SLACK = [{"type": "message", "user": f"U{n % 2}", "ts": f"176755{n}380.0001", "text": t} for n, t in enumerate(SAID)]
SLACK[1] |= {"text": "<@U1> &lt;3 <https://a.b|b>", "user_profile": {"display_name": "Ben"}, "subtype": "me_message"}
TELEGRAM = [
    {"type": "message", "date": f"2026-01-04T19:0{n}:00", "from": "AB"[n % 2], "text": [t, {"type": "bold", "text": t}]}
    for n, t in enumerate(SAID)
]
DISCORD = [
    {
        "type": "Default",
        "timestamp": f"2026-01-04T19:0{n}:00.1234567+00:00",
        "author": {"name": "ab"[n % 2]},
        "content": t,
    }
    for n, t in enumerate(SAID)
]
MESSENGER = [{"sender_name": "AB"[n % 2], "timestamp_ms": 10**12 - n, "content": t} for n, t in enumerate(SAID)]
SEGMENTS = [
    {"start": 2.0 * n, "end": 2.0 * n + 1, "text": t, "speaker": f"SPEAKER_0{n % 2}"}
    | {"words": [{"word": w, "start": 2.0 * n, "end": 2.1 * n, "speaker": f"SPEAKER_0{n % 2}"} for w in t.split()]}
    for n, t in enumerate(SAID)
]
SRT = stamped("{n}\n00:00:{s:02},000 --> 00:00:{e:02},900\n[SPEAKER_0{n}]: {t}\n\n")
SAMI = "<SAMI><STYLE>.EN {lang: en;} .DE {lang: de;}</STYLE><BODY>{}</BODY></SAMI>"

KINDS: dict[str, tuple[str, list[bytes], list[bytes]]] = {
    "whatsapp": (
        ".txt",
        [
            stamped("[04.01.26, 19:0{n}:00] Anna: {t}\n"),
            stamped("1/{n}/26, 7:03\u202fPM - Ben: {t}\nmore\n") + b"1/9/26, 7:03 PM - Ben: <Media omitted>\n",
        ],
        [*ANY, b"[04.01.26, 19:00] ", b"99/99/9999, 99:99 - A: ", b"0/0/0, 0:0 - ", b": ", b" - ", b"\xe2\x80\x8e<"],
    ),
    "telegram": (".json", [as_json({"name": "x", "messages": TELEGRAM})], [*JSON, b'"chats":{"list":[]},']),
    "telegram page": (
        ".html",
        [
            b"<!DOCTYPE html><html><body><div class='history'>"
            + stamped(
                '<div class="message default clearfix" id="message{n}"><div class="body">'
                '<div class="pull_right date details" title="04.01.2026 19:0{n}:00 UTC+01:00">x</div>'
                '<div class="from_name">Anna</div><div class="reply_to"><div class="text">no</div></div>'
                '<div class="text">{t}<br>x</div></div></div>'
            )
            + b"</div></body></html>"
        ],
        [*XML, b'<div class="message default joined">', b"<div " * 3_000, b'title="99.99.9999 99:99"', b"</div>" * 9],
    ),
    "discord": (
        ".json",
        [as_json({"guild": {}, "channel": {}, "messages": DISCORD})],
        [*JSON, b'"author":1,', b"<:a:1>", b'"type":"Reply",'],
    ),
    "discord table": (
        ".csv",
        [b"AuthorID,Author,Date,Content,Attachments,Reactions\n" + stamped('{n},a,04-Jan-26 07:0{n} PM,"{t}",,\n')],
        [*ANY, b'"', b",", b'""', b"2026-01-04T19:00:00Z"],
    ),
    "slack": (".json", [as_json(SLACK), as_json({"ok": True, "messages": SLACK})], [*JSON, b"<@", b"|", b'"ts":1,']),
    "messenger": (
        ".json",
        [as_json({"participants": [], "messages": MESSENGER})],
        [*JSON, b"\\u00e2\\u0080", b'"is_unsent":1,'],
    ),
    "transcript": (
        ".json",
        [
            as_json({"text": "x", "segments": SEGMENTS}),
            as_json({"chunks": [{"timestamp": [n, n + 1], "text": t} for n, t in enumerate(SAID)]}),
            as_json({"transcription": [{"offsets": {"from": 9, "to": 99}, "text": t} for t in SAID]}),
        ],
        [*JSON, b'"speaker":7,', b'"words":null,', b'"start":"x",', b'"timestamp":[1],', b'"end":-1e308,'],
    ),
    "captions with speakers": (
        ".vtt",
        [
            b"WEBVTT\n\n" + stamped("{n}\n00:{s:02}.000 --> 00:{e:02}.900 align:start\n<v.loud Anna B>{t}</v>\n\n"),
            b"WEBVTT\n\n" + stamped("00:00:{s:02}.000 --> 00:00:{e:02}.900\nAnna de V. (she/her): {t}\n\n"),
            SRT,
        ],
        [*ANY, b"<v ", b"<v A>", b"</v>", b"-->", b"NOTE\n", b"[SPEAKER_9]:", b"(", b"Anna: ", b"<00:01.000>", b"<c>"],
    ),
    "youtube xml": (
        ".srv3",
        [
            b'<?xml version="1.0"?><timedtext format="3"><body>'
            + stamped('<p t="{s}000" d="1200" a="1"><s>{t}</s><s t="90" ac="1"> x</s></p>')
            + b"</body></timedtext>",
            b"<transcript>" + stamped('<text start="{s}.1" dur="1.2">{t} &amp;#39;</text>') + b"</transcript>",
        ],
        [*XML, b' t="-9"', b' d="1e999"', b"<s>", b' start="x"'],
    ),
    "youtube json": (
        ".json3",
        [
            as_json(
                {
                    "wireMagic": "pb3",
                    "events": [
                        {"tStartMs": 900 * n, "dDurationMs": 5000, "segs": [{"utf8": w} for w in t.split()]}
                        for n, t in enumerate(SAID)
                    ],
                }
            )
        ],
        [*JSON, b'"segs":null,', b'"aAppend":1,', b'"utf8":9,'],
    ),
    "sbv": (
        ".sbv",
        [stamped("0:00:0{n}.000,0:00:0{n}.900\n{t}[br]x\n\n")],
        [*ANY, b"0:00:09.000,0:00:01.000\n", b"[br]"],
    ),
    "microdvd": (
        ".sub",
        [b"{1}{1}25.000\n" + stamped("{{{s}0}}{{{e}0}}{{y:i}}{t}|- No.\n"), stamped("[{s}0][{e}0]/{t}|x\n")],
        [*ANY, b"{1}{1}0\n", b"{999999999}{}", b"{y:i}", b"|", b"{", b"[1][2]", b"{C:$0000FF}"],
    ),
    "ttml": (
        ".ttml",
        [
            b'<tt xmlns="http://www.w3.org/ns/ttml" xmlns:ttp="http://www.w3.org/ns/ttml#parameter" ttp:tickRate="10">'
            b'<body><div begin="1s">'
            + stamped('<p begin="{s}0t" end="00:00:{e:02}:10"><span>{t}</span><br/>x</p>')
            + b"</div></body></tt>",
        ],
        [
            *XML,
            b' begin="1h"',
            b' dur="-1s"',
            b' ttp:frameRate="0"',
            b' ttp:tickRate="1e9"',
            b' timeContainer="seq"',
            b"<span>",
        ],
    ),
    "sami": (
        ".smi",
        [SAMI.replace("{}", stamped("<SYNC Start={s}000><P Class=EN>{t}<br>x<P Class=DE>Ja").decode()).encode()],
        [*XML, b"<SYNC Start=-9>", b"<P Class=DE>", b"&nbsp;", b".FR {lang:fr;}", b"Start=999999999999"],
    ),
    "lrc": (
        ".lrc",
        [b"[ti:x]\n[offset:+250]\n" + stamped("[00:0{n}.00][00:1{n}.5]{t} <00:01.50>x\n")],
        [*ANY, b"[00:01]", b"[offset:-9999999]\n"],
    ),
    "screenplay": (
        ".html",
        [
            b"<html><pre>\n    INT. HOUSE - DAY\n\n    He waits.\n\n"
            + stamped("{s:>22} ANNA (V.O.)\n                  (low)\n          {t}\n\n    He goes. {n}.\n\n")
            + b"</pre></html>",
            b"Scene 1\n\n" + stamped("ANNA: (low) {t}\nBen: {t}\n"),
        ],
        [*ANY, b"CUT TO:\n", b"(", b")", b"\n\n", b"ANNA\n", b"(MORE)\n", b"<b>", b"</pre>", b"\t\t", b"12.\n", b"[["],
    ),
    "fountain": (
        ".fountain",
        [b"Title: x\n\n.HOUSE\n\n" + stamped("@Anna{n} ^\n(low)\n{t} *so* [[no]]\n\n!BANG\n\n")],
        [*ANY, b"/*", b"*/", b"[[", b"]]", b"@", b"\n\n", b"~", b"**", b"\\", b"  \n"],
    ),
    "final draft": (
        ".fdx",
        [
            b"<FinalDraft><Content>"
            + stamped(
                '<Paragraph Type="Character"><Text>AN</Text><Text>NA</Text></Paragraph>'
                '<Paragraph Type="Dialogue"><Text>{t}</Text></Paragraph>'
            )
            + b"</Content></FinalDraft>"
        ],
        [*XML, b"<DualDialogue>", b"<Text>", b' Type="Scene Heading"', b"<Paragraph>", b"</Content>"],
    ),
}


def check_timed(data: bytes, suffix: str) -> None:
    """A file of subtitles or a chat has lines with possible times, or there is a reason."""
    format = formats_by_suffix()[suffix]
    try:
        parsed = format.reader(data, "en")
        refuse_longer(parsed.texts)
    except ReadError as error:
        assert error.reason.isidentifier() and 0 < len(error.detail) < 1_000, error
        return
    kind = formats()[parsed.kind or format.kind]
    check_lines(parsed)
    if not (kind.whole_sentences or kind.scripted):
        check_lines(name_speakers(one_language(parsed, "en")))


def check_lines(parsed: Parsed) -> None:
    for text in [*parsed.texts, *(speaker for speaker in parsed.speakers or () if speaker is not None)]:
        assert text == unicodedata.normalize("NFC", text) and "\n" not in text
        text.encode()
    pa.array(parsed.texts)
    assert not any(math.isinf(seconds) for seconds in [*parsed.starts.tolist(), *parsed.ends.tolist()])
    assert (parsed.ends >= parsed.starts)[~(parsed.ends != parsed.ends) & ~(parsed.starts != parsed.starts)].all()


def workbook(rows: Sequence[Sequence[object]], merged: str | None = None) -> bytes:
    book, file = openpyxl.Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(list(row))
    if merged:
        book.active.merge_cells(merged)
    book.save(file)
    return file.getvalue()


def table(delimiter: str, encoding: str) -> bytes:
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter).writerows(ROWS)
    return file.getvalue().encode(encoding)


def parquet() -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table({name: [row[n] for row in ROWS[1:]] for n, name in enumerate(ROWS[0])}), file)
    return file.getvalue()


ROWS: list[list[str]] = [
    ["Dialogue_ID", "speaker", "time", "text"],
    *([f"d{n // 3}", "AB"[n % 2], f"2026-01-04 19:{n:02}", text] for n, text in enumerate(SAID * 2)),
]
MESSAGES = [{"id": 1, "messages": [{"role": ("user", "assistant")[n % 2], "content": t} for n, t in enumerate(SAID)]}]
TABLES = {
    "csv": [table(",", "utf-8"), table(";", "utf-8-sig"), table("\t", "utf-16")],
    "xlsx": [workbook(ROWS, "A2:A4"), workbook([[], ["text", "score"], *([text, 7.5] for text in SAID)])],
    "parquet": [parquet()],
    "json": [as_json(MESSAGES), as_json([{"conversations": [{"from": "human", "value": "Hi."}]}])],
    "jsonl": [
        b"\n".join(as_json(MESSAGES[0] | {"id": number}) for number in (1, 2)),
        as_json({"prompt": "Hi.", "turns": SAID}),
    ],
}
OF_TABLES = [
    *JSON,
    b'"',
    b'""',
    b",",
    b";",
    b"\t",
    b"text",
    b"dialogue_id",
    b"PK\x03\x04",
    b"PAR1",
    b'"role"',
    b'"content"',
]
LABELS = [
    b"name: mine\nlabels: [joy, fear, none]\nneutral: none\ngroups: {good: [joy], bad: [fear]}\n"
    b"definitions: {joy: 'Glad.'}\nexamples: {joy: [Yes!]}\ncolours: {joy: '#ff0000'}\n"
    b"maps: {sentiment3: {joy: positive, fear: {negative: 0.5, neutral: 0.5}, none: neutral}}\n",
    b"labels:\n  - joy\n  - fear\nfrom:\n  edos41: {joyful: joy, afraid: {fear: 1.0}}\n",
    b"joy: positive\nfear: negative\nnone: neutral\n",
]
OF_LABELS = [
    *ANY,
    b": ",
    b"- ",
    b"? ",
    b"&a ",
    b"*a",
    b"<<: *a",
    b"!!python/object:os.system ",
    b"{",
    b"]",
    b"\t",
    b"---\n",
    b"joy",
    b"name",
    b"'",
    b"null",
    b"true",
    b"0x1F",
    b"2026-01-04",
    b".nan",
    b".inf",
    b"#",
    b"[" * 3_000,
]


def check_table(data: bytes, suffix: str, folder: Path) -> None:
    path = folder / f"given.{suffix}"
    path.write_bytes(data)
    try:
        tables = list(read_source(path, 1_000, ALL))
    except ValueError as error:
        check_sentence(error)
        return
    for dialogue in (turns for found in tables for turns in found["turns"].to_pylist()):
        assert dialogue and all(turn["text"].strip() for turn in dialogue)


def check_labels(data: bytes, folder: Path) -> None:
    path = folder / "labels.yaml"
    path.write_bytes(data)
    readers: tuple[Callable[[], object], ...] = (
        lambda: load_label_set(path),
        lambda: load_label_map(path, load_label_set({"labels": ["joy", "fear", "none"]})),
    )
    for read in readers:
        try:
            read()
        except ValueError as error:
            check_sentence(error)


def check_sentence(error: ValueError) -> None:
    assert 0 < len(str(error)) < 4_000 and type(error).__module__ != "pyarrow.lib", error


def in_time(check: Callable[[bytes], None], data: bytes) -> None:
    began = time.process_time()
    check(data)
    assert time.process_time() - began < LONGEST, f"{time.process_time() - began:.1f} s for {len(data):,} bytes"


SHARE = 1 / (len(KINDS) + len(TABLES) + 1)
"""Of the time of one target: all readers together are one."""


@pytest.mark.parametrize("kind", KINDS)
def test_timed(kind: str) -> None:
    suffix, seeds, words = KINDS[kind]
    for seed in seeds:
        assert len(formats_by_suffix()[suffix].reader(seed, "en").texts) >= len(SAID) - 1, "a seed must be read"

    def check(data: bytes, _: Path) -> None:
        in_time(lambda data: check_timed(data, suffix), data)

    fuzz(mutated(seeds, words), check, SHARE)


@pytest.mark.parametrize("suffix", TABLES)
def test_tables(suffix: str, tmp_path: Path) -> None:
    for seed in TABLES[suffix]:
        check_table(seed, suffix, tmp_path)
        assert sum(found.num_rows for found in read_source(tmp_path / f"given.{suffix}", 1_000)), "a seed must be read"

    def check(data: bytes, folder: Path) -> None:
        in_time(lambda data: check_table(data, suffix, folder), data)

    fuzz(mutated(TABLES[suffix], OF_TABLES), check, SHARE)


def test_label_sets() -> None:
    def check(data: bytes, folder: Path) -> None:
        in_time(lambda data: check_labels(data, folder), data)

    fuzz(mutated(LABELS, OF_LABELS), check, SHARE)
