"""One film once: copies under other names are found whatever was done to them, and other films are not."""

import random
import re
from collections import defaultdict
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from edos_dataset.cleaning import shingles
from edos_dataset.cleaning.duplicates import SAME_FILM, DropDuplicates, DropSameFilms
from edos_dataset.cleaning.shingles import sketch, words_of
from edos_dataset.commands.curate import curate
from edos_dataset.recipes.subtitles import pipeline_of
from edos_dataset.runs.engines.local import LocalEngine
from edos_dataset.runs.near_duplicates import MOST_PAIRED
from edos_dataset.runs.recipes import override
from edos_dataset.runs.run import run_stage
from edos_dataset.runs.shards import read_shard, write_shard
from edos_dataset.schema import REASONS, SENTENCES
from edos_dataset.sources.inventory import find_films
from screenplays import damaged, rejoined, screenplay

SONG = "Oh the morning comes and we all go down to the river. And nobody knows what the river will say to us."


def documents(films):
    """SENTENCES of name → sentences, or name → (language, sentences)."""
    rows = [(name, *(given if isinstance(given, tuple) else ("en", given))) for name, given in films.items()]
    columns = {
        "document_id": [name for name, _, _ in rows],
        "film": [name for name, _, _ in rows],
        "language": [language for _, language, _ in rows],
        "sentences": pa.array(
            [[{"text": text} for text in texts] for _, _, texts in rows], SENTENCES.field("sentences").type
        ),
        "source": pa.array([{"path": f"{name}.srt"} for name, _, _ in rows], SENTENCES.field("source").type),
    }
    return pa.table([columns.get(field.name, pa.nulls(len(rows), field.type)) for field in SENTENCES], schema=SENTENCES)


def left(films, folder, *, shards=1, engine=None, step=None):
    """Return the names of the films that leave."""
    return set(twins(films, folder, shards=shards, engine=engine, step=step))


def twins(films, folder, *, shards=1, engine=None, step=None):
    """Return the films that leave, each with the path of the one that is kept instead."""
    names = list(films)
    parts = [names[start::shards] for start in range(shards)]
    paths = [folder / f"{number}.parquet" for number in range(shards)]
    for path, part in zip(paths, parts, strict=True):
        write_shard(path, documents({name: films[name] for name in part}))
    step = step or DropSameFilms()
    removals = [folder / f"{number}.removals.parquet" for number in range(shards)]
    step.decide_together(paths, removals, folder / "work", engine or LocalEngine())
    return {
        names[row["row"]]: row.get("kept")
        for names, path in zip(parts, removals, strict=True)
        for row in read_shard(path).to_pylist()
    }


UNSURE = [f"{stage}.least_certainty=0" for stage in ("turns", "dialogues")]

FILM = screenplay(1)
COPIES = {
    "word for word": FILM,
    "other line breaks": rejoined(FILM),
    "two letters in a hundred damaged": damaged(FILM, 0.02),
    "both": damaged(rejoined(FILM), 0.02),
    "a half of it": FILM[:75],
    "shouted, with marks": [text.upper().replace(".", " - !") for text in FILM],
    "scanned": [text.replace("l", "I") for text in FILM],
    "with a title song": [SONG, *FILM, SONG],
}


@pytest.mark.parametrize("copy", COPIES)
def test_a_copy_leaves(copy, tmp_path):
    films = {"a": FILM, "b": COPIES[copy], **{f"other {seed}": screenplay(seed) for seed in range(2, 8)}}
    gone = left(films, tmp_path)
    assert len(gone) == 1 and gone < {"a", "b"}


@pytest.mark.parametrize("copy", ["two letters in a hundred damaged", "both", "a half of it"])
def test_the_better_one_stays(copy, tmp_path):
    assert left({"a": COPIES[copy], "b": FILM}, tmp_path) == {"a"}
    (tmp_path / "other").mkdir()
    assert left({"a": FILM, "b": COPIES[copy]}, tmp_path / "other") == {"b"}


def test_two_damaged_copies_without_the_original(tmp_path):
    assert len(left({"a": damaged(FILM, 0.02, 1), "b": damaged(FILM, 0.02, 2)}, tmp_path)) == 1


