"""Dialogues as SSML, from which programs make speech: a voice for each speaker, the emotion as style or prosody."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from xml.sax.saxutils import escape, quoteattr

from edos_dataset.exports.films import Film
from edos_dataset.exports.records import NARRATOR, Dialogue, Turn
from edos_dataset.label_sets import load_label_set
from edos_dataset.label_sets.label_set import LabelSet
from edos_dataset.segmentation.sentences import split_sentences

EMOTIONS = ("express-as", "prosody", "none")
"""How emotions are written."""

_UNFIT = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SPOKEN = re.compile(r"[^\W_]")
_FAMILIES = "ekman7"
_STYLES = {
    "anger": "angry", "disgust": "disgruntled", "fear": "fearful", "joy": "cheerful", "sadness": "sad",
    "surprise": "excited",
}  # fmt: skip
_PROSODY: Mapping[str, Mapping[str, str]] = {
    "anger": {"rate": "+10%", "pitch": "+5%", "volume": "+20%"},
    "disgust": {"rate": "-5%", "pitch": "-5%"},
    "fear": {"rate": "+15%", "pitch": "+10%", "volume": "-10%"},
    "joy": {"rate": "+5%", "pitch": "+10%"},
    "sadness": {"rate": "-15%", "pitch": "-10%", "volume": "-10%"},
    "surprise": {"rate": "+5%", "pitch": "+20%"},
    "whispering": {"volume": "-40%"},
    "shouting": {"volume": "+40%"},
}
_VOICES = {
    "whispering": re.compile(r"\b(?:whisper|under (?:his|her) breath)", re.IGNORECASE),
    "shouting": re.compile(r"\b(?:shout|yell|roar|bellow|scream|shriek)", re.IGNORECASE),
}
"""Style → the words about the voice that mean it; it is truer than that of a label."""


def cast_of(voices: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return the voices that speakers get by turns, and those of the form "SPEAKER=VOICE" by speaker in lower case.

    Raises:
        ValueError: speaker or voice is missing in one of these.
    """
    by_turns, cast = [], {}
    for given in voices:
        speaker, equals, voice = (part.strip() for part in given.rpartition("="))
        if not voice or (equals and not speaker):
            raise ValueError(f"--voice {given!r}: expected VOICE or SPEAKER=VOICE, such as 'Alice=en-GB-SoniaNeural'")
        if equals:
            cast[speaker.lower()] = voice
        else:
            by_turns.append(voice)
    return by_turns, cast


@dataclass
class Speech:
    """How dialogues become speech.

    Attributes:
        voices: Names of voices, which the speakers of a film get by turns; without any, the voice of a speaker has the
            speaker's name.
        cast: Name of a speaker, or NARRATOR, in lower case → name of their voice.
        emotion: One of EMOTIONS.
        labels: The label set; None where labels are any texts.
    """

    voices: Sequence[str] = ()
    cast: Mapping[str, str] = field(default_factory=dict)
    emotion: str = EMOTIONS[0]
    labels: LabelSet | None = None
    _given: dict[str, str] = field(default_factory=dict)

    def document(self, film: Film) -> str:
        """Return a film or book as an SSML document."""
        return "\n".join([self.head(film.language), *self.body(film), TAIL])

    def head(self, language: str) -> str:
        """Return the beginning of a document."""
        return (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            '<speak version="1.0" xmlns="http://www.w3.org/2001/10/synthesis" '
            f'xmlns:mstts="https://www.w3.org/2001/mstts" xml:lang={quoteattr(language.replace("_", "-"))}>'
        )

    def body(self, film: Film) -> Iterator[str]:
        """Yield the elements of a film's dialogues, each turn in its voice."""
        self._given.clear()
        for dialogue in film.dialogues:
            yield f"<!-- {escape(_fit(dialogue.id)).replace('--', '- -').rstrip('-')} -->"
            yield from self._turns(dialogue)

    def _turns(self, dialogue: Dialogue) -> Iterator[str]:
        for place, turn in enumerate(dialogue.turns):
            voice = self._voice(turn.speaker or f"speaker {place % 2 + 1}")
            narrator, emotion = self.cast.get(NARRATOR, NARRATOR), self._emotion(turn)
            for text, narrated in turn.pieces():
                if _SPOKEN.search(text):
                    yield _spoken(narrator, text) if narrated else _spoken(voice, text, *emotion)

    def _voice(self, speaker: str) -> str:
        if (own := self.cast.get(speaker.lower())) is not None:
            return own
        if not self.voices:
            return speaker
        return self._given.setdefault(speaker, self.voices[len(self._given) % len(self.voices)])

    def _emotion(self, turn: Turn) -> tuple[str, str]:
        """Return the tags around what is said."""
        if self.emotion == "none":
            return "", ""
        how = next((style for style, said in _VOICES.items() if turn.manner and said.search(turn.manner)), None)
        if how is None and turn.label is not None:
            how = _family(turn.label, self.labels)
        if how is None:
            return "", ""
        if self.emotion == "prosody":
            values = "".join(f" {name}={quoteattr(value)}" for name, value in _PROSODY.get(how, {}).items())
            return (f"<prosody{values}>", "</prosody>") if values else ("", "")
        style = _STYLES.get(how, how)
        return f"<mstts:express-as style={quoteattr(_fit(style))}>", "</mstts:express-as>"


TAIL = "</speak>\n"
"""The end of a document."""


def _spoken(voice: str, text: str, before: str = "", after: str = "") -> str:
    parts = split_sentences(" ".join(_fit(text).split()))
    sentences = "".join(f"<s>{escape(part)}</s>" for part in parts)
    return f"<voice name={quoteattr(_fit(voice))}>{before}<p>{sentences}</p>{after}</voice>"


def _fit(text: str) -> str:
    """Return a text without characters that XML cannot have."""
    return _UNFIT.sub("\ufffd", text)


def _family(label: str, labels: LabelSet | None) -> str | None:
    """Return the basic emotion of a label, or the label itself where none is known; None for neutral."""
    families = _families(labels)
    if label in families:
        return families[label]
    neutral = labels.neutral if labels is not None else "neutral"
    return None if label == neutral else label


@lru_cache(maxsize=8)
def _families(labels: LabelSet | None) -> Mapping[str, str | None]:
    """Return the basic emotion of each label of a set that translates into them."""
    if labels is None:
        return {}
    known = load_label_set(_FAMILIES)
    if labels.labels == known.labels:
        table: Mapping[str, Mapping[str, float]] = {label: {label: 1.0} for label in labels.labels}
    else:
        table = labels.maps.get(_FAMILIES) or known.sources.get(labels.name, {})
    best = {label: max(shares, key=shares.__getitem__) for label, shares in table.items() if shares}
    return {label: None if family == known.neutral else family for label, family in best.items()}
