"""Untrusted XML, parsed without entities, network access or expansion bombs."""

import re

from lxml import etree

from edos_dataset.sources.parsed import ReadError

_DECLARATION = re.compile(r"\s*<\?xml[^>]*\?>")
_DECLARED = re.compile(rb"""\s*<\?xml[^>]*?encoding\s*=\s*["']([A-Za-z0-9._-]+)["']""")
_FORBIDDEN = "<!ENTITY"


def declared_in_xml(data: bytes) -> str | None:
    """Return the encoding stated in the XML declaration of a file, or null."""
    declared = _DECLARED.match(data[:1000])
    return declared[1].decode() if declared else None


def without_declaration(text: str) -> str:
    """Return a document without its XML declaration."""
    found = _DECLARATION.match(text)
    return text[found.end() :] if found else text


def parse_xml(text: str, root: str = "document") -> etree._Element:
    """Parse XML without entities, DTD, network or limits beyond those of libxml2.

    Args:
        text: the document without its XML declaration.
        root: name of the root element; used to distinguish a truncated file from a broken one.

    Raises:
        ReadError: with the reason forbidden_xml, truncated or malformed_xml.
    """
    # Checked before parsing: libxml2 expands entities in attributes even when asked not to.
    if _FORBIDDEN in text:
        line = text.count("\n", 0, text.index(_FORBIDDEN)) + 1
        raise ReadError(
            "forbidden_xml",
            f"line {line}: declares an entity, which no subtitle or book needs; remove the DTD if you trust the file",
        )
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, dtd_validation=False, huge_tree=False, encoding="utf-8"
    )
    try:
        return etree.fromstring(text.encode("utf-8", "surrogatepass"), parser)
    except etree.XMLSyntaxError as error:
        truncated = f"<{root}" in text and f"</{root}" not in text
        raise ReadError("truncated" if truncated else "malformed_xml", _place_and_fault(error)) from error


def _place_and_fault(error: etree.XMLSyntaxError) -> str:
    """Return the position and libxml2's name of the fault; its full message would quote the file."""
    names = [entry.type_name for entry in error.error_log]  # type: ignore[attr-defined]
    name = names[-1].removeprefix("ERR_").replace("_", " ").lower() if names else "not XML"
    return f"line {error.lineno}, column {error.offset}: {name}"
