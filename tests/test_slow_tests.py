"""The tables of slow and of thorough tests name tests that exist."""

from pathlib import Path

from slow_tests import SLOW, THOROUGH, is_slow, is_thorough


def test_each_is_there():
    named = [name.partition("[")[0] for name in (*SLOW, *THOROUGH)]
    assert [name for name in named if not is_there(*name.partition("::")[::2])] == []


def is_there(place, test):
    path = Path(__file__).parent / place
    return path.exists() and (not test or f"def {test}(" in path.read_text(encoding="utf-8"))


def test_a_test_is_slow_by_its_name_its_file_or_its_folder():
    assert is_slow("commands/test_curate.py::test_anything[1]")
    assert is_slow("test_linear_time.py::TestAnything::test_anything")
    assert is_slow("sources/test_files.py::test_bombs_are_never_unpacked[zip]")
    assert not is_slow("sources/test_files.py::test_bombs_are_never_unpacked_by_halves")
    assert not is_slow("commands_of_mine/test_a.py::test_anything")


def test_a_test_is_thorough_by_its_name_its_case_or_its_file():
    assert is_thorough("stages/test_custom_steps.py::test_workers_and_engines_give_the_same_bytes[{'workers': 2}]")
    assert is_thorough("docs/test_examples.py::test_page[curate]")
    assert not is_thorough("docs/test_examples.py::test_page[report]")
    assert not is_thorough("docs/test_examples.py::test_page_of_mine[curate]")
