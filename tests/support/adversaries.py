"""Texts that are hard for a regular expression, made from its own structure; and whether time grows linearly with them.

An expression is slow where it may read one text in many ways and none of them ends well. So every part of it that may
come again is repeated, behind what leads to it, and something is put behind that no expression expects.
"""

import re
import signal
import time
from contextlib import contextmanager
from itertools import islice

try:
    from re import _constants as codes
    from re import _parser as parser
except ImportError:  # Python 3.10
    import sre_constants as codes
    import sre_parse as parser

SIZE = 2000  # characters of the first try
LARGEST = 16 * SIZE
SUSPICIOUS = 0.0005  # seconds of the first try from which on growth is measured
JUDGED = 0.03  # seconds from which on a time is more than noise
GROWTH = 3.0  # times the time that twice the text may take
PER_CHARACTER = 4e-6  # seconds, on a machine that steps through `_STEPS` characters in `_STEPS_TAKE` seconds
_STEPS, _STEPS_TAKE = 32_000, 0.004
TOO_LONG = 2.0  # seconds of the processor, after which a try is given up

SIGNS = " \n\t\"'&<>()[]{}*#-–.…:;,!?/\\@_^=♪aAIl19éßñ\u0301\u3000\0"
_CATEGORIES = {
    codes.CATEGORY_DIGIT: "1",
    codes.CATEGORY_SPACE: " \t",
    codes.CATEGORY_WORD: "aA1_",
    codes.CATEGORY_NOT_DIGIT: "a !",
    codes.CATEGORY_NOT_SPACE: "a!",
    codes.CATEGORY_NOT_WORD: "! &",
}
_REPEATS = tuple(
    getattr(codes, name) for name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT") if hasattr(codes, name)
)
_SLOWEST = 2  # texts of a first try whose growth is measured
_OFTEN, _MOST = 16, 16
_ENDS = ("\0", "a!\n")


class TooLong(Exception):
    """A try took more than `TOO_LONG`."""


def texts_against(pattern):
    """Yield functions from a size to a text that may be hard for a compiled pattern."""
    seen = set()
    for lead, again in _repeated(parser.parse(pattern.pattern, pattern.flags), [""]):
        for end in _ENDS:
            if again and (lead, again, end) not in seen:
                seen.add((lead, again, end))
                yield _grown(lead, again, end)
    yield from texts_of_signs()


def texts_of_signs():
    """Yield the same of single signs."""
    for sign in SIGNS:
        yield _grown("", sign, "\0")


def check_growth(run, texts, per_character=PER_CHARACTER, size=SIZE):
    """Return what is wrong with a function of a text, or None: that twice the text takes more than `GROWTH` times the
    time, or a character more than so many seconds.
    """
    slow = []
    for text in texts:
        try:
            seconds = _seconds(run, text(size))
        except TooLong:
            return f"{text(60)!r}, made {size:,} characters long, takes more than {TOO_LONG} s"
        if seconds > SUSPICIOUS:
            slow.append((seconds, text))
    for _, text in sorted(slow, key=lambda pair: -pair[0])[:_SLOWEST]:
        try:
            if fault := _growth(run, text, size, per_character):
                return fault
        except TooLong:
            return f"{text(60)!r} takes more than {TOO_LONG} s where it is made {LARGEST:,} characters long or less"
    return None


