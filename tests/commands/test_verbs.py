"""The public functions: what a notebook sees of them, and in whose words they speak."""

import inspect
import io
import subprocess
import sys

import pytest

import edos_dataset
from command_line import edos
from edos_dataset.commands import progress
from edos_dataset.commands.options import Result, RunOptions, in_python, run_options

VERBS = sorted(
    {*edos_dataset.__all__}
    - {"LabelSet", "Pipeline", "Result", "RunOptions", "__version__", "crowd", "flat", "load", "load_label_set"}
    - {"map_pipeline", "stages"}
)


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    folder = tmp_path_factory.mktemp("verbs") / "films"
    edos_dataset.sample(folder)
    return folder


def run_python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_dir_shows_all_verbs_and_the_import_loads_none():
    assert set(edos_dataset.__all__) <= set(dir(edos_dataset))
    assert set(edos_dataset.crowd.VERBS) <= set(dir(edos_dataset.crowd))
    heavy = ("torch", "transformers", "datasets", "numpy", "pyarrow", "typer", "rich", "yaml")
    code = f"import sys, edos_dataset; dir(edos_dataset); print([name for name in {heavy} if name in sys.modules])"
    assert run_python(code).strip() == "[]"


@pytest.mark.parametrize("name", VERBS)
def test_every_verb_is_a_function_that_explains_itself(name):
    verb = getattr(edos_dataset, name)
    assert inspect.isfunction(verb) and verb.__name__ == name and inspect.getdoc(verb)


@pytest.mark.parametrize("name", edos_dataset.crowd.VERBS)
def test_every_verb_of_the_crowd_too(name):
    verb = getattr(edos_dataset.crowd, name)
    assert inspect.isfunction(verb) and verb.__name__ == name and inspect.getdoc(verb)


def test_what_is_no_verb():
    with pytest.raises(AttributeError, match="has no attribute 'curat'"):
        edos_dataset.curat  # noqa: B018
    with pytest.raises(AttributeError, match="has no attribute 'selekt'"):
        edos_dataset.crowd.selekt  # noqa: B018


def test_a_result_is_a_mapping_with_a_short_text_and_a_table(films, tmp_path):
    done = edos_dataset.curate(films / "srt", tmp_path / "ed<os", labels=False, progress=False)
    assert done["configs"] == done.manifest["configs"] and dict(done) == done
    assert repr(done).startswith(f"<curate → {tmp_path / 'ed<os'}; films: ") and len(repr(done)) < 300
    html = done._repr_html_()
    assert "ed&lt;os" in html and "<table>" in html and "os dialogues" in html
    assert done.load()["train"].num_rows == done["configs"]["os"]["splits"]["train"]


def test_a_dry_run_says_what_there_is_and_writes_nothing(films, tmp_path):
    guess = edos_dataset.curate(films, tmp_path / "edos", labels=False, dry_run=True)
    assert guess["films"] == 34 and guess["sentences"] > 2_000 and not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match="wrote no dataset"):
        guess.load()


def test_an_array_job_from_python_and_its_merge(films, tmp_path):
    given = {"labels": False, "settings": ["turns.scorer=rules"], "progress": False}
    whole = edos_dataset.curate(films / "vtt", tmp_path / "whole", **given)
    out = tmp_path / "array"
    for _ in range(6):
        for task in ("1/2", "2/2"):
            assert edos_dataset.curate(films / "vtt", out, shard=task, **given)["share"] == task
        try:
            merged = edos_dataset.curate(films / "vtt", out, shard="0/2", **given)
            break
        except Exception as error:
            assert type(error).__name__ == "Unfinished" and "edos curate" in str(error) and "--no-labels" in str(error)
    assert merged["configs"] == whole["configs"]


def test_a_pipeline_in_place_of_a_recipe(films, tmp_path):
    from edos_dataset.recipes.subtitles import subtitles_to_dialogues

    pipeline = tuple(subtitles_to_dialogues())
    done = edos_dataset.curate(films / "vtt", tmp_path / "edos", pipeline=pipeline, progress=False)
    assert set(done["configs"]) == {"os"}
    for name, value in {
        "top": 5,
        "recipe": "papers",
        "labels": False,
        "language": "de",
        "settings": ["cap.limit=1"],
    }.items():
        with pytest.raises(ValueError, match="a pipeline is given: change the pipeline instead"):
            edos_dataset.curate(films, tmp_path / "other", pipeline=pipeline, **{name: value})
    with pytest.raises(ValueError, match="^shard needs a recipe"):
        edos_dataset.curate(films, tmp_path / "other", pipeline=pipeline, shard="1/2")


def test_wrong_settings_are_named_as_the_caller_named_them(films, tmp_path):
    with pytest.raises(ValueError, match="top=5: labels=False leaves the stage 'select' out"):
        edos_dataset.curate(films, tmp_path / "edos", labels=False, top=5)
    done = edos("curate", films, "--out", tmp_path / "edos", "--no-labels", "--top", 5)
    assert "--top 5: --no-labels leaves the stage 'select' out" in done.stderr
    with pytest.raises(ValueError, match="unknown engine 'rey'; did you mean 'ray'"):
        edos_dataset.curate(films, tmp_path / "edos", labels=False, engine="rey")
    with pytest.raises(ValueError, match="give one of dialogues, pairs and labels"):
        edos_dataset.audit(tmp_path, dialogues=3, pairs=4)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("--top 5: --no-labels leaves it out", "top=5: labels=False leaves it out"),
        ("--set weak_label.top=5: no", "settings=['weak_label.top=5']: no"),
        ("--model fast: no", "model='fast': no"),
        ("give another --out, or --force to replace it", "give another out, or force=True to replace it"),
        ("give --out FILE", "give out=FILE"),
        ("--max-bad and --recipe are none of its settings", "--max-bad and --recipe are none of its settings"),
        ("mark--up --- is left", "mark--up --- is left"),
    ],
)
def test_options_in_python_words(message, expected):
    parameters = {"top": None, "labels": True, "settings": (), "model": None, "out": None, "force": False}
    assert in_python(message, parameters) == expected


def test_progress_is_shown_where_somebody_looks(monkeypatch, capsys):
    def shown(wanted):
        with progress.bars(wanted) as report:
            report("turns", 1, 1, 5, "turns")
        return capsys.readouterr().err

    assert shown(None) == "" == shown(False)
    assert shown(True) == "turns: 1 shard, 5 turns\n", "no bar where nothing can be overwritten"
    monkeypatch.setattr(progress, "_can_redraw", lambda: True)
    assert "1/1 shards" in shown(True)
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "ipykernel", io)
    monkeypatch.setattr(progress, "find_spec", lambda name: None)
    assert shown(None) == "turns: 1 shard, 5 turns\n"
    calls = []
    with progress.bars(lambda *values: calls.append(values)) as report:
        report("turns", 1, 1, 5, "turns")
    assert calls == [("turns", 1, 1, 5, "turns")]


def test_steps_and_warnings_outside_the_command_line(capsys):
    said = []
    with progress.steps(said.append) as say:
        say("first")
    with progress.steps(False) as say:
        say("second")
    assert said == ["first"] and capsys.readouterr().err == ""
    with pytest.warns(UserWarning, match="beware"):
        progress.warn("beware")


def test_options_of_a_run():
    with run_options(2, force=True, limit=3, progress=False) as options:
        assert options == RunOptions(2, "local", 3, False, True, options.progress, None, [])
    with pytest.raises(ValueError, match="'3/2' is no"), run_options(1, shard="3/2"):
        pass
    assert repr(Result("label", {})) == "<label>"
