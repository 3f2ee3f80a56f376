"""Paths as text: the same on every machine, and fit for tables, lines of JSON and terminals.

A name on disk is bytes, in no encoding that one could rely on, and a member of an archive is called as its maker liked.
"""

import os
import re

# Control characters, marks that turn the direction of what is written behind them, breaks of lines, and single bytes
# that are no UTF-8, which Python has as surrogates.
_UNFIT = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_LIKE_AN_ESCAPE = re.compile(r"%(?=(?:25)*(?:[01][0-9A-F]|7F|[89A-F][0-9A-F]))")


def spell_out(name: str) -> str:
    """Return a name with `%E9` for each byte that is not UTF-8 or belongs to a control character.

    No two names become one: a "%" that could be taken for such an escape is itself written "%25". Ordinary names, also
    with "%20" in them, stay as they are.

    Args:
        name: text, with lone surrogates for bytes that are not UTF-8 (PEP 383).
    """
    if name.isascii() and name.isprintable() and "%" not in name:
        return name
    name = _LIKE_AN_ESCAPE.sub("%25", name)
    return _UNFIT.sub(
        lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogateescape")), name
    )


def spell_out_path(path: str) -> str:
    """Return a path of this machine spelt out, whatever the encoding of its file system is said to be."""
    return spell_out(os.fsencode(path).decode("utf-8", "surrogateescape"))
