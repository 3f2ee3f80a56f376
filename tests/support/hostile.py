"""Values that no honest program writes, and texts in which one stands in place of another value."""

import copy
import json

DEEP = "[" * 3_000 + "]" * 3_000
HOSTILE = [
    *("1" + "0" * 400, "1e999", "NaN", "-Infinity", "-1", str(1 << 63), str(1 << 80), "null", "true", "1.5"),
    *('""', '"\\ud800"', '"\\u0000"', f'"{"9" * 5_000}"', '"nan"', '"1e999"', '"[/x]"'),
    *("[]", "{}", "[[]]", "[null]", '{"a": null}', "[1]", DEEP),
]


def replaced(example):
    """Yield the JSON of an example, once for each of its values and each hostile one."""
    for path in _spots(example):
        for value in HOSTILE:
            whole = _put(copy.deepcopy(example), path, "@@@")
            yield json.dumps(whole).replace('"@@@"', value)


def in_cells(row):
    """Yield a row of a table, once for each of its cells and each hostile value."""
    for name in row:
        for value in HOSTILE:
            yield row | {name: value.strip('"') if value.startswith('"') else value}


def check_refusal(error):
    """Assert that an error says in a sentence what is wrong, not what a library thought of it."""
    assert 0 < len(str(error)) < 4_000
    assert not isinstance(error, UnicodeError | json.JSONDecodeError), repr(error)


def _spots(value, path=()):
    yield path
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in members:
        yield from _spots(inner, (*path, key))


def _put(value, path, new):
    if not path:
        return new
    holder = value
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = new
    return value
