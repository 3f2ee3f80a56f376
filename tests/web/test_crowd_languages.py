"""Pages of a crowd in other languages: which one a worker sees, that nothing on them is English, and what is stored."""

import json
import re
import uuid
from dataclasses import replace
from html import unescape

import pytest

from crowd_batches import judging, labelling
from edos_dataset import crowd
from edos_dataset.crowd.assignments import Work, label_rows
from edos_dataset.crowd.batches import Batch, read_batch
from edos_dataset.crowd.store import invite
from edos_dataset.crowd.texts import texts_of
from edos_dataset.label_sets import LabelSet
from edos_dataset.labels import LABELS

pytest.importorskip("starlette", reason='the pages need starlette: pip install "edos-dataset[crowd]"')
from starlette.testclient import TestClient  # noqa: E402

from edos_dataset.web.crowd.server import make_app  # noqa: E402
from edos_dataset.web.crowd.visitors import Doors  # noqa: E402

HUNGARIAN = ["Nem tudom, hogy mit mondjak neki.", "Azt hiszem, hogy ez egy nagyon rossz ötlet, de majd meglátjuk."]


def csrf(page):
    return re.search(r'name="csrf" content="(\w+)"', page.text)[1]


def spoken(page):
    """What a page shows, without the texts that wait for its script, and the names of languages."""
    text = re.sub(r'<meta name="texts"[^>]*>|<option.*?</option>', "", page.text)
    return unescape(text)


def client_of(batch, kept, **doors):
    return TestClient(make_app(Work(kept, batch), Doors("secret", **doors)))


@pytest.mark.parametrize("make", [labelling, judging])
def test_every_german_page_is_german(make, tmp_path):
    batch, kept = make(tmp_path / "batch", language="de", guideline="# Regeln")
    client, stranger = client_of(batch, kept), client_of(batch, kept, open=True)
    shown = [client.get(f"/w/{invite(kept, ['anna'])['anna']}"), stranger.get("/")]
    token = {"csrf": csrf(shown[0])}
    shown.append(client.post("/consent", data=token))
    header = {"x-csrf-token": csrf(shown[-1])}
    items = client.get("/api/hit/1").json()["items"]
    for place, item in enumerate(items):
        value = ["okay"] * len(item["choices"]) if make is judging else "joyful"
        body = {"assignment": 1, "place": place, "value": value, "id": uuid.uuid4().hex}
        assert client.post("/api/answer", json=body, headers=header).status_code == 200
    client.post("/api/finish", json={"assignment": 1}, headers=header)
    shown += [client.get(address) for address in ("/done/1", "/tutorial", "/work/9", "/work/x", "/w/none")]
    shown.append(stranger.post("/join", data={"csrf": csrf(shown[1]), "name": "zwei Wörter"}))
    german, english = texts_of("de"), texts_of("en")
    for page in shown:
        assert '<html lang="de">' in page.text and '<option value="de" lang="de" selected>Deutsch' in page.text
        for name, text in english.texts.items():
            for line in re.split(r"\{\w+\}|\n\n|\*\*", text):
                ours = line.strip(" .“”")
                if len(ours) > 8 and ours not in german.texts[name]:
                    assert ours not in spoken(page), (page.url, name)
    assert "0,40 US-Dollar" in shown[0].text and "Punkte" in shown[3].text or "Quizfragen" in shown[3].text
    refused = client.post("/api/answer", json={"assignment": 1}, headers={"x-csrf-token": "x"})
    assert refused.json() == {"error": german("old_page")}


def test_labels_are_shown_in_german_and_stored_in_english(tmp_path):
    batch, kept = labelling(tmp_path / "batch", language="de")
    client = client_of(batch, kept)
    page = client.post("/consent", data={"csrf": csrf(client.get(f"/w/{invite(kept, ['anna'])['anna']}"))})
    assert "<dt>traurig</dt>" in page.text and "„Sie fehlt mir. Nichts ist mehr wie früher" in page.text
    labels = client.get("/api/hit/1").json()["labels"]
    assert list(labels) == list(LABELS) and labels["sad"]["name"] == "traurig"

    def answer(place, value):
        body = {"assignment": 1, "place": place, "value": value, "id": uuid.uuid4().hex}
        return client.post("/api/answer", json=body, headers={"x-csrf-token": csrf(page)})

    assert answer(0, "traurig").status_code == 400
    assert all(answer(place, "sad").status_code == 200 for place in range(4))
    assert {row["label"] for row in label_rows(kept, batch, unfinished=True)} == {"sad"}


