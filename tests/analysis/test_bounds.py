"""What keeps memory and pages bounded, and the same however the rows come in parts."""

import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from edos_dataset.analysis import counts as films
from edos_dataset.analysis import page as shown
from edos_dataset.analysis.batch import batch_of
from edos_dataset.analysis.counts import Films
from edos_dataset.analysis.samples import BottomK
from reported_folder import dialogues, shown_of, table_of


def test_the_least_of_each_group_stay_in_any_order():
    draw = random.Random(0)
    rows = [(draw.randrange(5), draw.randrange(40) / 40, f"n{draw.randrange(60)}") for _ in range(400)]

    def kept(parts):
        whole = BottomK(7)
        for part in parts:
            one = BottomK(7)
            groups, ranks = (np.array([row[column] for row in part]) for column in (0, 1))
            same = np.array([int(row[2][1:]) for row in part])
            one.add(groups, ranks, same, lambda at, part=part: part[at][2], lambda at, part=part: part[at])
            whole.merge(one)
        return {group: [(entry.rank, entry.name) for entry in entries] for group, entries in whole.groups.items()}

    expected = {}
    for group in range(5):
        best = {}
        for its, rank, name in rows:
            if its == group:
                best[name] = min(rank, best.get(name, 2.0))
        expected[group] = sorted((rank, name) for name, rank in best.items())[:7]
    shuffled = draw.sample(rows, len(rows))
    assert kept([rows]) == kept([shuffled[start : start + 30] for start in range(0, 400, 30)]) == expected


def test_films_beyond_the_bound_are_drawn_with_all_that_they_say(monkeypatch):
    monkeypatch.setattr(films, "MOST", 10)
    rows = dialogues(400, seed=2)
    counted = []
    for size in (400, 35):
        whole = Films(41)
        for start in range(0, 400, size):
            part = Films(41)
            part.add(batch_of(table_of(rows[start : start + size]), "train"))
            whole.merge(part)
        counted.append({name: (film.dialogues, film.labels.tolist()) for name, film in whole.films.items()})
        assert whole.left and 15 < whole.number() < 60
    assert counted[0] == counted[1] and len(counted[0]) == 10
    for name, (number, _) in counted[0].items():
        assert number == sum(row["document_id"] == name for row in rows)


def test_a_page_shows_no_more_than_its_bound(monkeypatch, tmp_path):
    monkeypatch.setattr(shown, "MOST_BYTES", 20_000)
    huge = [{"text": "word " * 1_000, "label": place % 41, "confidence": 0.5} for place in range(60)]
    rows = [{"dialogue_id": f"d{place}", "turns": huge} for place in range(30)]
    path = tmp_path / "train.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path)
    found = shown_of({"train": [path]}, 41)
    assert 0 < len(found["dialogues"]) < 30 and all(len(turn[0]) <= 600 for turn in found["dialogues"][0]["turns"])
    known = {row["id"] for row in found["dialogues"]}
    assert all(set(ids) <= known for ids in (*found["examples"].values(), *found["doubtful"].values()))