def test_different_films_stay(tmp_path):
    """Two episodes with one song and one summary; one that shows a tenth of others; songs alone; no text; languages."""
    summary = screenplay(99, sentences=8)
    films = {
        "1x01": [SONG, *summary, *screenplay(2), SONG],
        "1x02": [SONG, *summary, *screenplay(3), SONG],
        "clips": [*screenplay(2)[:15], *screenplay(3)[:15], *screenplay(4)],
        "short": ["Hello.", "Who is there?"],
        "short, too": ["Hello.", "Who is it?"],
        "mute": [],
        "also mute": ["...", "!"],
        "french": ("fr", screenplay(2)),
    }
    assert left(films, tmp_path) == set()


def test_short_films_are_the_same_if_all_their_words_are(tmp_path):
    films = {"a": ["Hello.", "Who is there?"], "b": ["Hello who", "is there"], "c": ["Who is there?"]}
    gone = left(films, tmp_path)
    assert len(gone) == 1 and gone < {"a", "b"}


def test_a_part_of_two_films_stays_while_it_is_most_of_neither(tmp_path):
    """No two that stay are alike, and each that leaves is like one that stays."""
    double = [*screenplay(2), *screenplay(3)]
    assert left({"double": double, "first": screenplay(2), "second": screenplay(3)}, tmp_path) == {"first", "second"}


def test_of_many_copies_one_stays(tmp_path):
    """Of more than are paired, each damaged in its own way."""
    films = {f"copy {seed}": damaged(FILM, 0.01, seed) for seed in range(3 * MOST_PAIRED)}
    assert len(left(films, tmp_path)) == len(films) - 1


CORPUS = {
    **{f"film {seed}": screenplay(seed) for seed in range(12)},
    **{f"copy of {seed}": damaged(rejoined(screenplay(seed)), 0.02, seed) for seed in range(0, 12, 2)},
    **{f"half of {seed}": screenplay(seed)[70:] for seed in range(0, 12, 3)},
}


def test_order_shards_and_partitions_do_not_matter(tmp_path):
    expected = twins(CORPUS, tmp_path)
    removed = [name for name in CORPUS if name.startswith(("copy", "half"))]
    assert expected == {name: f"film {name.split()[-1]}.srt" for name in removed}
    for number, (shards, memory) in enumerate([(3, 1 << 30), (7, 3_000_000), (len(CORPUS), 1 << 30)]):
        names = random.Random(number).sample(list(CORPUS), len(CORPUS))
        folder = tmp_path / str(number)
        folder.mkdir()
        shuffled = {name: CORPUS[name] for name in names}
        assert twins(shuffled, folder, shards=shards, step=DropSameFilms(memory=memory)) == expected
    assert len(list((tmp_path / "1" / "work").glob("alike-*"))) > 1


@pytest.mark.slow
def test_processes_share_the_work(tmp_path):
    with LocalEngine(2) as two:
        gone = left(CORPUS, tmp_path, shards=4, engine=two, step=DropSameFilms(memory=3_000_000))
    assert gone == {name for name in CORPUS if name.startswith(("copy", "half"))}


def test_nothing_leaves_without_a_share(tmp_path):
    assert left(CORPUS, tmp_path, shards=3, step=DropSameFilms(share=None)) == set()
    assert list(DropSameFilms().decide([])) == list(DropSameFilms(share=None).decide([])) == []


def test_whole_documents_leave_and_are_counted(tmp_path):
    table = documents({"a": FILM, "b": FILM[:50]})
    write_shard(tmp_path / "0.parquet", table)
    step = DropSameFilms()
    [removals] = step.decide([tmp_path / "0.parquet"])
    kept, rejected, count = run_stage(step, lambda table: step.apply(table, removals), table)
    assert kept["document_id"].to_pylist() == ["a"] and rejected["document_id"].to_pylist() == ["b"]
    file = {"path": "b.srt", "reason": SAME_FILM, "detail": "b.srt: near-duplicate of a.srt", "kept": "a.srt"}
    assert step.left_out(rejected) == [file]
    assert (count.unit, count.read, count.kept, count.rejected) == ("files", 2, 1, {SAME_FILM: 1})
    assert "longer or cleaner" in REASONS[SAME_FILM]


@pytest.mark.parametrize("parameters", [{"share": 0}, {"share": 1.1}, {"share": True}, {"memory": 10}])
def test_parameters_out_of_range(parameters):
    for kind in (DropSameFilms, DropDuplicates):
        with pytest.raises(ValueError, match="must be from"):
            kind(**parameters)


def test_words():
    assert (
        words_of("I'll\tnever, NEVER – go…")
        == words_of("l'II never never go")
        == [b"i", b"ii", b"never", b"never", b"go"]
    )
    assert words_of("Über café") == words_of("uber  CAFE")
    assert words_of("Да, я иду!") == [word.encode() for word in ("да", "я", "иду")]
    assert sketch(["", "..."], ["en", "en"], ["a", "b"], 8).num_rows == 0


