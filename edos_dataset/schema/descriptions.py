"""The meaning of every published column and of every reason for which something is rejected."""

from typing import TYPE_CHECKING, Any, NamedTuple

from edos_dataset.schema.configs import EDOS_LABELS, REGISTRY, Labels, features
from edos_dataset.schema.tables import SEVERAL

if TYPE_CHECKING:
    from datasets import Features

_LABELS = {
    "turns.label": "one of 41: 32 emotions, 8 response intents, neutral",
    "turns.confidence": "the model's probability of that label, 0 to 1",
    "turns.top": "the three most probable labels, each with its probability",
    "turns.label_source": "the model that assigned the label",
    "turns.labels": "all labels that the turn has, each with its probability; the most probable first",
}
"""Columns of labelled turns → meaning."""

_FILMS = {
    "dialogue_id": (
        "`DOCUMENT#SENTENCE`: the file, and the number of the first sentence; the same on every machine and in every "
        "version"
    ),
    "document_id": "the file: `YEAR/IMDB/FILE` for OPUS, otherwise the relative path",
    "language": "code of the language",
    "source.kind": "`opus` (XML of OPUS), `ttml`, `timedtext` (YouTube), `transcript` (JSON), `chat` (exports of "
    "messengers), `script`, `fountain` or `fdx` (screenplays), or `subtitle` (others)",
    "source.path": "path of the file in the input folder or archive",
    "source.imdb_id": "number of the film at IMDb, or null",
    "source.year": "year of the film, or null",
    "source.genres": "genres, where the file names them",
    "certainty": "probability that the dialogue has no error, 0 to 1, or null",
    "expected_errors": (
        "expected number of errors (turns of two people, boundaries within one person's speech, changes of scene), or "
        "null"
    ),
    "turns.text": "what one speaker says, on one line, NFC",
    "turns.text_sha256": "SHA-256 (hex) of the UTF-8 bytes of the turn's text",
    "turns.start": "seconds from the start of the film to the start of the turn, or null",
    "turns.end": "seconds from the start of the film to the end of the turn, or null",
    "turns.sentence_ids": "numbers of its sentences in the file, from 1",
    "turns.speaker": "who says it, where the file names them (a pseudonym with --pseudonymize), or null",
    "turns.scene": "number of the scene in the screenplay, from 1; 0 before the first heading",
    "turns.manner": "the writer's notes on how it is said (`furious`), separated by semicolons, or null",
    "turns.voice": "`voice-over` or `off-screen` if the speaker is not seen, or null",
    "turns.new_speaker": "probability that another person begins to speak with it, 0 to 1, or null",
    "turns.one_speaker": "probability that one person says all of it, 0 to 1, or null",
    "turns.same_scene": "probability that the scene of the previous turn continues, 0 to 1, or null",
    "turns.certainty": (
        "probability that the boundary before the turn is right (another person, the same scene), 0 to 1; null for the "
        "first turn of a dialogue, or if unknown"
    ),
    **_LABELS,
}
_BOOKS = {
    "dialogue_id": "`DOCUMENT#PARAGRAPH`: the file, and the number of the paragraph in which the dialogue begins",
    "document_id": "the file",
    "language": _FILMS["language"],
    "source.kind": "form of the file, such as `text`, `tei`, `html` or `epub`",
    "source.path": _FILMS["source.path"],
    "source.title": "title of the book as stated in the file, or null",
    "source.author": "author of the book as stated in the file, or null",
    "source.year": "year of the book as stated in the file, or null",
    "chapter": "the heading above the dialogue in the book, or null",
    "turns.text": "what one character says, without quotation marks and dashes, NFC",
    "turns.sentence_ids": "numbers of its paragraphs in the book, from 0",
    "turns.speaker": "the speaker, by the name that the book uses most, or null where it is not probable enough",
    "turns.speaker_id": "number of the character in the book, from 0, the same for all names of theirs, or null",
    "turns.addressee": "to whom it is said, or null",
    "turns.manner": "how it is said, in the author's words (`angrily`), separated by semicolons, or null",
    "turns.narration": (
        "the narration since the turn before, between its quotations and behind them, a line each, or null"
    ),
    "turns.narration_at": "for each of these lines, how many characters of the text are said before it, or null",
    "turns.certainty": (
        "probability that the turn is one person's speech, and another person's than the turn before, 0 to 1, or null"
    ),
    **_LABELS,
}
_LAST_TURN = {
    "dialogue_id": "id of the dialogue",
    "label": "label of the last turn, or null where people disagree",
    "soft_label": "fraction of people, or probability, of each label, by label id",
    "answers.worker": "who answered: a worker, or a column of the authors' file",
    "answers.answer": "the answer as given",
    "answers.label": "label that the answer names, or null where it is none of the 41",
    "method": "source of the label: `crowd`, `spread` or `self-label`",
    "step": "step that assigned the label; 0 for the seed",
    "round": "round of the method; 0 for the seed",
    "seed_id": "`spread`: id of the dialogue that the label comes from, otherwise null",
    "similarity": "`spread`: cosine similarity to that dialogue, otherwise null",
    "confidence": "`self-label`: calibrated probability of the label, otherwise null",
}


