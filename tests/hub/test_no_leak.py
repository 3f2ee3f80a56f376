"""Nothing that is published says where on this machine it was made, or quotes a file that could not be read."""

import json
import socket
from dataclasses import replace

import pyarrow.parquet as pq

from edos_dataset.commands.curate import curate
from edos_dataset.hub.composition import reading
from edos_dataset.hub.croissant import croissant
from edos_dataset.recipes.subtitles import subtitles_to_dialogues
from edos_dataset.runs.pipeline import Output
from edos_dataset.sources.inventory import find_films

PLACE, SECRET = "someones-home", "whispered"
GOOD = "".join(
    f"{number}\n00:00:{2 * number:02d},000 --> 00:00:{2 * number + 1:02d},500\n{text}\n\n"
    for number, text in enumerate(
        ["Where were you all night?", "I walked along the river.", "You could have called."], 1
    )
)
BAD = {
    "plain.srt": f"{SECRET} words without any time\n" * 3,
    "tag.xml": f'<document><s id="1"><{SECRET}>a</w></s></document>',
    "entity.xml": f"<document><s id='1'>&{SECRET};</s></document>",
    "attribute.xml": f'<document><s id="1" {SECRET}={SECRET}>a</s></document>',
    "doctype.xml": f'<!DOCTYPE d SYSTEM "http://localhost/x.dtd">\n<document><s id="1">&{SECRET};</s></document>',
    "html.xml": f"<html><body>{SECRET}</body></html>",
    "bytes.srt": f"{SECRET}\0\1\2" * 50,
    "scripted.ass": f"[Script Info]\nTitle: {SECRET}\n\n[Events]\nDialogue: {SECRET}\n",
    "voice.vtt": f"WEBVTT\n\n{SECRET} --> {SECRET}\n{SECRET}\n",
}


def published(folder):
    """Yield the name of each file that would go to the Hub, and all that can be read in it."""
    with reading([folder]) as found:
        files = found.files
        text = croissant("ns/x", "https://hub/ns/x", "1.0.0", files["README.md"].content.decode(), files, found.configs)
        yield "croissant.json", text.encode()
        for name, file in files.items():
            raw = file.content
            yield name, raw
            if name.endswith(".parquet"):
                table = pq.read_table(file.source)
                yield (
                    f"rows of {name}",
                    json.dumps(table.to_pylist(), default=str).encode() + str(table.schema).encode(),
                )


def test_no_place_and_no_text_of_a_bad_file_is_published(tmp_path, monkeypatch):
    home = tmp_path / PLACE
    films = home / "subs"
    films.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    (films / "good.srt").write_text(GOOD)
    for name, text in BAD.items():
        (films / name).write_text(text)
    (films / "gone.srt").symlink_to(home / "nowhere.srt")
    pipeline = [
        replace(item, scorer="rules") if item != Output("os") and item.name == "turns" else item
        for item in subtitles_to_dialogues()
    ]
    manifest = curate(find_films([films], "en"), home / "edos", pipeline)
    assert len(manifest["quarantined"]) >= len(BAD) - 1 and manifest["configs"]["os"]["dialogues"] == 1
    assert all(note["path"].startswith("subs/") for note in manifest["quarantined"])
    for name, data in published(home / "edos"):
        for marker in (PLACE, str(tmp_path), SECRET, socket.gethostname()):
            assert marker.encode() not in data, f"{marker} in {name}"
