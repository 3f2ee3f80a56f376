"""Shards and folders as a run leaves them, for the tests of what is published."""

import json
import shutil

import pyarrow as pa

from edos_dataset.hub.remote import Remote
from edos_dataset.hub.versions import Version
from edos_dataset.publishing.cards.dataset import dataset_card
from edos_dataset.publishing.front_matter import with_content
from edos_dataset.publishing.layout import write_config
from edos_dataset.publishing.published import digests_of
from edos_dataset.publishing.splits import split_of
from edos_dataset.runs.shards import write_shard
from edos_dataset.schema import DIALOGUES, LABELLED

REPO = "ns/edos"
V1, V11, V2 = Version(1, 0, 0), Version(1, 1, 0), Version(2, 0, 0)
TEXTS = ("Don't go... please!", "I won't.")
TOKENS = 5 + 3  # don't, go, ..., please, ! and I, won't, .


def films_of(split, number):
    """Return the first films that fall into a split."""
    found = (f"tt{film:07d}" for film in range(10_000) if split_of(f"tt{film:07d}") == split)
    return [next(found) for _ in range(number)]


def dialogues(films, config, label=None):
    """Return a table of one dialogue of two turns a film, as the stages leave it for a config; all turns of a film have
    the label given, or one of the film's own.
    """
    given = label
    rows = []
    for film in films:
        turns = [
            {"text": text, "start": 1.5 * place, "end": None, "sentence_ids": [place + 1]}
            for place, text in enumerate(TEXTS)
        ]
        if config != "os":
            label = int(film[2:]) % 41 if given is None else given
            for turn in turns:
                top = [{"label": (label + step) % 41, "probability": 0.5 / (step + 1)} for step in range(3)]
                turn.update(label=label, confidence=0.5, top=top, label_source="toy")
        source = {"kind": "opus", "path": f"{film}.xml", "imdb_id": film[2:], "year": None, "genres": ["Drama"]}
        common = {
            "dialogue_id": f"{film}#1",
            "document_id": film,
            "film": film,
            "language": "en",
            "source": source,
            "reading": None,
            "turns": turns,
        }
        rows.append(
            common if config == "os" else {**common, "embeddings": b"\0" * 64, "emotionality": 0.5, "confidence": 0.5}
        )
    return pa.Table.from_pylist(rows, DIALOGUES if config == "os" else LABELLED)


def write_shards(folder, films, config, shards=2, label=None):
    """Write the dialogues of films as shards and return their paths."""
    paths = [folder / f"{config}-{number:05d}.parquet" for number in range(shards)]
    size = -(-len(films) // shards)
    for number, path in enumerate(paths):
        write_shard(path, dialogues(films[number * size : (number + 1) * size], config, label))
    return paths


def publish(folder, films, configs, rows_a_file=100_000):
    """Write configs into a folder and return what was written."""
    return [
        write_config(config, write_shards(folder.parent / "shards", films, config), folder, rows_a_file)
        for config in configs
    ]


FILMS = [*films_of("train", 6), *films_of("validation", 2), *films_of("test", 2)]


def manifest_of(*configs):
    """Return the manifest of a run that gave some configs, in the form that `read_manifest` wants."""
    numbers = dict.fromkeys(("dialogues", "turns", "tokens", "bytes", "turns_per_dialogue", "tokens_per_turn"), 0)
    inputs = {"films": 0, "files": 0, "skipped": []}
    rows = {config: {**numbers, "splits": {}} for config in configs}
    return {"input": inputs, "stages": [], "quarantined": [], "configs": rows}


def run(folder, films=FILMS, configs=("edos", "os"), rows_a_file=4):
    """Write a folder as `edos curate` leaves it."""
    shutil.rmtree(folder, ignore_errors=True)
    written = publish(folder, films, configs, rows_a_file)
    card = with_content(dataset_card(written, "en", {}, []), digests_of(written))
    (folder / "README.md").write_text(card, encoding="utf-8")
    (folder / "manifest.json").write_text(json.dumps(manifest_of()))
    (folder / ".run").mkdir()
    (folder / ".run" / "secret").write_text("stays here")
    return folder


def remote(hub, token="hf_ns", repo=REPO):
    """Return a repository of the local Hub."""
    return Remote(repo, token, hub.url, wait=0)


def content(hub, commit, path):
    """Return the bytes of a file that the local Hub holds."""
    file = commit.files[path]
    return file.content if file.sha256 is None else hub.objects.path(file.sha256).read_bytes()
