"""The table of slow tests names tests that exist."""

from pathlib import Path

from slow_tests import SLOW, is_slow


def test_each_is_there():
    assert [name for name in SLOW if not is_there(*name.partition("::")[::2])] == []


def is_there(place, test):
    path = Path(__file__).parent / place
    return path.exists() and (not test or f"def {test}(" in path.read_text(encoding="utf-8"))


def test_a_test_is_slow_by_its_name_its_file_or_its_folder():
    assert is_slow("commands/test_curate.py::test_anything[1]")
    assert is_slow("test_linear_time.py::TestAnything::test_anything")
    assert is_slow("sources/test_files.py::test_bombs_are_never_unpacked[zip]")
    assert not is_slow("sources/test_files.py::test_bombs_are_never_unpacked_by_halves")
    assert not is_slow("commands_of_mine/test_a.py::test_anything")