def test_a_sketch_is_that_of_the_text_alone():
    """Beside other texts it is the same; it is about as large as wanted, and tells how much there is."""
    text = " ".join(screenplay(5, sentences=2_000))
    [alone, beside] = [
        [row for row in sketch(texts, [None] * len(texts), names, 256).to_pylist() if row["row"] == place]
        for texts, names, place in ((["", text], ["x", "y"], 1), (["One two", text, "Three"], ["x", "y", "z"], 1))
    ]
    assert alone == beside and 200 < len(alone) < 320
    words = words_of(text)
    size = len({tuple(words[start : start + 4]) for start in range(len(words) - 3)})
    assert abs(alone[0]["size"] / size - 1) < 0.2


@pytest.mark.parametrize("at_once", [1, 60, 1 << 19])
def test_texts_are_sketched_the_same_a_few_at_a_time(monkeypatch, at_once):
    monkeypatch.setattr(shingles, "_AT_ONCE", at_once)
    texts = ["One two three four five", "", " ".join(screenplay(5, sentences=9)), "Two", "One two three four five"]
    found = sketch(texts, ["en", "de", None, "en", "en"], list("abcde"), 256).to_pylist()
    assert [row["row"] for row in found] == sorted(row["row"] for row in found)
    for place, language in enumerate(["en", "de", None, "en", "en"]):
        alone = sketch([texts[place]], [language], ["abcde"[place]], 256).to_pylist()
        assert [row for row in found if row["row"] == place] == [row | {"row": place} for row in alone]
        assert bool(alone) == (place != 1)


def subtitle(sentences, late=0.0, apart=2.5):
    """A SubRip file of the sentences, with a pause of eight seconds after every twelfth."""
    blocks, now = [], late
    for number, text in enumerate(sentences, 1):
        clock = ["{:02d}:{:02d}:{:06.3f}".format(*divmod(int(at) // 60, 60), at % 60) for at in (now, now + apart - 1)]
        blocks.append(f"{number}\n{clock[0]} --> {clock[1]}\n{text}\n")
        now += apart + (8 if number % 12 == 0 else 0)
    return re.sub(r"(\d\d)\.(\d{3})", r"\1,\2", "\n".join(blocks))


@pytest.mark.slow
def test_no_film_is_in_two_splits(tmp_path):
    """Each of five films lies there four times, under names that fall into different splits."""
    films = tmp_path / "films"
    films.mkdir()
    owner = {}
    for seed in range(5):
        text = screenplay(seed)
        versions = {
            f"a{seed}": subtitle(text),
            f"rip {seed}": subtitle(damaged(text, 0.02, seed), late=31.2, apart=2.4),
            f"lines {seed}": subtitle(rejoined(text), late=3, apart=4),
            f"part 2 of {seed}": subtitle(text[75:], apart=3),
        }
        for name, content in versions.items():
            (films / f"{name}.srt").write_text(content, encoding="utf-8")
            owner[name] = seed
    recipes = {"papers": pipeline_of("papers", labels=False), "default": pipeline_of(labels=False)}
    made = {}
    for name, pipeline in recipes.items():
        pipeline = override(pipeline, ["turns.scorer=rules", "read.detect_language=false", *UNSURE])
        made[name] = curate(find_films([films], "en"), tmp_path / name, pipeline, workers=2, shard_sentences=400)
    counts = {name: {stage["stage"]: stage for stage in made[name]["stages"]} for name in made}
    assert counts["papers"]["films"]["kept"] == counts["default"]["films"]["read"] == 20
    assert counts["default"]["films"]["rejected"] == {SAME_FILM: 15}
    named = [(owner[Path(file["path"]).stem], owner[Path(file["kept"]).stem]) for file in made["default"]["left_out"]]
    assert len(named) == 15 and all(film == twin for film, twin in named), "without --rejects"
    splits = {name: published(tmp_path / name, owner) for name in made}
    assert max(map(len, splits["papers"].values())) > 1, "else the names try nothing"
    assert all(len(found) == 1 for found in splits["default"].values()) and len(splits["default"]) == 5


def published(out, owner):
    """Return the splits in which each film's dialogues are published."""
    found = defaultdict(set)
    for path in (out / "os").glob("*.parquet"):
        for document in pq.read_table(path)["document_id"].to_pylist():
            found[owner[Path(document).stem]].add(path.name.partition("-")[0])
    return found
