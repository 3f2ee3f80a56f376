"""The known scene boundaries of a film, from its script or from scenes of it in a release."""

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

from edos_dataset.arrays import Bools, Doubles, Floats, Ints, unnest
from edos_dataset.schema import SENTENCES
from edos_dataset.segmentation.scene_features import matrix, read_features, word_codes
from edos_dataset.segmentation.turns.stage import SegmentTurns
from training.transcripts.alignment import align, find_scripts
from training.transcripts.scripts import Speech, read_script
from training.turns.data import load_corpora, read_subtitles, read_text, read_utterances
from training.turns.labels import split_lines

LEAST_SHARED = 0.3
"""Minimum fraction of a film's phrases in its script; a film and its own script share about half, others less than
0.05.
"""

TRUSTED = 0.5
"""Minimum confidence of an aligned sentence for its scene to count as known."""

FARTHEST = 8
"""Maximum number of sentences between two with known scenes for a break to be searched between them."""


@dataclass(frozen=True, eq=False)
class Breaks:
    """The known scenes of one document. A boundary has the number of the sentence after it.

    Attributes:
        first: [breaks] the first boundary at which the scene may begin.
        last: [breaks] the last such boundary.
        weight: [breaks] the weight of each: 1 for whole scripts, and 1/2 if only single scenes are known, since
            neighbouring scenes share their breaks.
        within: [sentences] whether the boundary is known to be inside a scene.
        unplaced: number of breaks of the script that are left out because the sentences around them are not aligned.
        boundary: weight of a boundary inside a scene: above 1 if short scenes were selected, which have more breaks.
    """

    first: Ints
    last: Ints
    weight: Doubles
    within: Bools
    unplaced: int = 0
    boundary: float = 1.0


@dataclass(frozen=True, eq=False)
class Episode:
    """A document as the scorer sees it, with its known scenes.

    Attributes:
        show: the name of the show.
        film: key of the episode.
        breaks: its known scenes, by sentences.
        begins: [turns] index of the first sentence of each turn.
        features: [turns, features] without features of words.
        codes: from `word_codes`.
        silences: [sentences] seconds before each sentence.
    """

    show: str
    film: str
    breaks: Breaks
    begins: Ints
    features: Floats
    codes: tuple[Ints, Ints]
    silences: Doubles

    def by_sentence(self, scores: Doubles) -> Doubles:
        """Return scores [turns] by sentence, [sentences]: at the first sentence of each turn; -inf elsewhere."""
        spread = np.full(len(self.silences), -np.inf)
        spread[self.begins] = np.where(np.isnan(scores), -np.inf, scores)
        return spread

    def labels(self, scores: Doubles) -> tuple[Floats, Floats]:
        """Return for each boundary 1 if a scene begins, and its weight, 0 if unknown: [turns] each.

        Args:
            scores: [turns] by which a boundary is chosen within an interval.
        """
        label, weight = np.zeros(len(self.begins), np.float32), np.zeros(len(self.begins), np.float32)
        weight[self.breaks.within[self.begins]] = self.breaks.boundary
        for first, last, worth in zip(self.breaks.first, self.breaks.last, self.breaks.weight, strict=True):
            begin, end = np.searchsorted(self.begins, [first, last + 1])
            if begin < end:
                weight[begin:end] = 0
                chosen = begin + int(np.argmax(scores[begin:end]))
                label[chosen], weight[chosen] = 1, worth
        weight[0] = 0
        return label, weight


def breaks_of_script(texts: Sequence[str], speeches: Sequence[Speech]) -> Breaks:
    """Find the scenes of a film from its whole script.

    Args:
        texts: sentences of the film.
        speeches: the speeches of the script.
    """
    alignment = align(texts, [speech.text for speech in speeches])
    scenes = np.array([speech.scene for speech in speeches])
    known = np.flatnonzero((alignment.speech >= 0) & (alignment.confidence >= TRUSTED))
    within = np.zeros(len(texts), bool)
    if len(known) < 2:
        none = np.zeros(0, np.int64)
        return Breaks(none, none, np.zeros(0), within, int(np.ptp(scenes)))
    changed = scenes[alignment.speech[known[1:]]] > scenes[alignment.last_speech[known[:-1]]]
    within[known[0] + 1 : known[-1] + 1] = ~np.repeat(changed, np.diff(known))
    near = changed & (np.diff(known) <= FARTHEST)
    first, last = known[:-1][near] + 1, known[1:][near]
    return Breaks(first, last, np.ones(len(first)), within, int(np.ptp(scenes)) - len(first))


