import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edos_dataset.sources.paths import spell_out, spell_out_path

NAMES = {
    b"Film (2004) [720p] #1.srt": "Film (2004) [720p] #1.srt",
    "Café – 東京 😀.srt".encode(): "Café – 東京 😀.srt",
    b"The%20Film%2c.srt": "The%20Film%2c.srt",
    b"100%.srt": "100%.srt",
    b"caf\xe9.srt": "caf%E9.srt",
    b"caf%E9.srt": "caf%25E9.srt",  # literally so, and no other file
    b"caf%25E9.srt": "caf%2525E9.srt",
    b"%0A": "%250A",
    b"a\nb\x1b[2J.srt": "a%0Ab%1B[2J.srt",
    "exe\u202etrs.\u2028\u0085".encode(): "exe%E2%80%AEtrs.%E2%80%A8%C2%85",
    b"\xed\xa0\x80\xff": "%ED%A0%80%FF",
}


@pytest.mark.parametrize("name", NAMES)
def test_names(name: bytes) -> None:
    assert spell_out_path(os.fsdecode(name)) == NAMES[name]


PIECES = st.lists(st.sampled_from([b"%", b"2", b"5", b"E", b"9", b"\xe9", b"%25", b"%E9", b"\n", b"\xc3\xa9"]))


@given(PIECES, PIECES)
def test_no_two_names_become_one(one: list[bytes], other: list[bytes]) -> None:
    names = [os.fsdecode(b"".join(pieces)) for pieces in (one, other)]
    spelt = [spell_out_path(name) for name in names]
    assert (names[0] == names[1]) is (spelt[0] == spelt[1])


@given(st.binary(max_size=30))
def test_any_name_is_text_on_one_line(name: bytes) -> None:
    spelt = spell_out(name.decode("utf-8", "surrogateescape"))
    assert spelt.encode().decode() == spelt
    assert len(spelt.splitlines()) <= 1
