"""Alignment of subtitle sentences with the speeches of a script, which shows which neighbours belong to one turn."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from training.transcripts.matching import hash_phrases, match_words, number_words

NO_SPEECH = -1
"""The speech of a sentence that is not aligned."""

_REACH = 12  # words on either side that can support a match
_SLACK = 4  # words by which the distance may differ between the texts
_TRUST = 100.0  # support of matches at which the trust is 63 %
_FADING = 0.95  # of the trust, per unmatched word between a match and the edge of its sentence
_PHRASE = 4  # words per phrase when searching a film's script
_MOST_SCRIPTS = 2  # a phrase in more scripts is not distinctive


@dataclass(frozen=True)
class Alignment:
    """The positions of subtitle sentences in the speeches of a script.

    Confidences are 0 to 1. The confidence of a match is higher the rarer its word is, the more matches on both sides
    support it, and the more of its sentence matches; so a short common sentence that matched by chance has a low
    confidence. A sentence that is not aligned has confidence 0.

    Attributes:
        speech: int32 [sentences], index of the speech in which a sentence begins, NO_SPEECH if it is not aligned.
        last_speech: int32 [sentences], index of the speech in which it ends.
        confidence: float32 [sentences], mean over all words, 0 for words without a match.
        opening: float32 [sentences], confidence that it begins in `speech`: that of its most certain match, minus 5 %
            for each word before the match.
        closing: float32 [sentences], confidence that it ends in `last_speech`: the same, counted from its end.
    """

    speech: np.ndarray
    last_speech: np.ndarray
    confidence: np.ndarray
    opening: np.ndarray
    closing: np.ndarray


def align(sentences: Sequence[str], speeches: Sequence[str]) -> Alignment:
    """Align the sentences of a subtitle file with the speeches of a script of the same film.

    The alignment is monotonic: a sentence in another place of the other text stays unaligned.

    Args:
        sentences: texts in temporal order.
        speeches: texts in the order of the script, without names and stage directions.
    """
    words, owners = number_words([*sentences, *speeches])
    boundary = int(np.searchsorted(owners, len(sentences)))
    place, worth = match_words(words[:boundary], words[boundary:])
    owners, speech_of = owners[:boundary], owners[boundary:] - len(sentences)
    _drop_strays(place, owners, speech_of)
    matched = np.flatnonzero(place >= 0)
    speech = np.full(boundary, NO_SPEECH, np.int32)
    speech[matched] = speech_of[place[matched]]
    first, last = (np.full(len(sentences), NO_SPEECH, np.int32) for _ in range(2))
    first[owners[matched[::-1]]] = speech[matched[::-1]]
    last[owners[matched]] = speech[matched]
    bounds = np.searchsorted(owners, np.arange(len(sentences) + 1))
    trust = _trust(place, worth) * _backing(place, worth, owners)
    confidence = np.bincount(owners, trust, len(sentences)) / np.maximum(np.diff(bounds), 1)
    from_begin, from_end = np.arange(boundary) - bounds[owners], bounds[owners + 1] - 1 - np.arange(boundary)
    opening = _surest(trust * (speech == first[owners]), owners, from_begin, len(sentences))
    closing = _surest(trust * (speech == last[owners]), owners, from_end, len(sentences))
    return Alignment(first, last, confidence.astype(np.float32), opening, closing)


def boundary_labels(
    alignment: Alignment, speakers: Sequence[str], scenes: Sequence[int] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return for each sentence whether it continues the turn of the sentence before.

    Two consecutive speeches of the same speaker, separated only by a stage direction, are one turn, but a change of
    scene begins a new turn. If others speak in the script between two sentences of one speaker, the label is unknown,
    since their words may have been cut. A joint name ("Ann & Bob") is a separate speaker.

    Args:
        alignment: aligns the sentences with the speeches.
        speakers: name of the speaker of each speech.
        scenes: number of the scene of each speech; None if all are in one scene.

    Returns:
        int8 [sentences]: 1 same turn, 0 new turn, -1 unknown (always for the first sentence); and float32 [sentences],
        the confidence of the label, 0 to 1, 0 if it is unknown: the lower of the confidences that the last words before
        the boundary and the first words after it are aligned.

    Raises:
        ValueError: the alignment refers to a speech without a speaker, or the numbers of scenes and speakers differ.
    """
    most = int(alignment.last_speech.max(initial=NO_SPEECH))
    if most >= len(speakers):
        raise ValueError(
            f"a sentence is aligned with speech {most}, but there are {len(speakers)} speakers: give the speaker of "
            "every speech, from speech 0"
        )
    if scenes is not None and len(scenes) != len(speakers):
        raise ValueError(
            f"there are {len(speakers)} speakers and {len(scenes)} scenes: give one of each for every speech"
        )
    same, confidence = np.full(len(alignment.speech), -1, np.int8), np.zeros(len(alignment.speech), np.float32)
    if len(same) < 2 or not len(speakers):
        return same, confidence
    names = np.unique(np.asarray(speakers), return_inverse=True)[1]
    places = np.zeros(len(names), np.int64) if scenes is None else np.asarray(scenes)
    turns = np.cumsum(np.r_[False, (np.diff(names) != 0) | (np.diff(places) != 0)])
    before, after = alignment.last_speech[:-1], alignment.speech[1:]
    goes_on = turns[before] == turns[after]
    returns = ~goes_on & (names[before] == names[after]) & (places[before] == places[after])
    known = (before >= 0) & (after >= 0) & ~returns
    same[1:][known] = goes_on[known]
    confidence[1:][known] = np.minimum(alignment.closing[:-1], alignment.opening[1:])[known]
    return same, confidence


