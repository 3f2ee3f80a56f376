"""The tables that a run carries between stages (FILMS, LINES, SENTENCES, TURNS, DIALOGUES, ENCODED, LABELLED), and what
their columns are made of.

Times are seconds from the start of the film, or null when the source does not give them; all texts are Unicode in NFC.
"""

import pyarrow as pa

FILE = pa.struct(
    {
        "document_id": pa.string(),  # stable name of the file: YEAR/IMDB/FILE for OPUS, the relative path otherwise
        # relative to the folder that holds the source, "/" between parts, the same on every machine: what is no
        # printable text in it is spelt out (`sources.paths`)
        "path": pa.string(),
        # where this machine finds it, as its bytes, which may be no text; never leaves the run folder
        "location": pa.binary(),
        "member": pa.string(),  # name inside the zip at `location`, or null
        "kind": pa.string(),  # "opus" or "subtitle"
        "year": pa.int32(),  # from the path, or null
        "imdb_id": pa.string(),  # from the path, or null
        "language": pa.string(),  # from the path, or null
        "size": pa.int64(),  # bytes as stored
        # changes with the content: when the file was last written and changed in any way (what it may be read by, and
        # the time of writing itself), or the checksum of a zip's member
        "stamp": pa.string(),
    }
)
"""One input file, before it is opened."""

FILMS = pa.schema({"film": pa.string(), "files": pa.list_(FILE)})
"""A film (or episode) and all its files; the unit that is read, split and sharded."""

SOURCE = pa.struct(
    {
        "kind": pa.string(),
        "path": pa.string(),
        "imdb_id": pa.string(),
        "year": pa.int32(),
        "genres": pa.list_(pa.string()),
    }
)
"""Source facts that are published."""

READING = pa.struct(
    {
        "encoding": pa.string(),
        "encoding_confidence": pa.float32(),  # 0 to 1
        "original_language": pa.string(),
        "bad_times": pa.int32(),  # times dropped as missing, backward or absurd
    }
)
"""How a file was read; kept in the run, not published."""

LINE = pa.struct(
    {
        "id": pa.int32(),  # number in the file, from 1: `<s id>` of OPUS, running otherwise
        "text": pa.string(),
        "start": pa.float64(),
        "end": pa.float64(),
        "first_block": pa.int32(),  # number of the subtitle block in which the text begins, from 0
        "last_block": pa.int32(),  # and of that in which it ends
        "dash": pa.bool_(),  # a leading dash announced a new speaker
        "speaker": pa.string(),  # NAME of "NAME: ...", or null
    }
)
"""A physical line of a subtitle, or a sentence: the fields are the same."""

TURN = pa.struct(
    {
        "text": pa.string(),
        "start": pa.float64(),
        "end": pa.float64(),
        "sentence_ids": pa.list_(pa.int32()),
        # probabilities, 0 to 1; null where nothing is known of how the turns were parted
        "new_speaker": pa.float32(),  # that another person begins with it; null for the first turn of a document
        "one_speaker": pa.float32(),  # that one person says all of it
        "same_scene": pa.float32(),  # that the scene goes on with it; null for the first and where scenes are not told
    }
)
"""One speaker's utterance."""

KEY = "key"
"""Field of a turn: the hash of its normalised text, by which the corpus steps compare; it is not published."""


def keyed(turn: pa.StructType) -> pa.StructType:
    """Return the type of turns with a KEY, of those that have none or had one before."""
    return pa.struct([*(field for field in turn if field.name != KEY), pa.field(KEY, pa.int64())])


KEYED_TURN = keyed(TURN)
"""A turn with that."""

_DOCUMENT = {
    "document_id": pa.string(),
    "film": pa.string(),
    "language": pa.string(),
    "source": SOURCE,
    "reading": READING,
}

LINES = pa.schema({**_DOCUMENT, "lines": pa.list_(LINE)})
"""A document as read: OPUS gives whole sentences, other subtitles the physical lines of their blocks."""

