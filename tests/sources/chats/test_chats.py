"""Exports of messengers: the messages alone, in order, with speakers; what is left out is counted."""

import json
import shutil
from pathlib import Path

import pytest

import edos_dataset
from edos_dataset.runs.pipeline import split_rejects
from edos_dataset.sources.chats import NotAChatError, read_chat
from edos_dataset.sources.inventory import find_films
from edos_dataset.sources.parsed import ReadError
from edos_dataset.sources.read import ReadFilms

Found = list[tuple[float, str, str]]


def read(content: object) -> tuple[Found, dict[str, int]]:
    """Return time, speaker and text of each message, and what was left out."""
    text = content if isinstance(content, str) else json.dumps(content)
    parsed = read_chat(text.encode())
    assert parsed.speakers
    return [
        (start, str(name), said)
        for start, name, said in zip(parsed.starts.tolist(), parsed.speakers, parsed.texts, strict=True)
    ], parsed.left_out


TWO = [(0.0, "Anna", "Where are you?"), (120.0, "Ben K.", "On the train. It snows: a lot.")]


@pytest.mark.parametrize(
    "text",
    [
        "1/4/26, 7:03 PM - Anna: Where are you?\n1/4/26, 7:05 PM - Ben K.: On the train.\nIt snows: a lot.\n",
        "1/4/26, 7:03\u202fPM - Anna: Where are you?\n1/4/26, 7:05\u202fPM - Ben K.: On the train.\n\nIt snows: a lot.",
        "04.01.26, 19:03 - Anna: Where are you?\n04.01.26, 19:05 - Ben K.: On the train.\nIt snows: a lot.\n",
        "[04.01.26, 19:03:00] Anna: Where are you?\n[04.01.26, 19:05:00] Ben K.: On the train.\nIt snows: a lot.",
        "[14/10/2025, 3:34:00 PM] Anna: Where are you?\n[14/10/2025, 3:36:00 PM] ~\u202fBen K.: On the train.\n"
        "It snows: a lot.",
        "2026-01-04 19:03 - Anna: Where are you?\n2026-01-04 19:05 - Ben K.: On the train.\nIt snows: a lot.",
        "2026. 01. 04. 19:03 - Anna: Where are you?\n2026. 01. 04. 19:05 - Ben K.: On the train.\nIt snows: a lot.",
        "4/1/26, 7:03 p. m. - Anna: Where are you?\n4/1/26, 7:05 p. m. - Ben K.: On the train.\nIt snows: a lot.",
        "2026/1/4 下午7:03 - Anna: Where are you?\n2026/1/4 下午7:05 - Ben K.: On the train.\nIt snows: a lot.",
        "4.1.2026 klo 19.03 - Anna: Where are you?\n4.1.2026 klo 19.05 - Ben K.: On the train.\nIt snows: a lot.",
        "04/01/2026 à 19:03 - Anna: Where are you?\n04/01/2026 à 19:05 - Ben K.: On the train.\nIt snows: a lot.",
        "4.01.26 г., 19:03 ч. - Anna: Where are you?\n4.01.26 г., 19:05 ч. - Ben K.: On the train.\nIt snows: a lot.",
        "٤\u200f/١\u200f/٢٠٢٦، ٧:٠٣ م - Anna: Where are you?\n٤\u200f/١\u200f/٢٠٢٦، ٧:٠٥ م - Ben K.: On the train.\n"
        "It snows: a lot.",
        "19:03, 04/01/2026 - Anna: Where are you?\n19:05, 04/01/2026 - Ben K.: On the train.\nIt snows: a lot.",
        "04-01-2026 19:03 - Anna: Where are you?\r\n04-01-2026 19:05 - Ben K.: On the train.\r\nIt snows: a lot.\r\n",
    ],
)
def test_whatsapp_of_many_phones(text: str) -> None:
    assert read(text) == (TWO, {})


def test_whatsapp_leaves_out_what_nobody_said() -> None:
    head = "04.01.26, 19:0"
    text = (
        f"{head}0 - Nachrichten und Anrufe sind Ende-zu-Ende-verschlüsselt.\n{head}1 - Anna: <Medien ausgeschlossen>\n"
        f"{head}1 - Anna: *Wo* bist _du_?\n{head}2 - Ben: Diese Nachricht wurde gelöscht.\n"
        f"{head}2 - Ben: \u200eBild weggelassen\n"
        f"{head}3 - Ben: IMG-1.jpg (Datei angehängt)\n{head}3 - Ben: Standort: https://maps.google.com/?q=52,13\n"
        f"{head}4 - Ben: Hier.\u200e<Diese Nachricht wurde bearbeitet.>\n"
        f"{head}5 - Cem hat die Gruppe verlassen.\n"
    )
    assert read(text) == (
        [(0.0, "Anna", "Wo bist du?"), (180.0, "Ben", "Hier.")],
        {"notices": 2, "media": 4, "deleted messages": 1},
    )


