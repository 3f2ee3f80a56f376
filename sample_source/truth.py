"""The truth file: what a careful reader takes from each rendered file.

It comes from the screenplays and a list made by hand, and from nothing of the package.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sample_source.screenplay import Insert, Screenplay, Speech


@dataclass(frozen=True)
class BadTurn:
    """A turn written to be rejected: film, scene (from 1), how it begins and the reason code."""

    film: int
    scene: int
    text: str
    reason: str


@dataclass(frozen=True)
class Document:
    """A rendered file: `path` below films/, `member` where it lies in a zip, and what should become of it."""

    path: str
    member: str | None
    outcome: str
    film: int | None = None
    encoding: str | None = None

    @property
    def document(self) -> str:
        """Path below films/, with the member after the zip."""
        return f"{self.path}/{self.member}" if self.member else self.path

    @property
    def document_id(self) -> str:
        """YEAR/IMDB/FILE for OPUS files in their tree, otherwise the path from the folder films/ on."""
        if "xml/en/" not in self.document:
            return f"films/{self.document}"
        return "/".join(self.document.split("/")[-3:]).removesuffix(".gz").removesuffix(".xml")


def insert_reason(text: str) -> str:
    """Name the kind of an insert, by the conventions of the screenplays."""
    if text.startswith(("♪", "#")):
        return "music"
    if text.startswith(("[", "(")):
        return "sound"
    if text.startswith(("Subtitles", "Subtitled", "Synced", "Translated", "Captioned", "www.")):
        return "credit"
    return "empty" if text == "<i></i>" else "sign"


def film_turns(film: Screenplay) -> list[dict[str, Any]]:
    """List all turns of a film as written: scene (the dialogue), speaker, text."""
    return [
        {"scene": number, "speaker": item.speaker, "text": item.text}
        for number, scene in enumerate(film.scenes, 1)
        for item in scene
        if isinstance(item, Speech)
    ]


def turn_rejects(film: Screenplay, bad: Iterable[BadTurn]) -> list[dict[str, str]]:
    """List the turns that leave a film, with their reasons: the planned ones and those that they leave alone.

    A removed turn splits its dialogue; a part of one turn is removed, too.

    Raises:
        ValueError: a planned turn is not in its scene, so that plan and screenplay differ.
    """
    rejects = []
    for plan in bad:
        texts = [item.text for item in film.scenes[plan.scene - 1] if isinstance(item, Speech)]
        places = [place for place, text in enumerate(texts) if text.startswith(plan.text)]
        if not places:
            raise ValueError(f"film {plan.film}, scene {plan.scene}: no turn begins {plan.text!r}")
        place = places[-1]
        rejects.append({"text": texts[place], "reason": plan.reason})
        for alone in (texts[:place], texts[place + 1 :]):
            if len(alone) == 1:
                rejects.append({"text": alone[0], "reason": "single_turn"})
    return rejects


def insert_rejects(film: Screenplay) -> list[dict[str, str]]:
    """List the inserts of a film that are no dialogue, with reasons; a sign has none, as it may pass for speech."""
    inserts = [item.text for scene in film.scenes for item in scene if isinstance(item, Insert)]
    return [{"text": text, "reason": insert_reason(text)} for text in inserts if insert_reason(text) != "sign"]


def find_duplicates(films: dict[int, Screenplay], documents: list[Document]) -> list[dict[str, Any]]:
    """List the scenes whose speech stands word for word in more than one kept document."""
    found: dict[tuple[str, ...], list[str]] = {}
    for document in documents:
        if document.outcome == "kept" and document.film is not None:
            for scene in films[document.film].scenes:
                turns = tuple(item.text for item in scene if isinstance(item, Speech))
                found.setdefault(turns, []).append(document.document)
    return [
        {"documents": names, "turns": list(turns), "reason": "duplicate_dialogue"}
        for turns, names in found.items()
        if len(names) > 1
    ]


def build_truth(
    documents: list[Document],
    films: dict[int, Screenplay],
    bad: tuple[BadTurn, ...],
    detailed: Iterable[int],
    defects: dict[str, str],
) -> dict[str, Any]:
    """Return the content of truth.json.

    Args:
        documents: all rendered files.
        films: number to screenplay.
        bad: the planned bad turns.
        detailed: numbers of the films whose turns are listed.
        defects: planned defect to the document that shows it.
    """
    duplicates = find_duplicates(films, documents)
    listed: list[dict[str, Any]] = []
    rejects: list[dict[str, str]] = []
    for document in documents:
        if document.film is None or document.outcome != "kept":
            continue
        film, name = films[document.film], document.document
        found = turn_rejects(film, [plan for plan in bad if plan.film == film.number])
        if film.number in detailed:
            found += insert_rejects(film)
            facts = {"document": name, "document_id": document.document_id, "title": film.title}
            listed.append({**facts, "turns": film_turns(film)})
        rejects += [{"document": name, **reject} for reject in found]
    outcomes = [
        {
            "document": item.document,
            "document_id": item.document_id,
            "outcome": item.outcome,
            "encoding": item.encoding,
        }
        for item in documents
    ]
    return {"documents": outcomes, "films": listed, "rejects": rejects, "duplicates": duplicates, "defects": defects}