def breaks_of_scenes(texts: Sequence[str], scenes: Sequence[Sequence[str]], boundary: float = 1.0) -> Breaks:
    """Find single scenes in a film; what lies between them is unknown.

    A scene that is only partly found gives information only about the part between its first and last utterance found.

    Args:
        texts: sentences of the film.
        scenes: the utterances of each scene, in the order of the film.
        boundary: as in `Breaks`.
    """
    owner = np.repeat(np.arange(len(scenes)), [len(scene) for scene in scenes])
    edges = np.cumsum([0, *map(len, scenes)])
    alignment = align(texts, [text for scene in scenes for text in scene])
    known = np.flatnonzero((alignment.speech >= 0) & (alignment.confidence >= TRUSTED))
    of = owner[alignment.speech[known]]
    within, boundaries = np.zeros(len(texts), bool), []
    for number in range(len(scenes)):
        own = known[of == number]
        if len(own) < 2:
            continue
        within[own[0] + 1 : own[-1] + 1] = True
        begins = alignment.speech[own[0]] == edges[number] and own[0] > 0
        ends = alignment.last_speech[own[-1]] == edges[number + 1] - 1 and own[-1] + 1 < len(texts)
        boundaries += [own[0]] * bool(begins) + [own[-1] + 1] * bool(ends)
    at = np.array(boundaries, np.int64)
    at = at[~within[at]]
    return Breaks(at, at, np.full(len(at), 0.5), within, boundary=boundary)


def joined(parts: Sequence[Breaks]) -> Breaks:
    """Return the combined knowledge of several releases about one document; a break inside a scene of another release
    is dropped.
    """
    within = np.any([part.within for part in parts], axis=0)
    first, last, weight = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("first", "last", "weight")
    )
    kept = ~within[first]
    return Breaks(
        first[kept], last[kept], weight[kept], within, sum(part.unplaced for part in parts), parts[0].boundary
    )


LONGER = 1.8
"""How much longer a scene of Friends is on average than those selected by MELD and EmoryNLP (at most 25 utterances, on
average 19 sentences): an episode has 479 sentences, of which EmoryNLP numbers at least 13.4 scenes.
"""

_EMORY = re.compile(r"s(\d+)_e(\d+)")


def load_episodes(data_dir: Path, cache: Path, bits: int) -> tuple[list[Episode], tuple[str, ...]]:
    """Read all episodes with known scenes, segmented into turns by the shipped scorer.

    Args:
        data_dir: folder of the real data: `frasier/`, `sitcom_speakers/`, `meld/`, `emorynlp/`.
        cache: folder in which the labelled documents of Friends are cached.
        bits: number of bits of the hashes of words.

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
    scripts: list[list[Speech]] = [read_script(read_text(path)) for path in sorted(folder.glob("[0-9]*.txt"))]
    texts = _texts(table)
    chosen, shared = find_scripts(texts, [[speech.text for speech in script] for script in scripts])
    rows = np.flatnonzero(shared >= LEAST_SHARED)
    return table.take(pa.array(rows)), [breaks_of_script(texts[row], scripts[chosen[row]]) for row in rows]


def _with_scenes(
    table: pa.Table, scenes: Mapping[str, Sequence[Sequence[Sequence[str]]]]
) -> tuple[pa.Table, list[Breaks]]:
    rows, breaks = [], []
    for row, (film, texts) in enumerate(zip(table["film"].to_pylist(), _texts(table), strict=True)):
        if film in scenes:
            rows.append(row)
            breaks.append(joined([breaks_of_scenes(texts, release, LONGER) for release in scenes[film]]))
    return table.take(pa.array(rows, pa.int64())), breaks


def _friends_scenes(data_dir: Path) -> dict[str, list[list[list[str]]]]:
    """Return the scenes of each episode of Friends from each release, in the order of the episode."""
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
            texts = [[said["transcript"] for said in scene["utterances"]] for scene in episode["scenes"]]
            films[f"friends/s{match[1]}e{match[2]}"].append(texts)
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
    """Return the index, [turns], of the first sentence of each turn, among all sentences.

    Args:
        ids: ids of the sentences, unique in a document.
        in_sentences: [documents + 1] offsets of the sentences of each document.
        turns: structs of TURN.
        in_turns: [documents + 1] offsets of the turns of each document.
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
