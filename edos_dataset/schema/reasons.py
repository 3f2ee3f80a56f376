"""Every reason for which something leaves a run, in a sentence: the codes of the column `reason` and of manifests."""

REASONS: dict[str, str] = {
    # files
    "changed": "The file is not the one that was listed when the run began; give the command again.",
    "corrupt_member": "The file is damaged, or its zip archive is: what it unpacks to is not what was packed.",
    "empty_file": "The file has no content, or only blanks.",
    "forbidden_xml": "The XML declares or uses entities, which no subtitle or book needs and an attack might.",
    "malformed_epub": "The EPUB is no sound zip archive, or the pages that it names are missing.",
    "malformed_xml": "The file breaks the rules of XML.",
    "not_a_file": "It is a device, a socket or a pipe, which has no end.",
    "not_a_book": "The content is not that of a book: binary data, too little text, or an endless line.",
    "not_subtitles": "The content is not that of a subtitle: binary data, no times or words, or endless lines.",
    "other_file_of_film": "The film has a better file, which was taken.",
    "other_language": "The file is in another language than the one wanted.",
    "reader_failed": "The reader of this format stumbled over the file; please report it.",
    "same_film": "Another file says nearly the same, under whatever name, and was kept: it is longer or cleaner.",
    "same_book": "Another book says nearly the same, under whatever name, and was kept: it is longer or cleaner.",
    "too_large": "Unpacked, the file or its text is larger than the stage `read` allows.",
    "too_slow": "Reading the file took longer than the stage `read` allows.",
    "truncated": "The file ends early; download or copy it again.",
    "unknown_encoding": "No encoding makes readable text of the bytes.",
    "unreadable": "The system does not let the file be read, or it is packed with a password or an unknown method.",
    "unreadable_folder": "The system does not let the folder be listed, so its files are not known.",
    "unreadable_zip": "The archive cannot be opened, so its files are not known.",
    # books
    "few_delimiters": "The book has fewer quotes or dashes than the stage `dialogues_as_papers` asks for.",
    "few_dialogues": "The book has fewer dialogues for its length than the stage `dialogues_as_papers` asks for.",
    "few_double_delimiters": "Fewer paragraphs have two dashes than the stage `dialogues_as_papers` asks for.",
    "no_dialogue": "Nobody answers anybody in the book, as far as its quotes and dashes tell.",
    "no_dialogue_left": "All dialogues of the book have left later, each for a reason of its own.",
    "other_file_of_book": "The book has a better file, which was taken.",
    "verse": "The book is in verse, without speech that the stage `dialogues` could tell from it.",
    "strange_words": "The book's words are not those of the other books: old language, a dictionary, noise.",
    # lines
    "credit": "The line names who made or offers the subtitle.",
    "empty": "Nothing is left of the line without markup, dashes and names.",
    "music": "The line is sung.",
    "sound": "The line describes a sound.",
    # turns
    "after_removed_turn": "The turn follows one that left, where its dialogue ends.",
    "bad_start": "The turn begins with neither a letter, a digit nor a quotation mark.",
    "documentary": "The film is a documentary, in which people talk to the camera.",
    "few_letters": "Too few of the turn's characters are letters.",
    "previously_on": "The turn opens the summary of an earlier episode.",
    "repeats_previous": "The turn says what the turn before says.",
    "repetitive": "The turn says the same words again and again.",
    "single_turn": "The turn is all that is left of its dialogue.",
    "too_frequent": "The corpus says the same more often than the stage `cap` allows.",
    "too_long": "The line or turn is longer than its stage allows.",
    "too_short": "The turn is shorter than the stage `clean` allows.",
    # dialogues
    "duplicate_dialogue": "Another dialogue says the same, or nearly, and was kept.",
    "not_labelled": "The published labels have none for this dialogue.",
    "not_selected": "Other dialogues scored higher, and only as many stay as the stage `select` takes.",
    "rare_words": "Too many of the dialogue's words are rare in the corpus.",
    "text_differs": "The text is not the one that was labelled.",
    "unsure": "The dialogue is less sure than the stage `certainty`, in books `dialogues`, asks for.",
}
"""Code → meaning. The detail of a single file stands in `detail`."""


def meaning(reason: str) -> str:
    """Return what a reason means; a reader or a stage of another package may give one that is not known here."""
    return REASONS.get(reason, "A reason of another package's stage or reader, which it must explain itself.")
