"""Episodes of which scenes are known: Frasier by its scripts, Friends by the scenes that MELD and EmoryNLP cut out."""

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import Ints, unnest
from edos_dataset.schema import SENTENCES
from edos_dataset.segmentation.alignment import find_scripts
from edos_dataset.segmentation.scene_features import matrix, read_features, word_codes
from edos_dataset.segmentation.turns.stage import SegmentTurns
from edos_dataset.sources.scripts import Speech, read_script
from training.scenes.breaks import LEAST_SHARED, Breaks, breaks_of_scenes, breaks_of_script, joined
from training.scenes.fit import Episode
from training.turns.data import load_corpora
from training.turns.dialogues import read_utterances
from training.turns.scripts import split_lines
from training.turns.sources import read_subtitles, read_text

LONGER = 1.8
"""How much longer a scene of Friends is than those that MELD and EmoryNLP chose (at most 25 utterances, 19 sentences in
the mean): an episode has 479 sentences, and EmoryNLP numbers at least 13.4 scenes of it.
"""

_EMORY = re.compile(r"s(\d+)_e(\d+)")


def load_episodes(data_dir: Path, cache: Path, bits: int) -> tuple[list[Episode], tuple[str, ...]]:
    """Read all episodes of which scenes are known, with their turns by the scorer that ships.

    Args:
        data_dir: folder of the real data: `frasier/`, `sitcom_speakers/`, `meld/`, `emorynlp/`.
        cache: folder that keeps the labelled documents of Friends.
        bits: of the codes of words.

    Returns:
        The episodes, and the names of their features.
    """
    frasier = frasier_sentences(data_dir)
    friends = load_corpora(data_dir, ["friends"], cache).select(SENTENCES.names)
    return [
        *_episodes("frasier", *_with_scripts(frasier, data_dir / "frasier" / "scripts"), bits),
        *_episodes("friends", *_with_scenes(friends, _friends_scenes(data_dir)), bits),
    ], _names(friends.slice(0, 1))


def frasier_sentences(data_dir: Path) -> pa.Table:
    """Return the SENTENCES of the subtitles of Frasier."""
    return split_lines(read_subtitles([data_dir / "frasier" / "subtitles"]))[1]


def _with_scripts(table: pa.Table, folder: Path) -> tuple[pa.Table, list[Breaks]]:
    """Return the documents that have a script in the folder, and their breaks."""
    scripts: list[list[Speech]] = [read_script(read_text(path)) for path in sorted(folder.glob("[0-9]*.txt"))]
    texts = _texts(table)
    chosen, shared = find_scripts(texts, [[speech.text for speech in script] for script in scripts])
    rows = np.flatnonzero(shared >= LEAST_SHARED)
    return table.take(pa.array(rows)), [breaks_of_script(texts[row], scripts[chosen[row]]) for row in rows]


def _with_scenes(
    table: pa.Table, scenes: Mapping[str, Sequence[Sequence[Sequence[str]]]]
) -> tuple[pa.Table, list[Breaks]]:
    """Return the documents of whose films scenes are known, and their breaks."""
    rows, breaks = [], []
    for row, (film, texts) in enumerate(zip(table["film"].to_pylist(), _texts(table), strict=True)):
        if film in scenes:
            rows.append(row)
            breaks.append(joined([breaks_of_scenes(texts, release, LONGER) for release in scenes[film]]))
    return table.take(pa.array(rows, pa.int64())), breaks


def _friends_scenes(data_dir: Path) -> dict[str, list[list[list[str]]]]:
    """Return the scenes of each episode of Friends, release by release, each in the order of the episode."""
    films: dict[str, list[list[list[str]]]] = defaultdict(list)
    timed = defaultdict(list)
    for path in sorted((data_dir / "meld").glob("*_sent_emo.csv")):
        utterances = read_utterances(path)
        utterances.sort(key=lambda row: (int(row["Dialogue_ID"]), int(row["Utterance_ID"])))
        for _, dialogue in groupby(utterances, key=lambda row: row["Dialogue_ID"]):
            rows = list(dialogue)
            film = f"friends/s{int(rows[0]['Season']):02d}e{int(rows[0]['Episode']):02d}"
            timed[film].append((rows[0]["StartTime"], [row["Utterance"] for row in rows]))
    for film, scenes in timed.items():
        films[film].append([texts for _, texts in sorted(scenes)])
    for episode in json.loads(read_text(data_dir / "emorynlp" / "dev.json"))["episodes"]:
        if match := _EMORY.match(episode["episode_id"]):
            told = [[said["transcript"] for said in scene["utterances"]] for scene in episode["scenes"]]
            films[f"friends/s{match[1]}e{match[2]}"].append(told)
    return films


def _episodes(show: str, table: pa.Table, breaks: Sequence[Breaks], bits: int) -> list[Episode]:
    cut = SegmentTurns()(table)
    sentences, in_sentences = unnest(table, "sentences")
    turns, in_turns = unnest(cut, "turns")
    begins = turn_begins(sentences.field("id"), in_sentences, turns, in_turns)
    start, end = (sentences.field(name).to_numpy(zero_copy_only=False) for name in ("start", "end"))
    silences = np.r_[np.nan, start[1:] - end[:-1]]
    found = []
    pairs = zip(read_features(turns, in_turns), pairwise(in_turns), pairwise(in_sentences), strict=True)
    for row, ((features, words, names), (first, last), (begin, stop)) in enumerate(pairs):
        silence = silences[begin:stop].copy()
        silence[:1] = np.nan
        columns = matrix(features, tuple(features))
        codes = word_codes(words, words.masked(names), bits)
        film = table["film"][row].as_py()
        found.append(Episode(show, film, breaks[row], begins[first:last] - begin, columns, codes, silence))
    return found


def turn_begins(ids: pa.Array, in_sentences: Ints, turns: pa.StructArray, in_turns: Ints) -> Ints:
    """Return the place, [turns], of the sentence with which each turn begins, among all sentences.

    Args:
        ids: of the sentences, each once in its document.
        in_sentences: [documents + 1] places at which the sentences of each document begin.
        turns: structs of TURN.
        in_turns: [documents + 1] places at which the turns of each document begin.
    """
    lists = turns.field("sentence_ids")
    first = lists.flatten().to_numpy()[lists.offsets.to_numpy()[:-1] - lists.offsets[0].as_py()]
    known = ids.to_numpy()
    places = []
    for (begin, stop), (low, high) in zip(pairwise(in_sentences), pairwise(in_turns), strict=True):
        order = np.argsort(known[begin:stop], kind="stable")
        places.append(begin + order[np.searchsorted(known[begin:stop][order], first[low:high])])
    return np.concatenate(places) if places else np.zeros(0, np.int64)


def _texts(table: pa.Table) -> list[list[str]]:
    sentences, offsets = unnest(table, "sentences")
    texts = sentences.field("text").to_pylist()
    return [texts[begin:stop] for begin, stop in pairwise(offsets.tolist())]


def _names(table: pa.Table) -> tuple[str, ...]:
    turns, offsets = unnest(SegmentTurns()(table), "turns")
    return tuple(next(iter(read_features(turns, offsets)))[0])