def test_a_worker_changes_the_language_and_stays_on_the_page(tmp_path):
    batch, kept = labelling(tmp_path / "batch", language="de")
    client = client_of(batch, kept)
    client.get(f"/w/{invite(kept, ['anna'])['anna']}")

    def switch(to, referer=""):
        return client.get("/language", params={"to": to}, headers={"referer": referer} if referer else {})

    assert "Mielőtt elkezdi" in switch("hu").text
    assert '<html lang="hu">' in client.get("/").text
    assert switch("fr", "http://testserver/tutorial").url.path == "/tutorial"
    assert "Mode d'emploi" not in client.get("/tutorial").text and "Tutoriel" in client.get("/tutorial").text
    assert switch("xx", "http://testserver/tutorial").text == client.get("/tutorial").text  # no such language
    asked = client.get(
        "/language?to=es", headers={"referer": "http://testserver/mturk?hit=a&b=c"}, follow_redirects=False
    )
    assert asked.headers["location"] == "/mturk?hit=a&b=c" and "SameSite=Lax" in asked.headers["set-cookie"]
    for elsewhere in ("https://evil.example/work/1", "http://testserver//evil.example", "http://testserver/join"):
        asked = client.get("/language?to=es", headers={"referer": elsewhere}, follow_redirects=False)
        assert asked.headers["location"] == "/"
    assert '<html lang="en">' in client.get("/admin").text


def test_labels_of_ones_own_keep_their_names(tmp_path):
    batch, kept = labelling(tmp_path / "batch", dialogues=1, size=1, quizzes=0, language="de")
    own = LabelSet("moods", LABELS, definitions={"sad": "Gloomy, as the guideline says."})
    batch = replace(batch, label_set=own.as_dict())
    client = client_of(batch, kept)
    page = client.post("/consent", data={"csrf": csrf(client.get(f"/w/{invite(kept, ['anna'])['anna']}"))})
    assert "<dt>sad</dt><dd>Gloomy, as the guideline says.</dd>" in page.text and "<dt>traurig" not in page.text


def written(folder, turns):
    row = {"task": "t", "turns": turns, "top": ["sad", "lonely", "joyful"]}
    (folder / "tasks.jsonl").write_text(json.dumps(row) + "\n")
    return folder / "tasks.jsonl"


@pytest.mark.parametrize(
    ("turns", "given", "language"),
    [
        (HUNGARIAN, None, "hu"),
        (HUNGARIAN, "ger", "de"),
        (["What is the matter with you?", "I don't know what to do with that."], None, "en"),
        (["Mm.", "Hm."], None, "en"),
    ],
)
def test_a_batch_speaks_the_language_of_its_dialogues(turns, given, language, tmp_path):
    crowd.make_hits(written(tmp_path, turns), tmp_path / "batch", language=given)
    batch = read_batch(tmp_path / "batch")
    assert batch.language == batch.texts.language == language
    asked = {item.turns for item in batch.hits[0].items if item.kind == "quiz"}
    assert len(asked) == 5 and asked <= {tuple(question["turns"]) for question in texts_of(language).quiz}
    assert {choice for item in batch.hits[0].items for choice in item.choices} <= set(LABELS)


def test_an_older_batch_speaks_the_language_of_its_dialogues_and_a_strange_one_is_refused(tmp_path):
    crowd.make_hits(written(tmp_path, HUNGARIAN), tmp_path / "batch", language="en")
    batch = read_batch(tmp_path / "batch")
    assert Batch(batch.kind, batch.hits).texts.language == "hu"
    with pytest.raises(ValueError, match="not translated into 'ja'"):
        crowd.serve(tmp_path / "batch", language="ja")
    record = tmp_path / "batch" / "batch.json"
    record.write_text(record.read_text().replace('"language": "en"', '"language": "xx"'))
    with pytest.raises(ValueError, match="damaged batch .language is 'xx', none of en, de"):
        read_batch(tmp_path / "batch")
    with pytest.raises(ValueError, match="not translated into 'fi'"):
        crowd.make_hits(tmp_path / "tasks.jsonl", tmp_path / "other", language="fi")