def find_scripts(films: Sequence[Sequence[str]], scripts: Sequence[Sequence[str]]) -> tuple[np.ndarray, np.ndarray]:
    """Find the script of each film by their common phrases of four words, since the numbers in file names are often
    wrong.

    Args:
        films: the sentences of each film.
        scripts: the speeches of each script.

    Returns:
        int64 [films], index of the script with most of the film's phrases; and float64 [films], the fraction of the
        film's phrases in it, 0 to 1. Phrases in more than two scripts are ignored. A film shares about half or more of
        its phrases with its script, and less than 0.05 with any other.

    Raises:
        ValueError: there is no script.
    """
    if not scripts:
        raise ValueError("there is no script among which to find that of a film: give at least one")
    words, owners = number_words([" ".join(texts) for texts in (*scripts, *films)])
    phrases = hash_phrases(words, _PHRASE)
    inside = np.flatnonzero(owners[: len(phrases)] == owners[len(words) - len(phrases) :])
    _, numbers = np.unique(phrases[inside], return_inverse=True)
    kinds = int(numbers.max(initial=-1)) + 1
    own, number = np.divmod(np.unique(owners[inside] * kinds + numbers), max(kinds, 1))  # each phrase of a text once
    boundary = int(np.searchsorted(own, len(scripts)))
    holders = np.bincount(number[:boundary], minlength=kinds)
    order = np.argsort(number[:boundary], kind="stable")
    begins = np.cumsum(holders) - holders
    film, number = own[boundary:] - len(scripts), number[boundary:]
    film, number = (values[holders[number] <= _MOST_SCRIPTS] for values in (film, number))
    shared = np.zeros((len(films), len(scripts)))
    for nth in range(_MOST_SCRIPTS):
        has = holders[number] > nth
        np.add.at(shared, (film[has], own[:boundary][order[begins[number[has]] + nth]]), 1)
    shared /= np.maximum(np.bincount(film, minlength=len(films)), 1)[:, None]
    return shared.argmax(1), shared.max(1)


def _drop_strays(place: np.ndarray, owners: np.ndarray, speech_of: np.ndarray) -> None:
    """Remove single matches that would extend a sentence into another speech than the rest of it."""
    matched = np.flatnonzero(place >= 0)
    owner, speech = owners[matched], speech_of[place[matched]]
    part = np.cumsum(np.r_[False, (np.diff(owner) != 0) | (np.diff(speech) != 0)]) if len(matched) else matched
    alone = np.bincount(part)[part] == 1
    place[matched[alone & (np.bincount(owner)[owner] > 2)]] = -1


def _trust(place: np.ndarray, worth: np.ndarray) -> np.ndarray:
    """Return float64 [words], 0 to 1: how well each match is supported by its worth and by matches on both sides; 0 for
    words without a match.
    """
    left, right = np.zeros(len(place)), np.zeros(len(place))
    for step in range(1, min(_REACH, len(place) - 1) + 1):
        near = (place[step:] >= 0) & (place[:-step] >= 0) & (np.abs(place[step:] - place[:-step] - step) <= _SLACK)
        left[step:] += near * worth[:-step]
        right[:-step] += near * worth[step:]
    trust: np.ndarray = np.where(place >= 0, 1 - np.exp(-(worth + np.minimum(left, right)) / _TRUST), 0)
    return trust


def _backing(place: np.ndarray, worth: np.ndarray, owners: np.ndarray) -> np.ndarray:
    """Return float64 [words], 0 to 1: how well its whole sentence supports a match, by the fraction of the sentence
    that matches or by the amount.

    If a sentence is not in the script, one of its common words easily matches by chance, as in "thank you" and "you
    know".
    """
    matched = np.bincount(owners, worth * (place >= 0))
    share = matched / np.maximum(np.bincount(owners, worth), 1)
    backing: np.ndarray = np.maximum(share, 1 - np.exp(-matched / _TRUST))[owners]
    return backing


def _surest(trust: np.ndarray, owners: np.ndarray, distance: np.ndarray, count: int) -> np.ndarray:
    """Return float32 [sentences]: the trust in the most certain match near the edge of each sentence, reduced for each
    word between the match and the edge.
    """
    surest: np.ndarray = np.zeros(count, np.float32)
    np.maximum.at(surest, owners, trust * _FADING**distance)
    return surest
