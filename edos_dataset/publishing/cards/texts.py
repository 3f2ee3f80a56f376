"""What the cards of all data sets say in the same words: considerations, versions, citations, and what the columns
hold.
"""

from collections.abc import Sequence

from edos_dataset.version import __version__

COLUMNS = {
    "dialogue_id": (
        "`DOCUMENT#SENTENCE`: the file, and the number of the first sentence; the same on every machine and "
        "in every version"
    ),
    "document_id": "the file: `YEAR/IMDB/FILE` for OPUS, otherwise the relative path",
    "language": "code of the language",
    "source.kind": "`opus` (XML of OPUS) or `subtitle` (any other format)",
    "source.path": "path of the file in the folder or archive that it was read from",
    "source.imdb_id": "number of the film at IMDb, or null",
    "source.year": "year of the film, or null",
    "source.genres": "genres, where the file names them",
    "certainty": "how surely nothing is wrong with the dialogue, 0 to 1, or null",
    "expected_errors": "number of errors to expect: turns of two people, borders of one, borders of scenes; or null",
    "turns.text": "what one speaker says, one line, NFC",
    "turns.start": "seconds from the start of the film, or null",
    "turns.end": "likewise, where the turn ends",
    "turns.sentence_ids": "numbers of its sentences in the file, from 1",
    "turns.new_speaker": "how surely another person begins with it, 0 to 1, or null",
    "turns.one_speaker": "how surely one person says all of it, likewise",
    "turns.same_scene": "how surely the scene of the turn before goes on, likewise",
    "turns.label": "one of 41: 32 emotions, 8 response intents, neutral",
    "turns.confidence": "the model's probability of that label, 0 to 1",
    "turns.top": "the most probable labels, each with its probability",
    "turns.label_source": "the model that gave the label",
}
"""Columns and what lies in them, by path → what they hold."""

COLUMNS_OF_BOOKS = {
    "dialogue_id": "`DOCUMENT#PARAGRAPH`: the file, and the number of the paragraph in which the dialogue begins",
    "document_id": "the file",
    "language": COLUMNS["language"],
    "source.kind": "form of the file, such as `text`, `tei`, `html` or `epub`",
    "source.path": COLUMNS["source.path"],
    "source.title": "title of the book as the file says it, or null; as the next two",
    "source.author": "its author",
    "source.year": "year of the book",
    "turns.text": "what one character says, without quotes and dashes, NFC",
    "turns.sentence_ids": "numbers of the paragraphs of the book in which it stands, from 0",
    "turns.speaker": "who says it, where the book tells or a play names them, or null",
    "turns.narration": "what the narrator says between and after its quotes, or null",
    **{path: text for path, text in COLUMNS.items() if path.startswith(("turns.label", "turns.conf", "turns.top"))},
}
"""Likewise, of books."""

_CONSIDERATIONS = """\
**Who is in the data.** Characters of films and series, mostly invented, in the words of screenwriters and of those \
who subtitled them. Names of real persons
occur. Nobody in the data was asked, and nobody is described: a turn names no speaker. Nothing was collected from \
private talk.

**What is skewed.** Films show more conflict, crime and romance than life does, from the view of their time and of few \
countries. Slurs, threats and
stereotypes about gender, origin, faith and illness are in it as they were spoken; nothing offensive was filtered out.

**What could do harm.** A response model trained on it may repeat all that, and may sound caring without understanding \
anything, to people who take it for
help. A label is a guess at how a line sounds, by few people of English-speaking countries or by a model that learned \
from them; taken for what somebody
feels, it wrongs them.

**Meant for** research on dialogue and empathy: training and studying response models and classifiers, with their \
output measured and filtered; the study of
how emotions follow each other in scripted talk.

**Not meant for** judging real people (their mind, health, fitness, mood or intent, at work, at school, in court or by \
the police), counselling without a
professional, impersonating someone, or watching over anyone's messages."""

