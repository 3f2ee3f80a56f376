"""`edos plan` as a user sees it."""

import json

import pytest

from command_line import edos


@pytest.fixture
def films(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert edos("sample", "films").exit_code == 0
    return tmp_path / "films"


@pytest.mark.slow
def test_plans_of_several_clusters_from_one_sample(films):
    options = ["--no-labels", "--sample", 3]
    both = ["--machines", "laptop", "--machines", "hundred-nodes"]
    done = edos("plan", "films/srt", *options, *both, "--sentences", "4_410_000", "--json")
    assert done.exit_code == 0, done.stderr
    laptop, nodes = json.loads(done.stdout)["plans"]
    hours = [next(row["hours"] for row in one["stages"] if row["stage"] == "turns") for one in (laptop, nodes)]
    assert hours[0] > 10 * hours[1] and laptop["total"]["money"] == 0 < nodes["total"]["money"]
    assert {path.name for path in films.parent.iterdir()} == {"films"}
    shown = edos("plan", "films/srt", *options)
    assert "is the bottleneck, on" in shown.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["films", "--machines", "lapptop"], "did you mean 'laptop'?"),
        (["films", "--machines", "mine.yaml"], "mine.yaml, machines 1: unknown key 'cors'; did you mean 'cores'?"),
        (["nowhere"], "nowhere"),
        (["films", "--set", "dialogues.gapp=3"], "did you mean 'gap'?"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_measured(films, words, told):
    (films.parent / "mine.yaml").write_text("machines: [{name: a, cors: 4, memory_gib: 8}]")
    done = edos("plan", *words)
    assert done.exit_code == 1 and told in done.stderr.replace("\n", " ") and "Traceback" not in done.stderr


def test_machines_of_any_speed_and_a_currency_in_brackets_are_shown(films):
    machine = "{name: '[/]', cores: 1000000, count: 1000000, memory_gib: 1000000000, speed: 1000000000, price: 1}"
    (films.parent / "mine.yaml").write_text(f"machines: [{machine}]\ncurrency: '[/b]'\n")
    words = ["films/srt", "--no-labels", "--sample", 1, "--machines", "mine.yaml", "--sentences", 1]
    done = edos("plan", *words)
    assert done.exit_code == 0, done.stderr
    assert "1000000 × [/]" in done.stdout and "[/b], " in done.stdout