class Column(NamedTuple):
    """A published column.

    Attributes:
        name: Its path, such as `turns.text` for the field `text` of each turn.
        type: Its type in words, such as `list of int32`.
        meaning: What it holds.
    """

    name: str
    type: str
    meaning: str


def describe(config: str, labelled: bool | None = None, labels: Labels = EDOS_LABELS) -> list[Column]:
    """Return the columns of a config in their order, each with its type and meaning.

    Args:
        config: One of `REGISTRY`.
        labelled: As for `features`.
        labels: As for `features`.

    Raises:
        ValueError: There is no such config.
    """
    found = _leaves(features(config, labelled, labels))
    if REGISTRY[config].labelled == "last turn":
        meanings = _FILMS | _LAST_TURN
    else:
        meanings = _BOOKS if config.startswith("gutenberg_") else _FILMS
    if labels.names != EDOS_LABELS.names:
        meanings = meanings | {"turns.label": f"one of {len(labels.names)}, listed below"}
    return [Column(name, kind, meanings[name]) for name, kind in found]


def _leaves(columns: "Features | dict[str, Any]", parent: str = "") -> list[tuple[str, str]]:
    found = []
    for name, feature in columns.items():
        inner = feature[0] if isinstance(feature, list) else getattr(feature, "feature", feature)
        if isinstance(inner, dict) and name not in ("top", SEVERAL):
            found += _leaves(inner, f"{parent}{name}.")
        else:
            found.append((f"{parent}{name}", _type(feature)))
    return found


def _type(feature: Any) -> str:  # noqa: ANN401 - a feature of `datasets` may be anything
    if isinstance(feature, dict):
        return f"struct of {', '.join(feature)}"
    if isinstance(feature, list):  # as versions of `datasets` before 4 write lists
        return f"list of {_type(feature[0])}"
    if hasattr(feature, "feature"):
        return f"list of {_type(feature.feature)}"
    return f"label, 0 to {len(feature.names) - 1}" if hasattr(feature, "names") else str(feature.dtype)


