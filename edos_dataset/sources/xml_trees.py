"""XML of strangers, parsed without entities, network or bombs."""

from lxml import etree

from edos_dataset.sources.parsed import ReadError

_FORBIDDEN = "<!ENTITY"


def parse_xml(text: str, root: str = "document") -> etree._Element:
    """Parse XML without entities, DTD, network or limits beyond those of libxml2.

    Args:
        text: the document without its XML declaration.
        root: name of the element that all of it lies in, by which one that ends early is told from a broken one.

    Raises:
        ReadError: with the reason forbidden_xml, truncated or malformed_xml.
    """
    # Before the parser sees it: libxml2 expands entities in attributes even where it is told to leave them alone.
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
        raise ReadError("truncated" if truncated else "malformed_xml", _what(error)) from error


def _what(error: etree.XMLSyntaxError) -> str:
    """Return where and what is wrong, in libxml2's name for it; its message would quote the file."""
    names = [entry.type_name for entry in error.error_log]  # type: ignore[attr-defined]
    name = names[-1].removeprefix("ERR_").replace("_", " ").lower() if names else "not XML"
    return f"line {error.lineno}, column {error.offset}: {name}"
