"""Steps of a user in whole runs: counted, resumed, in workers and engines, out of recipes, scripts and notebooks."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command_line import edos
from custom_steps import Broken, NoQuestions, Plain, Short, Wrong
from edos_dataset import stages
from edos_dataset.commands.curate import curate
from edos_dataset.recipes import recipe
from edos_dataset.recipes.subtitles import pipeline_of
from edos_dataset.runs.engines.local import LocalEngine
from edos_dataset.runs.fingerprints import class_hash, code_hash
from edos_dataset.runs.folder import FolderError
from edos_dataset.runs.manifest import read_manifest
from edos_dataset.sources.inventory import find_films
from sudden_death import untimed

FILMS = Path(__file__).parents[2] / "edos_dataset" / "sample" / "films"
SOURCES = [FILMS / "ass", FILMS / "vtt"]


PIPELINE = recipe(labels=False).insert_after("clean", NoQuestions(), Plain(), Short())


def make(out, pipeline=PIPELINE, **options):
    return curate(find_films(SOURCES, "en"), out, pipeline, shard_sentences=200, **options)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    out = tmp_path_factory.mktemp("made") / "edos"
    make(out, keep_rejects=True)
    return out


def entry(out, stage):
    [found] = [each for each in read_manifest(out)["stages"] if each["stage"] == stage]
    return found


def test_reasons_are_counted_as_ours(made):
    questions, short = entry(made, "no_questions"), entry(made, "short")
    assert questions["unit"] == "dialogues" and questions["rejected"].keys() == {"opens_with_question"}
    assert short["unit"] == "turns" and {"short", "single_turn"} >= short["rejected"].keys() > set()
    for found in (questions, short, entry(made, "plain")):
        assert found["read"] == found["kept"] + sum(found["rejected"].values())
    kept = stages.Batch(curated(made))
    assert kept.texts and max(map(len, kept.texts)) <= 60
    shown = edos("rejects", made, "--reason", "opens_with_question", "--json")
    assert shown.exit_code == 0 and json.loads(shown.stdout)["rejects"]


def curated(out):
    return pa.concat_tables([pq.read_table(path) for path in sorted((out / "os").glob("*.parquet"))])


def test_a_second_run_makes_nothing_and_another_parameter_is_another_run(made):
    assert make(made, keep_rejects=True)["shards"]["made_now"] == 0
    with pytest.raises(FolderError, match="short.most 60 → 30"):
        make(made, PIPELINE.set("short.most", 30), keep_rejects=True)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"workers": 2}, {"workers": 2, "engine": "datasets"}], ids=str)
def test_workers_and_engines_give_the_same_bytes(made, options, tmp_path):
    make(tmp_path / "edos", keep_rejects=True, **options)
    assert untimed(tmp_path / "edos") == untimed(made)


def test_a_recipe_names_a_step_by_its_class(made, tmp_path):
    text = PIPELINE.to_yaml()
    assert "- custom_steps:NoQuestions\n" in text and "- custom_steps:Short:\n    most: 60\n" in text
    (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")
    assert recipe(tmp_path / "mine.yaml") == PIPELINE == pipeline_of(tmp_path / "mine.yaml")
    make(tmp_path / "edos", recipe(tmp_path / "mine.yaml"), keep_rejects=True)
    assert untimed(tmp_path / "edos") == untimed(made)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (Broken, r"step 'broken' failed at dialogue '\S+': ZeroDivisionError: .*\(custom_steps.py, line \d+\)"),
        (Wrong, r"step 'wrong' returned 3 at dialogue '\S+': return True, False or a reason"),
    ],
)
def test_a_fault_of_a_step_is_one_message_of_the_command(step, message, tmp_path):
    (tmp_path / "mine.yaml").write_text(recipe(labels=False).insert_after("clean", step()).to_yaml())
    result = edos("curate", FILMS / "ass", "--recipe", tmp_path / "mine.yaml", "--out", tmp_path / "edos")
    assert result.exit_code == 1 and "Traceback" not in result.output
    assert re.search(message, " ".join(result.output.split()))


@pytest.mark.slow
def test_a_fault_in_a_worker_is_the_same_message(tmp_path):
    pipeline = recipe(labels=False).insert_after("clean", Broken())
    with pytest.raises(ValueError, match="step 'broken' failed at dialogue .*ZeroDivisionError"):
        make(tmp_path / "edos", pipeline, workers=2)


SCRIPT = """
import sys
from edos_dataset import recipe, stages
from edos_dataset.commands.curate import curate
from edos_dataset.sources.inventory import find_films
from pathlib import Path

LEAST = 10

def long_enough(dialogue):
    return len(dialogue) >= LEAST

class Long(stages.DialogueFilter):
    def keep(self, dialogue):
        return long_enough(dialogue)

def main(out, source, workers):
    pipeline = recipe(labels=False).insert_after("clean", Long())
    manifest = curate(find_films([Path(source)], "en"), Path(out), pipeline, workers=int(workers))
    print([each["rejected"] for each in manifest["stages"] if each["stage"] == "long"], manifest["shards"]["made_now"])
"""


def execute(python, tmp_path, arguments, script, notebook):
    """Run a script from its file, or, as a notebook does, from no file."""
    call = f"main(*{list(map(str, arguments))})"
    if notebook:
        command = [python, "-c", f"{script}\n{call}"]
    else:
        (tmp_path / "script.py").write_text(f'{script}\nif __name__ == "__main__":\n    {call}\n')
        command = [python, str(tmp_path / "script.py")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(command, capture_output=True, text=True, env=environment)


@pytest.mark.slow
def test_a_class_of_a_script_or_a_notebook(commands, tmp_path):
    python = commands / "python"
    script = execute(sys.executable, tmp_path, (tmp_path / "script", FILMS / "ass", 2), SCRIPT, False)
    typed = execute(python, tmp_path, (tmp_path / "typed", FILMS / "ass", 1), SCRIPT, True)
    assert typed.stdout == script.stdout and "{'long': " in script.stdout, script.stderr + typed.stderr
    again = execute(python, tmp_path, (tmp_path / "typed", FILMS / "ass", 1), SCRIPT, True)
    assert again.stdout.endswith(" 0\n"), again.stderr
    other = execute(
        python, tmp_path, (tmp_path / "typed", FILMS / "ass", 1), SCRIPT.replace("LEAST = 10", "LEAST = 9"), True
    )
    assert not other.stdout.endswith(" 0\n") and other.stdout, other.stderr
    refused = execute(python, tmp_path, (tmp_path / "refused", FILMS, 2), SCRIPT, True)
    assert "Long was defined in a notebook or console, and worker processes cannot import it" in refused.stderr


def test_a_class_within_a_function_is_for_one_process(tmp_path):
    class Local(stages.DialogueFilter):
        def keep(self, dialogue):
            return True

    with pytest.raises(ValueError, match="Local was defined within a function, .* or give workers=1"):
        list(LocalEngine(2).map(str, [Local()]))


def test_a_step_depends_on_what_it_imports_but_not_on_the_commands():
    assert class_hash(Short) != class_hash(stages.TurnFilter)
    assert code_hash(Short.__module__) != code_hash("edos_dataset.stages.step")
