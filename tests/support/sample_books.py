"""Invented books: short chapters of talk in the quotes of their language, inside the wrapping of Project Gutenberg."""

from random import Random

_HEADER = """The Project Gutenberg eBook of {title}

Title: {title}

Author: Nobody in Particular

Release date: January 1, 2020 [eBook #{number}]

Language: {language}

*** START OF THE PROJECT GUTENBERG EBOOK {capitals} ***




"""
_FOOTER = """



*** END OF THE PROJECT GUTENBERG EBOOK {capitals} ***

This is the licence, which is no part of the book.
"""

_TALK = {
    "en": ("“{}” said {}, “{}”", "“{}”"),
    "de": ("„{}“ sagte {}. „{}“", "„{}“"),
}
_CHAPTER = {"en": "CHAPTER", "de": "KAPITEL"}
_NARRATION = {
    "en": (
        "They walked along the {0} for a long while, past the mill and the old orchard, and neither of them looked up "
        "until the church clock struck {1}. Nothing was to be seen on the road but the dust, and the evening came down "
        "over the hills, slowly and without a sound, while the {0} lay quiet behind them in the valley."
    ),
    "de": (
        "Sie gingen lange an dem {0} entlang, vorbei an der Mühle und dem alten Garten, und keiner von beiden sah auf, "
        "bis die Uhr der Kirche {1} schlug. Auf der Straße war nichts zu sehen als der Staub, und der Abend kam über "
        "die Hügel, langsam und ohne einen Laut, während der {0} hinter ihnen im Tal lag."
    ),
}
_SEEN = {
    "en": "the a of and there by sea hills light tree road night morning bird stone water cold door old wood smoke "
    "snow it was under over behind with many few white green long way wind rain bridge house tower field cloud sheep",
    "de": "der die das und von am Meer Berge Licht Baum Weg Nacht Morgen Vogel Stein Wasser kalt Haus alt Holz Rauch "
    "es war unter hinter mit viele wenige grün lang Wind Regen Turm Feld Wolke Schafe Wagen Tal Tor",
}
_WORDS = {
    "en": (
        ("river", "wall", "canal", "field", "harbour", "garden"),
        ("three", "four", "five", "six", "seven", "nine"),
        ("Anna", "Peter", "Mary", "Paul"),
        ("Have you seen the", "I have lost my", "Do you still want the", "Nobody told me of the", "Where is our"),
        ("boat", "letter", "horse", "lamp", "key", "ring", "coat", "brother"),
        ("It was here this morning.", "You must ask the miller.", "I am so sorry!", "Never mind.", "How wonderful!"),
    ),
    "de": (
        ("Fluss", "Wall", "Kanal", "Acker", "Hafen", "Garten"),
        ("drei", "vier", "fünf", "sechs", "sieben", "neun"),
        ("Anna", "Peter", "Marie", "Paul"),
        ("Hast du das Boot gesehen und den", "Ich suche meinen", "Willst du noch den", "Keiner sprach von dem"),
        ("Brief", "Hut", "Schlüssel", "Ring", "Mantel", "Bruder", "Hund"),
        ("Heute früh war er noch da.", "Frag doch den Müller.", "Das tut mir so leid!", "Macht nichts."),
    ),
}


def book(number, language="en", chapters=40, wrapped=True):
    """Return a book as text; every number is another one.

    Args:
        number: from 0.
        language: "en" or "de".
        chapters: each has a dialogue of four utterances.
        wrapped: with header and licence.
    """
    places, hours, names, questions, things, answers = _WORDS[language]
    asked, plain = _TALK[language]

    def pick(words, step):
        return words[(number * 7 + step * (number + 3)) % len(words)]

    paragraphs, random = [], Random(number)
    for step in range(chapters):
        paragraphs.append(f"\n{_CHAPTER[language]} {step + 1}\n")
        own = " ".join(random.choices(_SEEN[language].split(), k=60))  # or all books would be one
        paragraphs.append(_NARRATION[language].format(pick(places, step), pick(hours, step)) + f" {own}.")
        for turn in range(4):
            at = step * 4 + turn
            question = f"{pick(questions, at)} {pick(things, at + turn)} {number} {at},"
            says = pick(answers, at + step)
            paragraphs.append(
                asked.format(question, pick(names, turn), says)
                if turn % 2
                else plain.format(says + " " + question[:-1] + ".")
            )
    title = f"The Sample Book Number {number}"
    body = f"{title.upper()}\n\n\n" + "\n\n".join(paragraphs) + "\n"
    if not wrapped:
        return body
    facts = {"title": title, "capitals": title.upper(), "number": 90_000 + number}
    facts["language"] = {"en": "English", "de": "German"}[language]
    return _HEADER.format(**facts) + body + _FOOTER.format(**facts)


PROSE = "There was nobody who spoke, and so the days went by over the {} without a word. "


def silent_book(number):
    """Return a book in which nobody speaks."""
    return "\n\n".join(PROSE.format(f"house number {number} and {at}") * 4 for at in range(60))


def write_books(folder, numbers, language="en"):
    """Write books, and one in which nobody speaks; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in numbers:
        (folder / f"pg{90_000 + number}.txt").write_text(book(number, language), "utf-8")
    (folder / "silent.txt").write_text(silent_book(1), "utf-8")
    return folder