def test_day_and_month_are_as_time_runs_forward() -> None:
    days = ["31/1/26", "1/2/26", "2/2/26"]
    assert [time for time, _, _ in read("\n".join(f"{day}, 10:00 - A: Hi" for day in days))[0]] == [0, 86400, 172800]
    days = ["1/2/26", "1/3/26", "1/4/26"]  # days in January rather than months, as both run forward beside PM
    assert read("\n".join(f"{day}, 1:00 PM - A: Hi" for day in days))[0][-1][0] == 172800


def test_telegram() -> None:
    messages = [
        {"id": 2, "type": "message", "date": "2026-01-04T19:05:00", "from": "Ben", "text": ["No, ", {"text": "never"}]},
        {"id": 1, "type": "message", "date": "2026-01-04T19:03:00", "from": "Anna", "text": "Now?"},
        {"id": 3, "type": "service", "date": "2026-01-04T19:06:00", "actor": "Anna", "text": ""},
        {"id": 4, "type": "message", "date": "2026-01-04T19:07:00", "from": "Anna", "photo": "p.jpg", "text": ""},
    ]
    wanted = [(0.0, "Anna", "Now?"), (120.0, "Ben", "No, never")], {"notices": 1, "media": 1}
    assert read({"name": "Ben", "messages": messages}) == wanted
    assert read({"chats": {"list": [{"messages": messages}]}}) == wanted
    with pytest.raises(ReadError, match="export of 2 chats: export each chat by itself"):
        read({"chats": {"list": [{}, {}]}})


def said(number: int, time: str, content: str, joined: str = "") -> str:
    """Return a message as in Telegram's pages."""
    return (
        f'<div class="message default clearfix{joined}" id="message{number}"><div class="body">'
        f'<div class="pull_right date details" title="04.01.2026 {time} UTC+01:00"></div>{content}</div></div>'
    )


PAGE = (
    '<!DOCTYPE html><html><head><title>Exported Data</title></head><body><div class="history">\n'
    '<div class="message service" id="message-1"><div class="body details">4 January 2026</div></div>'
    + said(1, "19:03:00", '<div class="from_name">\nAnna </div><div class="text">Now &amp; then?<br>Or never?</div>')
    + said(
        2,
        "19:05:00",
        '<div class="from_name">Ben</div><div class="reply_to details">In reply to <div class="text">Now?</div></div>'
        '<div class="text">No, <strong>never</strong></div>',
    )
    + said(3, "19:05:30", '<div class="text">Never.</div>', " joined")
    + '<div class="message service" id="message4"><div class="body details">Anna pinned this</div></div>'
    + said(
        5,
        "19:06:00",
        '<div class="from_name">Anna</div><div class="media_wrap"><div class="media"><div class="body">'
        '<div class="title">Voice message</div></div></div></div>',
    )
    + "</div></body></html>"
)


def test_pages_of_telegram(tmp_path: Path) -> None:
    wanted = [(0.0, "Anna", "Now & then? Or never?"), (120.0, "Ben", "No, never"), (150.0, "Ben", "Never.")]
    assert read(PAGE) == (wanted, {"notices": 1, "media": 1})
    (tmp_path / "messages.html").write_text(PAGE)
    found = find_films([tmp_path], "en")
    assert found.films["files"].to_pylist()[0][0]["kind"] == "chat"
    [row] = edos_dataset.label(tmp_path / "messages.html", "fast")
    assert [(turn["speaker"], turn["text"]) for turn in row["turns"]] == [
        ("Anna", "Now & then? Or never?"),
        ("Ben", "No, never Never."),
    ]
    with pytest.raises(NotAChatError, match="looks like a page of HTML"):
        read("<html><body><p>Hello.</p></body></html>")


def test_discord_as_json_and_as_a_table() -> None:
    one = {"type": "Default", "timestamp": "2026-01-04T19:03:00.1234567+00:00", "content": "Now? <:smile:12>"}
    other = {"type": "Reply", "timestamp": "2026-01-04T19:05:00.1234567Z", "content": "**No**, never"}
    call = {"type": "Call", "timestamp": "2026-01-04T19:06:00+00:00", "content": "Started a call."}
    messages = [one | {"author": {"name": "anna"}}, other | {"author": {"nickname": "Ben", "name": "b"}}, call]
    wanted = [(0.0, "anna", "Now? :smile:"), (120.0, "Ben", "No, never")]
    assert read({"guild": {}, "channel": {}, "messages": messages}) == (wanted, {"notices": 1})
    table = (
        "AuthorID,Author,Date,Content,Attachments,Reactions\n"
        '"1","anna","2026-01-04T19:03:00.0000000+00:00","Now? <:smile:12>","",""\n'
        '"2","Ben","04-Jan-26 07:05 PM","No,\nnever","",""\n"2","Ben","04-Jan-26 07:06 PM","","x.png",""\n'
    )
    assert read(table) == (wanted, {"media": 1})


def test_discord_tables_with_odd_line_ends() -> None:
    assert read("Author,Date,Content\ra,2026-01-04T19:03:00Z,Now?\rb,2026-01-04T19:05:00Z,No.\r")[0] == [
        (0.0, "a", "Now?"),
        (120.0, "b", "No."),
    ]
    with pytest.raises(ReadError, match="cannot be read .field larger than field limit"):
        read("Author,Date,Content\na,2026-01-04T19:03:00Z," + "x" * 140_000)


