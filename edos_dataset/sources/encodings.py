"""From bytes to text."""


def decode(data: bytes, declared: str | None = None, language: str | None = None) -> tuple[str, str, float]:
    """Return the text, the name of the encoding and a confidence of 0 to 1."""
    try:
        return data.decode("utf-8-sig"), "utf-8", 1.0
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace"), "cp1252", 0.5
