"""Which speech of a script a sentence of the subtitles belongs to, and so which neighbours belong to one turn.

A global alignment of the words of both sides, in order. Subtitles shorten and scripts differ from what was filmed, so gaps cost by their number, not by
their length; and as common words meet by chance everywhere, opening a run of matches costs more than one common word earns. The best chain of runs is found
exactly, row by row over the places where equal words meet (Hunt & Szymanski, "A fast algorithm for computing longest common subsequences", 1977, with the
opening cost added), and only the runs that were best somewhere are kept: memory grows with the words, not with their product.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

NO_SPEECH = -1
"""Speech of a sentence that is not aligned."""

_COMMON, _RARE = 20, 100
_OPENING = 90
_REACH = 12
_SLACK = 4
_TRUST = 100.0
_EDGE = 3


@dataclass(frozen=True)
class Alignment:
    """Where the sentences of a subtitle file stand in the speeches of a script.

    Attributes:
        speech: int32 [sentences], index of the speech in which a sentence begins, NO_SPEECH if it is not aligned.
        last_speech: int32 [sentences], index of the speech in which it ends.
        confidence: float32 [sentences], 0 to 1: the share of its words that lie in trustworthy runs of matches.
        opening: float32 [sentences], 0 to 1: the same of its first words only.
        closing: float32 [sentences], 0 to 1: the same of its last words only.
    """

    speech: np.ndarray
    last_speech: np.ndarray
    confidence: np.ndarray
    opening: np.ndarray
    closing: np.ndarray


def align(sentences: Sequence[str], speeches: Sequence[str]) -> Alignment:
    """Align the sentences of a subtitle file with the speeches of a script of the same film.

    Args:
        sentences: texts in order of time.
        speeches: texts in order of the script, without names and stage directions.
    """
    words, owners = _tokens([*sentences, *speeches])
    border = int(np.searchsorted(owners, len(sentences)))
    worth = _worth(words)
    place = _match(words[:border], words[border:], worth)
    return _summarise(place, worth[words[:border]], owners[:border], owners[border:] - len(sentences), len(sentences))


def seam_labels(alignment: Alignment, speakers: Sequence[str], scenes: Sequence[int] | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Say for each sentence whether it goes on with the turn of the sentence before.

    A turn is one speaker's: two speeches of the same speaker in a row, parted by a stage direction only, are one turn, but a change of scene begins a new one.
    Where others speak in the script between two sentences of the same speaker, it is not known whether they were cut.

    Args:
        alignment: of the sentences with the speeches.
        speakers: name of the speaker of each speech.
        scenes: number of the scene of each speech; None: all in one scene.

    Returns:
        int8 [sentences]: 1 same turn, 0 new turn, -1 unknown (always so for the first sentence); and float32 [sentences], 0 to 1, the confidence of the
        label, 0 where it is unknown.

    Raises:
        ValueError: there are fewer speakers than speeches in the alignment, or not as many scenes.
    """
    most = int(alignment.last_speech.max(initial=NO_SPEECH))
    if most >= len(speakers) or (scenes is not None and len(scenes) != len(speakers)):
        raise ValueError(
            f"the alignment has speeches up to number {most}, but {len(speakers)} speakers"
            + ("" if scenes is None else f" and {len(scenes)} scenes")
            + " were given: give one for each of the speeches that were aligned"
        )
    count = len(alignment.speech)
    same, confidence = np.full(count, -1, np.int8), np.zeros(count, np.float32)
    if count < 2 or not len(speakers):
        return same, confidence
    turns = np.cumsum(_turn_begins(speakers, scenes))
    names = np.unique(np.asarray(speakers), return_inverse=True)[1]
    before, after = alignment.last_speech[:-1], alignment.speech[1:]
    one_turn, one_name = turns[before] == turns[after], names[before] == names[after]
    shifted = turns[after] - turns[before]
    known = (before >= 0) & (after >= 0) & (one_turn | ~one_name | (shifted == 1))
    same[1:] = np.where(known, one_turn, -1)
    confidence[1:] = np.where(known, np.minimum(alignment.closing[:-1], alignment.opening[1:]), 0)
    return same, confidence


def _turn_begins(speakers: Sequence[str], scenes: Sequence[int] | None) -> np.ndarray:
    names = np.asarray(speakers)
    begins = np.r_[True, names[1:] != names[:-1]]
    if scenes is not None:
        begins[1:] |= np.diff(np.asarray(scenes)) != 0
    return begins


