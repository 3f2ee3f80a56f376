"""Final Draft's XML (.fdx)."""

from lxml import etree

from edos_dataset.sources.parsed import ReadError
from edos_dataset.sources.scripts.speeches import Script, cue_of
from edos_dataset.sources.xml_trees import parse_xml, without_declaration

ROOT = "FinalDraft"
_OF_SCENE = ("Scene Heading", "New Act", "Act Heading", "Sequence Heading")
_SPOKEN = ("Dialogue", "Singing", "Lyrics")
_NOTE = "Parenthetical"
_END = ("End", "END")
"""What follows the last paragraph, so that a speech before it ends."""
_DEEPEST = 2_000


def read_fdx_text(text: str) -> Script:
    """Return the speeches of a screenplay of Final Draft.

    A paragraph may have its text in several runs, and a dual dialogue its paragraphs inside one; notes, summaries of
    scenes and title pages are not part of the text.

    Raises:
        ReadError: with the reason malformed_xml, truncated, forbidden_xml or not_a_script.
    """
    root = parse_xml(without_declaration(text.lstrip("\ufeff \t\r\n")), ROOT)
    content = root.find("Content")
    if root.tag != ROOT or content is None:
        raise ReadError("not_a_script", f"XML of <{str(root.tag)[:40]}>, not of Final Draft (<{ROOT}> with <Content>)")
    script, name, said = Script(), "", []
    for kind, written in [*_paragraphs(content), _END]:
        if name and kind in (*_SPOKEN, _NOTE):
            said.append(f"({written})" if kind == _NOTE and not written.startswith("(") else written)
        elif written:
            if name and said:
                script.add(cue_of(name), said)
            name, said = (written if kind == "Character" else ""), []
            if kind in _OF_SCENE:
                script.new_scene()
    return script


def _paragraphs(content: etree._Element) -> list[tuple[str, str]]:
    """Return type and text of each paragraph, in order, those of dual dialogues included."""
    found: list[tuple[str, str]] = []
    waiting = [iter(content)]
    while waiting:
        element = next(waiting[-1], None)
        if element is None:
            waiting.pop()
            continue
        dual = element.find("DualDialogue") if element.tag == "Paragraph" else None
        if dual is not None and len(waiting) < _DEEPEST:
            waiting.append(iter(dual))
        elif element.tag == "Paragraph":
            text = "".join("".join(_own_text(run)) for run in element.iterchildren("Text"))
            found.append((element.get("Type", "Action"), " ".join(text.split())))
    return found


def _own_text(run: etree._Element) -> list[str]:
    return [run.text or "", *(child.tail or "" for child in run)]
