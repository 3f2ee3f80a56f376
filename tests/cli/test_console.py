"""What is printed, and by which process."""

import io
import json
import re

import pytest
from rich.console import Console

from command_line import edos
from edos_dataset.cli.console import NOTHING, THEME, Ended, check_any, emit, indented, load_call, say, styled
from edos_dataset.cli.data_table import Table
from edos_dataset.commands import progress as progress_shown
from edos_dataset.commands.progress import bars, file_bars, steps


def test_json_is_printed_alone(capsys):
    def tables():
        raise AssertionError("made for nobody")
        yield

    emit({"größe": [1]}, True, tables())
    assert capsys.readouterr().out == '{\n "größe": [\n  1\n ]\n}\n'
    emit({}, False, [styled(("a table", "bold"))])
    assert capsys.readouterr().out == "a table\n"


def test_lines_stay_whole_and_as_they_are(capsys):
    long = "films:smile:/" + "x" * 300
    say([long], stderr=True)
    assert capsys.readouterr().err == f"{long}\n"


def test_load_call(capsys):
    say([load_call("films [1]", "os")])
    assert capsys.readouterr().out == 'from datasets import load_dataset; ds = load_dataset("films [1]", "os")\n'


def test_brackets_in_data_are_no_markup(capsys):
    """In lines, cells, headings and titles: "[/]" closes nothing, and "[bold]" is a word."""
    data = "[/][b]x[/b]"
    table = Table(data, title=data)
    table.add_column(data)
    table.add_row(data, data)
    say([data, styled((data, "green"), data), table])
    shown = capsys.readouterr().out
    assert shown.count(data) == 8


@pytest.mark.parametrize(("rank", "prints"), [(None, True), ("0", True), ("1", False)])
def test_only_the_first_process_of_a_launcher_prints(rank, prints, monkeypatch, tmp_path):
    monkeypatch.delenv("RANK", raising=False)
    if rank is not None:
        monkeypatch.setenv("RANK", rank)
    printed = edos("recipe")
    copied = edos("sample", tmp_path / "films")
    assert (printed.exit_code, copied.exit_code) == (0, 0)
    assert bool(printed.stdout) is bool(copied.stdout) is prints
    failed = edos("inspect", tmp_path)
    assert failed.exit_code == 1 and "was not written by this package" in failed.stderr, "every process prints an error"


@pytest.mark.parametrize(("rank", "prints"), [("0", True), ("1", False)])
def test_only_the_first_process_of_a_launcher_shows_progress(rank, prints, monkeypatch, capsys):
    monkeypatch.setenv("RANK", rank)
    monkeypatch.setattr(progress_shown, "_can_redraw", lambda: True)
    with bars(True) as progress:
        progress("label", 1, 2, 40, "turns")
        progress("label", 2, 2, 80, "turns")
    shown = capsys.readouterr().err
    assert all((word in shown) is prints for word in ("label", "2/2 shards", "80 turns, ")), "a bar says what it counts"


def test_a_result_of_a_follower_is_printed_by_none(monkeypatch, tmp_path):
    """JSON too, on which others rely: two objects are no JSON."""
    edos("sample", tmp_path / "films")
    arguments = [
        "curate",
        tmp_path / "films",
        "--out",
        tmp_path / "edos",
        "--no-labels",
        "--dry-run",
        "--json",
    ]
    assert json.loads(edos(*arguments).stdout)["films"] == 34
    monkeypatch.setenv("RANK", "3")
    assert edos(*arguments).stdout == ""


