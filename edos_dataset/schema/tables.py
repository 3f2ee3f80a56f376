"""The tables that a run passes between stages, and the types of their columns.

Films: FILMS, LINES, SENTENCES, TURNS, DIALOGUES, ENCODED, LABELLED. Books: BOOKS, READ_BOOKS, BOOK_DIALOGUES. Times are
seconds from the start of the film, or null where the source does not give them; all texts are Unicode in NFC.
"""

import pyarrow as pa

FILE = pa.struct(
    {
        "document_id": pa.string(),  # stable name of the file: YEAR/IMDB/FILE for OPUS, the relative path otherwise
        # relative to the folder that holds the source, with "/" as separator, the same on every machine; unprintable
        # characters are escaped (`sources.names`)
        "path": pa.string(),
        # path on this machine, as bytes, which may not be valid text; never leaves the run folder
        "location": pa.binary(),
        "member": pa.string(),  # name inside the zip at `location`, or null
        "kind": pa.string(),  # of the format: "opus", "subtitle", "chat", "script"
        "year": pa.int32(),  # from the path, or null
        "imdb_id": pa.string(),  # from the path, or null
        "language": pa.string(),  # from the path, or null
        "size": pa.int64(),  # bytes as stored
        # changes with the content: the times of the last write and of the last change of its metadata, or the checksum
        # of a zip's member
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
"""Published facts about a source."""

READING = pa.struct(
    {
        "encoding": pa.string(),
        "encoding_confidence": pa.float32(),  # 0 to 1
        "original_language": pa.string(),
        "bad_times": pa.int32(),  # times dropped as missing, decreasing or implausible
        "left_out": pa.map_(pa.string(), pa.int32()),  # of a chat: kind of what was not said → number
        "faults": pa.list_(pa.string()),  # of the whole file: `sources.subtitles.faults`; null without any
    }
)
"""How a file was read; kept in the run, not published."""

_SCRIPTED = {
    "scene": pa.int32(),  # of a screenplay: number of the scene, from 1, or 0 before the first; otherwise null
    "manner": pa.string(),  # of a screenplay: the writer's note ("furious"), or null
    "voice": pa.string(),  # of a screenplay: "voice-over" or "off-screen" if the speaker is not seen, or null
}

LINE = pa.struct(
    {
        "id": pa.int32(),  # number in the file, from 1: `<s id>` of OPUS, running otherwise
        "text": pa.string(),
        "start": pa.float64(),
        "end": pa.float64(),
        "first_block": pa.int32(),  # number of the subtitle block in which the text begins, from 0
        "last_block": pa.int32(),  # number of the block in which it ends
        "dash": pa.bool_(),  # a leading dash announced a new speaker
        "speaker": pa.string(),  # whom the file names, as in "NAME: ...", or null
        **_SCRIPTED,
    }
)
"""A physical line of a subtitle, or a sentence: the fields are the same."""

TURN = pa.struct(
    {
        "text": pa.string(),
        "start": pa.float64(),
        "end": pa.float64(),
        "sentence_ids": pa.list_(pa.int32()),
        "speaker": pa.string(),  # where the file names them, otherwise null
        **_SCRIPTED,
        # probabilities, 0 to 1; null where the segmentation is not known
        "new_speaker": pa.float32(),  # another person begins with it; null for the first turn of a document
        "one_speaker": pa.float32(),  # one person says all of it
        "same_scene": pa.float32(),  # the scene continues; null for the first turn and without scenes
        # the boundary before it is an exchange of two people in one scene, calibrated; null for the first of a dialogue
        "certainty": pa.float32(),
    }
)
"""One speaker's utterance."""

KEY = "key"
"""Field of a turn: the hash of its normalised text, which the corpus steps compare; it is not published."""


def keyed(turn: pa.StructType) -> pa.StructType:
    """Return the type of turns with a KEY, whether or not they had one."""
    return pa.struct([*(field for field in turn if field.name != KEY), pa.field(KEY, pa.int64())])


KEYED_TURN = keyed(TURN)
"""A turn with its KEY."""

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
        "speaker": pa.string(),  # where the file names them, otherwise null
        **_SCRIPTED,
        "turn_id": pa.int32(),  # numbers the turns of a document from 0
        "same_turn_score": pa.float32(),  # 0 to 1, probability that the previous turn continues; null for the first
    }
)
"""A sentence and its turn, as `edos segment` writes them."""

MARKED = pa.schema({"document_id": pa.string(), "sentences": pa.list_(MARKED_SENTENCE)})
"""A document as such sentences."""

TURNS = pa.schema({**_DOCUMENT, "turns": pa.list_(TURN)})
"""A document as one row of turns."""

_CERTAINTY = {
    "certainty": pa.float32(),  # calibrated probability that the dialogue has no error, 0 to 1
    "expected_errors": pa.float32(),  # turns of two people and boundaries within one person's speech, 0 or more
}
"""Null where no stage has computed it."""

DIALOGUES = pa.schema({"dialogue_id": pa.string(), **_DOCUMENT, **_CERTAINTY, "turns": pa.list_(TURN)})
"""One dialogue a row; the id is `<document_id>#<first sentence id>`."""