_BOOKS = """\
**Who is in the data.** Characters of novels, tales and plays, most of them written before 1930, in the words of their \
authors and translators. `speaker` names a character, not a person who could be asked.

**What is skewed.** The view of their time and of few countries: who speaks, of whom one speaks, and how. Slurs and \
stereotypes about gender, origin, faith and illness are in it as they were printed; nothing offensive was filtered out.

**What could do harm.** A response model trained on it speaks like an old novel, and may repeat all that. A label is a \
model's guess at how a line sounds; taken for what somebody feels, it wrongs them.

**Meant for** research on dialogue: training and studying response models, with their output measured and filtered; \
the study of speech in fiction.

**Not meant for** judging real people, counselling without a professional, impersonating someone, or watching over \
anyone's messages."""

_VERSIONS = """\
A published version is a git tag such as `v1.2.0`, and `load_dataset(..., revision="v1.2.0")` loads it for ever: a tag \
never moves. *Patch*: the same rows,
labels or card mended. *Minor*: rows added, or texts or splits changed. *Major*: rows removed, ids or columns changed. \
`DATA_CHANGELOG.md`, which
`edos publish` writes, counts what changed by config. Errors, and wishes of owners of the text to have it removed, \
belong in a discussion at the data set's
page; what is mended comes as a new version."""

EDOS_BIBTEX = """\
@inproceedings{welivita-etal-2021-large,
  title = "A Large-Scale Dataset for Empathetic Response Generation",
  author = "Welivita, Anuradha and Xie, Yubo and Pu, Pearl",
  booktitle = "Proceedings of the 2021 Conference on Empirical Methods in Natural Language Processing",
  year = "2021",
  pages = "1251--1264",
  doi = "10.18653/v1/2021.emnlp-main.96"
}"""
_RESPONSES = """\
@inproceedings{xie-pu-2021-empathetic,
  title = "Empathetic Dialog Generation with Fine-Grained Intents",
  author = "Xie, Yubo and Pu, Pearl",
  booktitle = "Proceedings of the 25th Conference on Computational Natural Language Learning",
  year = "2021"
}"""
_GUTENBERG = """\
@inproceedings{csaky-recski-2021-gutenberg,
  title = "The {G}utenberg Dialogue Dataset",
  author = "Csaky, Richard and Recski, G{\\'a}bor",
  booktitle = "Proceedings of the 16th Conference of the European Chapter of the Association for Computational \
Linguistics",
  year = "2021"
}"""
_OPUS = """\
@inproceedings{lison-tiedemann-2016-opensubtitles2016,
  title = "{O}pen{S}ubtitles2016: Extracting Large Parallel Corpora from Movie and {TV} Subtitles",
  author = "Lison, Pierre and Tiedemann, J{\\"o}rg",
  booktitle = "Proceedings of the Tenth International Conference on Language Resources and Evaluation (LREC'16)",
  year = "2016"
}"""


def closing(opus: bool) -> str:
    """Return the last sections of a data set's card: considerations, versions, citation.

    Args:
        opus: some of the data are from OPUS.
    """
    return (
        f"## Considerations\n\n{_CONSIDERATIONS}\n\n## Versions and upkeep\n\n{_VERSIONS}\n\n## "
        f"Cite\n\n{_citation(opus)}"
    )


def closing_of_books(labelled: bool) -> str:
    """Return the last sections of the card of books; `labelled`: some of the turns have labels."""
    return (
        f"## Considerations\n\n{_BOOKS}\n\n## Versions and upkeep\n\n{_VERSIONS}\n\n## "
        f"Cite\n\n{_bibtex([_GUTENBERG, *[EDOS_BIBTEX] * labelled])}"
    )


def _citation(opus: bool) -> str:
    """Return the BibTeX entries of the papers and of this package, as Markdown."""
    return _bibtex([EDOS_BIBTEX, _RESPONSES, *([_OPUS] if opus else [])])


def _bibtex(papers: Sequence[str]) -> str:
    """Return BibTeX entries and that of this package, as Markdown."""
    package = (
        '@software{edos-dataset,\n  title = "edos-dataset",\n  author = "{The edos-dataset developers}",\n'
        f'  version = "{__version__}",\n  note = "Turns subtitles into dialogues with emotions and response intents. '
        f'Apache-2.0"\n}}'
    )
    return "```bibtex\n" + "\n".join([*papers, package]) + "\n```"