def _growth(run, text, size, per_character):
    number, seconds = size, _least(run, text(size))
    grew = 0  # doublings in a row that took too long; a single one may be where memory is asked for
    while number < LARGEST:
        before, number = seconds, 2 * number
        seconds = _least(run, text(number), 2)
        if seconds > GROWTH * before:  # noise? then it is less at another try
            seconds, before = min(seconds, _least(run, text(number))), min(before, _least(run, text(number // 2)))
        grew = grew + 1 if seconds > GROWTH * before else 0
        if seconds > JUDGED and grew >= 2:
            return f"{text(60)!r}: {number // 2:,} characters take {before:.4f} s, twice as many {seconds:.4f} s"
        if seconds > JUDGED and not grew:
            most = per_character * number * _slowness()
            return f"{text(60)!r}: {number:,} take {seconds:.4f} s, more than {most:.4f}" if seconds > most else None
    return None


def _slowness():
    """Return how many times longer than usual this machine takes just now, at least 1."""
    step = re.compile("(?s).")
    return max(1.0, _least(lambda text: sum(1 for _ in step.finditer(text)), "x" * _STEPS) / _STEPS_TAKE)


def _least(run, text, tries=3):
    return min(_seconds(run, text) for _ in range(tries))


def _seconds(run, text):
    with _at_most(TOO_LONG):
        begin = time.process_time()
        run(text)
        return time.process_time() - begin


@contextmanager
def _at_most(seconds):
    def give_up(*_):
        raise TooLong

    before = signal.signal(signal.SIGVTALRM, give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _grown(lead, again, end):
    return lambda size: lead + again * (size // len(again)) + end


def _repeated(items, leads):
    """Yield what leads to each part that may be repeated, and the part itself; and both as what is repeated."""
    for code, value in items:
        if code in _REPEATS:
            _, most, body = value
            if most >= _OFTEN:
                for lead in leads[:2]:
                    for again in _examples(body):
                        yield lead, again
                        yield "", lead + again
            yield from _repeated(body, leads)
        else:
            for part in _parts(code, value):
                yield from _repeated(part, leads)
        examples = _examples([(code, value)])
        leads = list(dict.fromkeys(lead + example for example in examples for lead in leads))[:_MOST]
    for lead in leads:
        yield "", lead


def _parts(code, value):
    if code is codes.SUBPATTERN:
        return [value[-1]]
    if code is codes.BRANCH:
        return value[1]
    if code in (codes.ASSERT, codes.ASSERT_NOT):
        return [value[1]]
    return [value] if code is getattr(codes, "ATOMIC_GROUP", None) else []


def _examples(items):
    """Return some texts that match, each alternative and each end of a range once."""
    texts = [""]
    for code, value in items:
        texts = _joined(texts, _examples_of(code, value))
    return texts


def _examples_of(code, value):
    if code is codes.LITERAL:
        return [chr(value)]
    if code in (codes.NOT_LITERAL, codes.ANY):
        return list(islice((sign for sign in "a !1" if value is None or ord(sign) != value), 2))
    if code is codes.IN:
        return _members(value)
    if code in _REPEATS:
        least, most, body = value
        examples = [example * max(least, 1) for example in _examples(body)]
        return examples + [""] if not least else examples
    if code in (codes.ASSERT, codes.ASSERT_NOT):
        return [""]
    examples = [example for part in _parts(code, value) for example in _examples(part)]
    return list(dict.fromkeys(examples))[:_MOST] or [""]


def _joined(heads, tails):
    number = min(max(len(heads), len(tails)), _MOST)
    joined = [heads[place % len(heads)] + tails[place % len(tails)] for place in range(number)]
    return list(dict.fromkeys(joined))


def _members(items):
    members = "".join(
        chr(value) if code is codes.LITERAL else chr(value[0]) if code is codes.RANGE else _CATEGORIES.get(value, "")
        for code, value in items
        if code is not codes.NEGATE
    )
    if items[0][0] is codes.NEGATE:
        refused = _one_of(items[1:])
        return [sign for sign in "a &1\"'<(" if not refused.match(sign)][:4] or ["\u0416"]
    return list(dict.fromkeys(members))[:8]


def _one_of(items):
    kinds = {codes.CATEGORY_DIGIT: r"\d", codes.CATEGORY_SPACE: r"\s", codes.CATEGORY_WORD: r"\w"}
    kinds |= {codes.CATEGORY_NOT_DIGIT: r"\D", codes.CATEGORY_NOT_SPACE: r"\S", codes.CATEGORY_NOT_WORD: r"\W"}
    parts = (
        re.escape(chr(value))
        if code is codes.LITERAL
        else f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
        if code is codes.RANGE
        else kinds[value]
        for code, value in items
    )
    return re.compile(f"[{''.join(parts)}]")