def test_untrusted_text_controls_no_terminal(monkeypatch, capsys):
    """In tables, too, while the colours are rich's own."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    table = Table("pa\x1b[2Jth")
    table.add_row("\x1b]0;title\x07 \u202e\x9b1m")
    say([table, styled(("\x1b[31mred", "green"), "\nnext")])
    shown = capsys.readouterr().out
    assert (
        r"\x1b[2J" in shown
        and r"\x1b]0;title" in shown
        and r"\u202e\x9b1m" in shown
        and "red" in shown
        and "\nnext" in shown
    )
    assert not set(shown) & {"\x07", "\u202e", "\x9b"}
    assert not re.findall(r"\x1b(?!\[[\d;]*m)|\x1b\[31m", shown), "nothing but colours, and not those of others"


def test_tables_are_narrow_and_plain_in_pipes(monkeypatch, capsys):
    wide = Table(*"abc")
    wide.add_row(*(styled(("word " * 20, "red")) for _ in "abc"))
    say([wide])
    plain = capsys.readouterr().out
    assert "\x1b" not in plain and max(map(len, plain.splitlines())) <= 100
    monkeypatch.setenv("FORCE_COLOR", "1")
    say([wide])
    assert "\x1b[31m" in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    say([wide])
    assert "\x1b[31m" not in capsys.readouterr().out


def test_downloads_in_pipes_are_a_line_a_file(capsys):
    with file_bars(True) as report:
        report("a.zip", 1, 3)
        report("a.zip", 3, 3)
    assert capsys.readouterr().err == "a.zip: 3 bytes\n"


@pytest.mark.parametrize("where", ["before", "behind"])
def test_quiet_is_results_and_errors_alone(where, tmp_path):
    edos("sample", tmp_path / "films")
    command = ["segment", tmp_path / "films" / "vtt", "--out", tmp_path / "turns.jsonl", "--workers", 1]
    loud = edos(*command)
    (tmp_path / "turns.jsonl").unlink()
    quiet = edos("--quiet", *command) if where == "before" else edos(*command, "-q")
    assert loud.stdout == quiet.stdout and loud.stderr == quiet.stderr == "", "no bars where nobody looks"
    (tmp_path / "turns.jsonl").unlink()
    verbose = edos(*command, "-v")
    lines = verbose.stderr.splitlines()
    assert verbose.stdout == loud.stdout and "mark: 3 shards, 3 files" in lines
    assert "\x1b" not in verbose.output and "━" not in verbose.output
    failed = edos("inspect", tmp_path, "--quiet")
    assert failed.exit_code == 1 and "not written by this package" in failed.stderr


def test_verbose_shows_the_traceback_of_an_error_beside_its_message(tmp_path):
    plain, verbose = edos("inspect", tmp_path), edos("inspect", tmp_path, "--verbose")
    assert plain.exit_code == verbose.exit_code == 1
    assert "Traceback" not in plain.stderr and "Traceback" in verbose.stderr
    assert verbose.stderr.endswith(plain.stderr)
    assert "Traceback" not in edos("inspect", tmp_path).stderr, "it lasts for a command"


def test_both_are_wrong_usage():
    assert edos("recipe", "-q", "-v").exit_code == 2


def test_what_stands_behind_two_dashes_is_no_option(tmp_path):
    (tmp_path / "--quiet").mkdir()
    assert "there is no folder --quiet: give" in edos("inspect", "--", "--quiet").stderr


def test_steps_are_shown_in_a_terminal_or_in_lines(capsys):
    for lines in (True, False):
        with steps(True, "first", lines) as say:
            say("wri\x1bting [red]")
        assert capsys.readouterr().err == ("wri\\x1bting [red]\n" if lines else "")


def test_nothing_came_out_names_the_likely_remedy():
    check_any(1, "dialogues", {})
    read = {"stage": "read", "read": 2, "tally": {"bad times": 0, "other language: hu": 2}}
    with pytest.raises(Ended, match="2 of 2 files look Hungarian: --language hu") as caught:
        check_any(0, "dialogues", {"stages": [read]})
    assert caught.value.code == NOTHING
    with pytest.raises(Ended, match="edos rejects"):
        check_any(0, "dialogues", {"stages": [{"stage": "read", "read": 2, "tally": {}}]})


def test_lines_are_wrapped_at_words_and_indented_in_a_terminal():
    console = Console(width=50, force_terminal=True, theme=THEME)
    text = "You're crying. I haven't seen you cry since I was six."
    turn = styled("  ", ("          sad", "emotion"), " ", ("0.66", "dim"), "  ", text)
    first, *more = indented(turn, console).plain.split("\n")
    assert first.startswith("            sad 0.66  You") and more
    assert all(line.startswith(" " * 22) and line[22] != " " and len(line) <= 50 for line in more)
    assert indented(styled("could not be read: " + "word " * 20), console).plain.split("\n")[1].startswith("  word")


def test_a_table_that_does_not_fit_goes_on_below_and_cuts_no_word():
    console = Console(width=80)
    heads = ["label", *(f"dialogues of {place}" for place in range(12))]
    table = Table(*heads, title="[all]")
    table.add_row("apprehensive", *("12,345,678" for _ in heads[1:]))
    with console.capture() as shown:
        console.print(table)
    lines = shown.get().splitlines()
    assert max(map(len, lines)) <= 80 and shown.get().count("[all]") == 1
    rows = [line for line in lines if "apprehensive" in line]
    assert len(rows) == 3 and sum(row.count("12,345,678") for row in rows) == 12
    small = Table("a", "b")
    small.add_row("word " * 30, "1")
    with console.capture() as shown:
        console.print(small)
    assert max(map(len, shown.get().splitlines())) == 80 and shown.get().count("word") == 30


def test_help_has_groups_and_no_column_of_types():
    assert "Look at it" in edos("--help").stdout
    assert "<path>" not in edos("sample", "--help").stdout and "<bool>" not in edos("inspect", "--help").stdout


def test_help_leaves_the_texts_half_of_a_terminal_of_80_columns_and_cuts_no_name(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERMINAL_WIDTH", "80")
    lines = edos("books", "--help").stdout.splitlines()
    assert not any("…" in line for line in lines) and max(map(len, lines)) <= 80
    assert any("--labels / --no-labels" in line for line in lines)
    assert any("--history" in line for line in lines) and "(0<=x<=1000)" in " ".join(lines)
    assert max(len(re.split(r"\s{3,}", line.strip("│ "))[-1]) for line in lines if line.startswith("│  ")) >= 36
    assert "--history" in edos("books", "--history", "-1").stderr, "the options themselves are as they were"


def test_what_is_announced_is_for_terminals(capsys, monkeypatch):
    progress_shown.announce(None, "loading")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(progress_shown.sys.stderr, "isatty", lambda: True, raising=False)
    progress_shown.announce(None, "reading 3 files")
    progress_shown.announce(False, "hidden")
    assert capsys.readouterr().err == "reading 3 files\n"


def test_every_part_of_a_wide_table_names_its_rows():
    """The phase alone, which is shown once for all its stages, would not tell them apart."""
    table = Table(*("phase", "stage", *(f"figure{number}" for number in range(6))), keys=2)
    table.add_row("01-a", "read", *["12,345 lines"] * 6)
    table.add_row("", "clean", *["67,890 turns"] * 6)
    shown = io.StringIO()
    Console(file=shown, width=60).print(table)
    parts = shown.getvalue().count("phase")
    assert parts > 1 and shown.getvalue().count("clean") == shown.getvalue().count("stage") == parts
    assert all(f"figure{number}" in shown.getvalue() for number in range(6))


@pytest.mark.parametrize("command", ["labels-only", "rejects"])
def test_a_command_that_loads_for_seconds_first_says_that_it_starts(command, tmp_path, monkeypatch):
    said = []  # in terminals only
    monkeypatch.setattr("edos_dataset.cli.flags.announce", lambda _, text: said.append(text))
    edos(command, tmp_path / "missing", *(["--out", tmp_path / "out"] if command == "labels-only" else []))
    assert said == [f"edos {command}: starting"]