SENTENCES = pa.schema({**_DOCUMENT, "sentences": pa.list_(LINE)})
"""A document as sentences."""

MARKED_SENTENCE = pa.struct(
    {
        "sentence_id": pa.int32(),
        "start": pa.float64(),
        "end": pa.float64(),
        "text": pa.string(),
        "turn_id": pa.int32(),  # numbers the turns of a document from 0
        "same_turn_score": pa.float32(),  # 0 to 1, how surely the speaker before goes on; null for the first sentence
    }
)
"""A sentence and its turn, as `edos segment` tells them."""

MARKED = pa.schema({"document_id": pa.string(), "sentences": pa.list_(MARKED_SENTENCE)})
"""A document as such sentences."""

TURNS = pa.schema({**_DOCUMENT, "turns": pa.list_(TURN)})
"""A document as one row of turns."""

_CERTAINTY = {
    "certainty": pa.float32(),  # calibrated probability that nothing is wrong with the dialogue, 0 to 1
    "expected_errors": pa.float32(),  # turns of two people and borders within one person's turn, 0 or more
}
"""How sure a dialogue is; null where no stage has judged it."""

DIALOGUES = pa.schema({"dialogue_id": pa.string(), **_DOCUMENT, **_CERTAINTY, "turns": pa.list_(TURN)})
"""One dialogue a row; the id is `<document_id>#<first sentence id>`."""

REASON = "reason"
"""Column that a stage may add: null where the row goes on, otherwise the code that says why it leaves."""

DETAIL = "detail"
"""Column beside REASON: the message, for a person, of a file that could not be read."""

DIFFERING = "differing_turns"
"""Column beside REASON: the numbers of the turns, from 0, of which a dialogue's text differs from what was labelled."""

OF_REJECTS: tuple[str, ...] = (DETAIL, DIFFERING)
"""The columns that only rejected rows have something in."""

TOP = pa.struct({"label": pa.int64(), "probability": pa.float32()})
"""One of a turn's three most probable labels."""

LABEL_FIELDS = pa.struct(
    {
        "label": pa.int64(),  # 0 to 40
        "confidence": pa.float32(),  # probability of that label, 0 to 1
        "top": pa.list_(TOP),
        "label_source": pa.string(),  # the model that gave the label
    }
)
"""What a label adds to a turn."""


def labelled(turn: pa.StructType) -> pa.StructType:
    """Return the type of turns with a label and without a KEY, whatever of both they had before."""
    return pa.struct([*(field for field in turn if field.name not in (KEY, *LABEL_FIELDS.names)), *LABEL_FIELDS])


LABELLED_TURN = labelled(TURN)
"""A turn with its label."""

_EMBEDDED = {
    "embeddings": pa.large_binary(),  # little-endian float16, [turns, dim]; null where no stage embedded the turns
    "embedded_by": pa.string(),  # identity of the encoder; null likewise
}
"""Embeddings of a dialogue's turns; they are not published."""

ENCODED = pa.schema([*DIALOGUES, *pa.schema(_EMBEDDED)])
"""Dialogues with the embeddings of their turns."""

LABELLED = pa.schema(
    {
        "dialogue_id": pa.string(),
        **_DOCUMENT,
        **_CERTAINTY,
        "turns": pa.list_(LABELLED_TURN),
        **_EMBEDDED,
        "emotionality": pa.float32(),  # mean over the turns of the summed probabilities of the 32 emotions, 0 to 1
        "confidence": pa.float32(),  # mean over the turns of the label's probability, 0 to 1
    }
)
"""Labelled dialogues with the scores that selection uses."""

ANSWERS = pa.list_(
    pa.struct(
        {
            "text": pa.string(),
            "label": pa.string(),  # name of the one that the answer was written under; null of a model without labels
            "probability": pa.float64(),  # of the label, as predicted, 0 to 1; null where it was given
            "score": pa.float64(),  # mean log-probability of its tokens, nats
        }
    )
)
"""Answers of a response model to a dialogue, best first."""