REASONS: dict[str, str] = {
    # files
    "changed": "The file has changed since the run listed it; run the command again.",
    "corrupt_member": "The file or its zip archive is damaged: its unpacked content differs from what was packed.",
    "empty_file": "The file has no content, or only blanks.",
    "forbidden_xml": "The XML declares or uses entities, which an attack might use and no subtitle or book needs.",
    "malformed_epub": "The EPUB is not a valid zip archive, or pages that it names are missing.",
    "malformed_xml": "The file is not well-formed XML.",
    "not_a_file": "It is a device, a socket or a pipe, not a file.",
    "copyrighted": "Its header says that the book is under copyright.",
    "not_a_book": "The content is not that of a book: binary data, too little text, or an overlong line.",
    "not_a_chat": "The file is no export of a chat that can be read: a plain text, a table, or other JSON.",
    "not_a_script": "The text is no screenplay or transcript: no lines that name who speaks, or not in its format.",
    "not_subtitles": "The content is not that of a subtitle: binary data, no times or words, or overlong lines.",
    "pictures": "The file holds pictures of subtitles (VobSub or PGS), which only OCR turns into text.",
    "other_file_of_film": "The film has a better file, which was used instead.",
    "other_language": "The file is in another language than the one wanted.",
    "reader_failed": "The reader of this format failed on the file; please report it.",
    "same_film": "Another file, of whatever name, is a near-duplicate and was kept as it is longer or cleaner.",
    "same_book": "Another book, of whatever name, is a near-duplicate and was kept as it is longer or cleaner.",
    "too_large": "Unpacked, the file or its text is larger than the stage `read` allows.",
    "too_slow": "Reading the file took longer than the stage `read` allows.",
    "truncated": "The file ends early; download or copy it again.",
    "unknown_encoding": "No encoding decodes the bytes to readable text.",
    "encrypted": "A password or copy protection (DRM) locks the file; give a copy without it.",
    "unreadable": "The file may not be read, or it is packed by an unknown method.",
    "unreadable_folder": "The folder may not be listed, so its files are not known.",
    "unreadable_zip": "The archive cannot be opened, so its files are not known.",
    # books
    "few_delimiters": "The book has fewer quotes or dashes than the stage `dialogues_as_papers` requires.",
    "few_dialogues": "The book has fewer dialogues for its length than the stage `dialogues_as_papers` requires.",
    "few_double_delimiters": "Fewer paragraphs have two dashes than the stage `dialogues_as_papers` requires.",
    "no_dialogue": "By its quotes and dashes, the book has no speech that somebody answers.",
    "no_dialogue_left": "All dialogues of the book were removed later, each for its own reason.",
    "other_file_of_book": "The book has a better file, which was used instead.",
    "verse": "The book is in verse, from which the stage `dialogues` cannot distinguish speech.",
    "strange_words": "The book's words are not those of the other books: old language, a dictionary, noise.",
    # lines
    "credit": "The line names the authors or distributors of the subtitle.",
    "empty": "The line consists of markup, dashes and names only.",
    "loop": "The line is one that a speech recogniser repeats, or writes over silence.",
    "music": "The line is sung.",
    "sound": "The line describes a sound.",
    # turns
    "after_removed_turn": "The turn follows a removed one, at which its dialogue ends.",
    "bad_start": "The turn begins with neither a letter, a digit nor a quotation mark.",
    "documentary": "The film is a documentary, in which people talk to the camera.",
    "few_letters": "Too few of the turn's characters are letters.",
    "previously_on": "The turn introduces the summary of an earlier episode.",
    "repeats_previous": "The turn repeats the turn before it.",
    "repetitive": "The turn repeats the same words again and again.",
    "profanity": "The turn has a vulgar word.",
    "single_turn": "The turn is the only one left of its dialogue.",
    "too_frequent": "The same text occurs in the corpus more often than the stage `cap` allows.",
    "too_long": "The line or turn is longer than the stage allows.",
    "too_short": "The turn is shorter than the stage `clean` allows.",
    # dialogues
    "duplicate_dialogue": "Another dialogue is a duplicate or near-duplicate, and was kept.",
    "not_labelled": "The published labels do not include this dialogue.",
    "not_selected": "Other dialogues scored higher, and the stage `select` keeps a limited number.",
    "rare_words": "Too many of the dialogue's words are rare in the corpus.",
    "text_differs": "The text is not the one that was labelled.",
    "unsure": "The certainty of the dialogue is below the minimum of the stage `certainty`.",
}
"""Code in the column `reason` and in manifests → meaning; the column `detail` has the message about a single file."""


def meaning(reason: str) -> str:
    """Return the meaning of a reason; stages and readers of other packages may use codes that are not known here."""
    return REASONS.get(reason, "A reason of a stage or reader of another package, whose documentation explains it.")