def test_slack() -> None:
    messages = [
        {"type": "message", "user": "U2", "text": "I know <@U1> &lt;3 <http://a.b|this>", "ts": "120.5"},
        {"type": "message", "user": "U1", "text": "Now?", "ts": "0.5", "user_profile": {"real_name": "Anna K"}},
        {"type": "message", "subtype": "channel_join", "user": "U3", "text": "<@U3> has joined", "ts": "121.0"},
    ]
    wanted = [(0.0, "Anna K", "Now?"), (120.0, "U2", "I know @Anna K <3 this")], {"notices": 1}
    assert read(messages) == wanted
    assert read({"ok": True, "messages": messages}) == wanted


def slack_export(folder: Path) -> Path:
    """An export of Slack: a channel with a day, and the lists beside it."""
    day = [
        {"type": "message", "user": "U0AB", "text": "I lost my job, <@U1CD>.", "ts": "0.5"},
        {"type": "message", "user": "U1CD", "text": "Oh no! What happened?", "ts": "60.5"},
        {"type": "message", "user": "U9ZZ", "text": "I am so sorry.", "ts": "90.5"},
    ]
    people = [
        {"id": "U0AB", "name": "ak", "profile": {"display_name": "", "real_name": "Anna K"}},
        {"id": "U1CD", "name": "ben", "real_name": "Ben", "profile": []},
        {"name": "nobody"},
        7,
    ]
    (folder / "general").mkdir(parents=True)
    (folder / "users.json").write_text(json.dumps(people))
    (folder / "channels.json").write_text(json.dumps([{"id": "C1", "name": "general"}]))
    (folder / "general" / "2026-01-04.json").write_text(json.dumps(day))
    return folder


WANTED = [("Anna K", "I lost my job, @Ben."), ("Ben", "Oh no! What happened?"), ("U9ZZ", "I am so sorry.")]


@pytest.mark.parametrize("packed", [False, True])
def test_people_of_an_export_of_slack_have_their_names(packed: bool, tmp_path: Path) -> None:
    source = slack_export(tmp_path / "acme")
    if packed:
        source = Path(shutil.make_archive(str(tmp_path / "packed"), "zip", tmp_path, "acme"))
    [lines] = split_rejects(ReadFilms()(find_films([source], "en").films))[0]["lines"].to_pylist()
    assert [(line["speaker"], line["text"]) for line in lines] == WANTED


def test_a_folder_of_slack_is_labelled_with_names(tmp_path: Path) -> None:
    [row] = edos_dataset.label(slack_export(tmp_path / "acme"), "fast")
    assert [(turn["speaker"], turn["text"]) for turn in row["turns"]] == WANTED


def test_messenger_with_its_letters_mended() -> None:
    messages = [
        {"sender_name": "BÃ©a", "timestamp_ms": 180_000, "content": "I\u00e2\u0080\u0099m here \u00e2\u009d\u00a4"},
        {"sender_name": "BÃ©a", "timestamp_ms": 170_000, "content": "BÃ©a sent an attachment."},
        {"sender_name": "Anna", "timestamp_ms": 160_000, "is_unsent": True},
        {"sender_name": "Anna", "timestamp_ms": 60_000, "content": "Where are you? ñ–", "type": "Generic"},
    ]
    wanted = [(0.0, "Anna", "Where are you? ñ–"), (120.0, "Béa", "I’m here ❤")]
    assert read({"participants": [], "messages": messages}) == (wanted, {"notices": 1, "deleted messages": 1})


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("Call me Ishmael.\nSome years ago.\n", "a plain text"),
        ('{"segments": [], "language": "en"}', "other JSON .'segments', 'language'."),
        ("[1, 2, 3]", "other JSON .a list of 3."),
        ('{"a": 1,', "damaged JSON"),
        ('{"a": 1}\n{"a": 2}\n', "JSON lines"),
        ("a,b,c\n1,2,3\n", "a table with the columns 'a,b,c'"),
        ("1\n00:00:01,000 --> 00:00:02,000\nHi\n", "subtitles"),
    ],
)
def test_something_else_is_refused_by_what_it_looks_like(text: str, what: str) -> None:
    with pytest.raises(NotAChatError, match=f"looks like {what}.*WhatsApp"):
        read(text)


def test_the_text_of_a_discord_export_is_refused_with_the_remedy() -> None:
    head = f"{'=' * 62}\nGuild: Direct Messages\nChannel: ben\n{'=' * 62}\n\n"
    with pytest.raises(ReadError, match="Discord's export as plain text: export it as JSON or CSV"):
        read(head + "[12/03/2024 14:00] Anna\nWhere are you?\n")


@pytest.mark.parametrize("value", [{"channel": {}, "messages": [1]}, {"participants": 1, "messages": [None]}])
def test_an_export_that_is_not_complete_is_refused(value: object) -> None:
    with pytest.raises(ReadError, match="not complete"):
        read(value)