REASON = "reason"
"""Column that a stage may add: null where the row is kept, otherwise the code of the reason for its removal."""

DETAIL = "detail"
"""Column beside REASON: the message about a file that could not be read."""

DIFFERING = "differing_turns"
"""Column beside REASON: the numbers, from 0, of the turns whose text differs from the labelled one."""

KEPT_FILE = "kept_file"
"""Column beside REASON: the path of the file that is kept instead of a rejected one."""

OF_REJECTS: tuple[str, ...] = (DETAIL, DIFFERING, KEPT_FILE)
"""The columns that are empty except in rejected rows."""

TOP = pa.struct({"label": pa.int64(), "probability": pa.float32()})
"""One of a turn's three most probable labels."""

LABEL_FIELDS = pa.struct(
    {
        "label": pa.int64(),  # id in the table's label set (`label_sets.schemas`): 0 to 40 in that of EDOS
        "confidence": pa.float32(),  # probability of that label, 0 to 1
        "top": pa.list_(TOP),
        "label_source": pa.string(),  # the model that assigned the label
    }
)
"""The fields that a label adds to a turn."""


SEVERAL = "labels"
"""Field beside LABEL_FIELDS where a turn can have several labels: all that it has, the most probable first."""


def labelled(turn: pa.StructType, several: bool = False) -> pa.StructType:
    """Return the type of turns with a label, or several, and without a KEY, whether or not they had any of these."""
    others = [field for field in turn if field.name not in (KEY, *LABEL_FIELDS.names, SEVERAL)]
    return pa.struct([*others, *LABEL_FIELDS, *[pa.field(SEVERAL, pa.list_(TOP))] * several])


LABELLED_TURN = labelled(TURN)
"""A turn with its label."""

_EMBEDDED = {
    "embeddings": pa.large_binary(),  # little-endian float16, [turns, dim]; null where no stage embedded the turns
    "embedded_by": pa.string(),  # identity of the encoder; null where there are no embeddings
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
            "label": pa.string(),  # label that the answer was generated for; null for a model without labels
            "probability": pa.float64(),  # predicted probability of the label, 0 to 1; null where the label was given
            "score": pa.float64(),  # mean log-probability of its tokens, nats
        }
    )
)
"""Answers of a response model to a dialogue, best first."""

BOOKS = pa.schema(
    {
        "book": pa.string(),
        "title": pa.string(),  # from the catalogue, or null; the author too
        "author": pa.string(),
        "files": pa.list_(FILE),
    }
)
"""A book and all its files, several formats or encodings of one text; the unit that is read, split and sharded."""

BOOK_SOURCE = pa.struct(
    {
        "kind": pa.string(),  # "text", "tei", "html" or "epub"
        "path": pa.string(),  # as in FILE
        "title": pa.string(),  # from the file or the catalogue, or null; author and year too
        "author": pa.string(),
        "year": pa.int32(),
    }
)
"""Published facts about a book."""

BLOCK = pa.struct(
    {
        "text": pa.string(),
        "kind": pa.string(),  # as in `sources.books.book.Block`; all that follow too
        "chapter": pa.int32(),
        "speaker": pa.string(),
        "said": pa.list_(pa.struct({"start": pa.int32(), "end": pa.int32(), "speaker": pa.string()})),
    }
)
"""A paragraph of a book."""

_BOOK = {
    "document_id": pa.string(),
    "book": pa.string(),
    "language": pa.string(),
    "source": BOOK_SOURCE,
    "reading": READING,
}

READ_BOOKS = pa.schema({**_BOOK, "text": pa.large_string(), "blocks": pa.list_(BLOCK)})
"""A book as read: as one text, for recipe `papers`, or as blocks; the other one is null."""

BOOK_TURN = pa.struct(
    {
        "text": pa.string(),
        "sentence_ids": pa.list_(pa.int32()),  # numbers of its blocks (recipe `papers`: paragraphs)
        "speaker": pa.string(),  # the name that the book uses most, or null
        "speaker_id": pa.int32(),  # number of the character in the book, from 0, or null
        "addressee": pa.string(),  # to whom it is said, or null
        "manner": pa.string(),  # how it is said, in the author's words ("angrily"), or null
        # narration before, between and after its quotations, a line each, or null
        "narration": pa.string(),
        "narration_at": pa.list_(pa.int32()),  # the number of characters of the text before each of these lines
        "certainty": pa.float32(),  # it is one person's speech, and another's than the turn before
    }
)
"""What a character says in a book until another one speaks."""

LABELLED_BOOK_TURN = labelled(BOOK_TURN)
"""A turn of a book with its label."""

BOOK_DIALOGUES = pa.schema(
    {
        "dialogue_id": pa.string(),
        **_BOOK,
        "chapter": pa.string(),  # the heading above it, or null
        "turns": pa.list_(BOOK_TURN),
    }
)
"""One dialogue a row; the id is `<document_id>#<number of the block in which it begins>`."""