def find_scripts(films: Sequence[Sequence[str]], scripts: Sequence[Sequence[str]]) -> tuple[np.ndarray, np.ndarray]:
    """Find the script of each film by the phrases of four words that they share, as numbers in file names are often wrong.

    Args:
        films: the sentences of each film.
        scripts: the speeches of each script.

    Returns:
        int64 [films], index of the script that has most of the film's phrases; and float64 [films], the share of the film's phrases that it has, 0 to 1.
        Phrases that more than two scripts have do not count. A film and its script share about half or more, others less than 0.05.

    Raises:
        ValueError: there is no script.
    """
    if not scripts:
        raise ValueError("no script to choose from: give at least one")
    words, owners = _tokens([" ".join(texts) for texts in (*scripts, *films)])
    phrases = np.zeros(max(len(words) - _PHRASE + 1, 0), np.uint64)
    for step in range(_PHRASE):
        phrases = phrases * np.uint64(6364136223846793005) + words[step : step + len(phrases)].astype(np.uint64) + np.uint64(1)
    inside = owners[: len(phrases)] == owners[_PHRASE - 1 :] if len(phrases) else np.zeros(0, bool)
    known, numbers = np.unique(phrases[inside], return_inverse=True)
    has = np.zeros((len(scripts) + len(films), len(known)), bool)
    has[owners[: len(phrases)][inside], numbers] = True
    of_scripts, of_films = has[: len(scripts)], has[len(scripts) :]
    telling = of_scripts.sum(0) <= 2
    shares = [(of_scripts[:, film & telling].sum(1) / max((film & telling).sum(), 1)) for film in of_films]
    chosen = np.array([share.argmax() for share in shares], np.int64)
    return chosen, np.array([share.max() for share in shares])


_PHRASE = 4  # words
_SPELLINGS = {
    "gonna": "going to", "wanna": "want to", "gotta": "got to", "kinda": "kind of", "sorta": "sort of", "outta": "out of", "lemme": "let me",
    "gimme": "give me", "dunno": "do not know", "cause": "because", "'cause": "because", "cuz": "because", "'em": "them", "em": "them", "'til": "until",
    "til": "until", "till": "until", "ya": "you", "y'all": "you all", "ma'am": "madam", "c'mon": "come on", "ok": "okay", "yeah": "yes", "yep": "yes",
    "yup": "yes", "dr": "doctor", "mr": "mister", "mrs": "missus", "prof": "professor", "sgt": "sergeant", "lt": "lieutenant", "vs": "versus",
    "alright": "all right", "cannot": "can not", "won't": "will not", "can't": "can not", "shan't": "shall not", "let's": "let us", "&": "and",
    "%": "percent", "um": "uh", "er": "uh", "erm": "uh", "ah": "oh", "mum": "mom",
}  # fmt: skip
_ENDINGS = {"n't": "not", "'m": "am", "'re": "are", "'ll": "will", "'ve": "have", "'s": "is", "'d": "would"}
_UNITS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_WORD = re.compile(r"\n|'?[^\W_]+(?:'[^\W_]+)*|[&%]")
_CONTRACTED = re.compile("(.+?)(" + "|".join(_ENDINGS) + ")$")
_ACCENTS = re.compile("[\u0300-\u036f]+")


def _tokens(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the words of all texts, numbered so that two spellings of one have one number, and for each the index of its text."""
    lines = (text.replace("\n", " ") for text in texts)
    whole = _ACCENTS.sub("", unicodedata.normalize("NFKD", "\n".join(lines))).casefold().replace("’", "'").replace("‘", "'")
    found, numbers = np.unique(np.array(_WORD.findall(whole), dtype=object), return_inverse=True)
    spelled = [_spell(word) for word in found]
    known = {word: number for number, word in enumerate(sorted({part for parts in spelled for part in parts}))}
    flat = np.array([known[part] for parts in spelled for part in parts], np.int64)
    lengths = np.array([len(parts) for parts in spelled], np.int64)
    starts = np.cumsum(lengths) - lengths
    counts = lengths[numbers]
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    ids = flat[np.repeat(starts[numbers], counts) + within] if len(flat) else flat
    breaks = ids == known.get("\n", -1)
    return ids[~breaks], np.cumsum(breaks)[~breaks]


def _spell(word: str) -> list[str]:
    if word in _SPELLINGS:
        return _SPELLINGS[word].split()
    word = word.lstrip("'")
    if word in _SPELLINGS:
        return _SPELLINGS[word].split()
    if word.isdecimal() and word.isascii() and len(word) <= 2:
        number = int(word)
        return [_UNITS[number]] if number < 20 else [_TENS[number // 10 - 2], *([_UNITS[number % 10]] if number % 10 else [])]
    parts = _CONTRACTED.match(word)
    return [*_spell(parts[1]), _ENDINGS[parts[2]]] if parts else [word]


def _worth(ids: np.ndarray) -> np.ndarray:
    """Return for each number what a match of that word is worth: from _COMMON to _RARE, by how often it comes."""
    counts = np.bincount(ids)
    rarity = 1 - np.log(np.maximum(counts, 2) / 2) / np.log(max(counts.max(initial=2), 4) / 2)
    worth: np.ndarray = np.round(_COMMON + (_RARE - _COMMON) * rarity).astype(np.int64)
    return worth


@dataclass(slots=True)
class _Chains:
    """Best scores of all beginnings of the script, and the runs of matches that gave them."""

    best: np.ndarray  # int64 [script + 1], best score with the first j words of the script; grows with j
    by: np.ndarray  # int64 [script + 1], the run that ends such a chain
    runs: list[tuple[int, int, int, int]]  # first word of ours, first of theirs, length, run before

    def add(self, run: tuple[int, int, int, int], end: int, score: int) -> None:
        """Let a chain that ends before word `end` of the script be the best of all beginnings for which it is."""
        if score > self.best[end]:
            upto = end + int(np.searchsorted(self.best[end:], score))
            self.best[end:upto] = score
            self.by[end:upto] = len(self.runs)
            self.runs.append(run)


def _match(ours: np.ndarray, theirs: np.ndarray, worth: np.ndarray) -> np.ndarray:
    """Return int64 [ours]: the position in `theirs` that each word is matched with, or -1; positions grow."""
    order = np.argsort(theirs, kind="stable")
    bounds = np.searchsorted(theirs[order], np.arange(len(worth) + 1))
    chains = _Chains(np.zeros(len(theirs) + 1, np.int64), np.full(len(theirs) + 1, -1), [])
    ends = scores = lengths = befores = np.zeros(0, np.int64)  # the runs that can go on: the word of theirs behind their end, ...
    for row, word in enumerate(ours):
        columns = order[bounds[word] : bounds[word + 1]]
        old = np.searchsorted(ends, columns)
        anew = chains.best[columns] - _OPENING
        goes_on = np.zeros(len(columns), bool)
        if len(ends):
            old[old == len(ends)] = 0
            goes_on = (ends[old] == columns) & (scores[old] >= anew)
        old = old[goes_on]
        new_lengths = np.ones(len(columns), np.int64)
        new_lengths[goes_on] = lengths[old] + 1
        new_befores = chains.by[columns]
        new_befores[goes_on] = befores[old]
        anew[goes_on] = scores[old]
        ends, scores, lengths, befores = columns + 1, anew + worth[word], new_lengths, new_befores
        for k in np.flatnonzero(scores > chains.best[ends]):
            length = int(lengths[k])
            chains.add((row - length + 1, int(ends[k]) - length, length, int(befores[k])), int(ends[k]), int(scores[k]))
    place: np.ndarray = np.full(len(ours), -1)
    run = int(chains.by[-1])
    while run >= 0:
        first, theirs_first, length, run = chains.runs[run]
        place[first : first + length] = theirs_first + np.arange(length)
    return place


def _summarise(place: np.ndarray, worth: np.ndarray, owners: np.ndarray, speech_of: np.ndarray, count: int) -> Alignment:
    trust = _trust(place, worth)
    matched = np.flatnonzero(place >= 0)
    owner, speech = owners[matched], speech_of[place[matched]]
    first, last = np.full(count, NO_SPEECH, np.int32), np.full(count, NO_SPEECH, np.int32)
    first[owner[::-1]] = speech[::-1]
    last[owner] = speech
    starts = np.searchsorted(owners, np.arange(count + 1))
    within = np.arange(len(owners)) - starts[owners]
    from_end = starts[owners + 1] - 1 - np.arange(len(owners))
    means = [_mean(np.ones(len(owners)), trust, owners, count), *(_mean((at < _EDGE).astype(float), trust, owners, count) for at in (within, from_end))]
    return Alignment(first, last, *(np.where(first >= 0, mean, 0).astype(np.float32) for mean in means))


def _mean(weights: np.ndarray, values: np.ndarray, owners: np.ndarray, count: int) -> np.ndarray:
    total = np.bincount(owners, weights, count)
    mean: np.ndarray = np.bincount(owners, weights * values, count) / np.maximum(total, 1e-9)
    return mean


def _trust(place: np.ndarray, worth: np.ndarray) -> np.ndarray:
    """Return float64 [ours], 0 to 1: how well each match is held by matches on both sides; 0 where there is none."""
    left, right = np.zeros(len(place)), np.zeros(len(place))
    for step in range(1, min(_REACH, len(place) - 1) + 1):
        near = (place[step:] >= 0) & (place[:-step] >= 0) & (np.abs(place[step:] - place[:-step] - step) <= _SLACK)
        left[step:] += near * worth[:-step]
        right[:-step] += near * worth[step:]
    trust: np.ndarray = np.where(place >= 0, 1 - np.exp(-(worth + np.minimum(left, right)) / _TRUST), 0)
    return trust
