import json

import pytest
from typer.testing import CliRunner

from edos_dataset.cli.app import app
from reported_folder import dialogues, write_folder


@pytest.fixture
def folder(tmp_path):
    return write_folder(tmp_path / "mine", {"train": dialogues(30)})


def test_sizes_divergences_and_where_the_page_is(folder, tmp_path):
    out = tmp_path / "r.html"
    done = CliRunner().invoke(
        app, ["report", str(folder), "--against", str(folder), "--out", str(out), "--no-pictures"]
    )
    assert done.exit_code == 0, done.output
    assert "0.0000" in done.output and "r.json" in done.output and out.is_file()
    again = CliRunner().invoke(app, ["report", str(folder), "--out", str(out), "--force", "--no-pictures", "--json"])
    assert json.loads(again.stdout)["data"][0]["sizes"]["dialogues"] == 30


def test_what_cannot_be_read_is_told_without_a_traceback(folder, tmp_path):
    (tmp_path / "mine" / "edos" / "train-00000-of-00001.parquet").write_bytes(b"PAR1 broken")
    done = CliRunner().invoke(app, ["report", str(folder), "--out", str(tmp_path / "r.html")])
    assert done.exit_code == 1 and "is not a complete Parquet file" in done.output.replace("\n", " ")
    assert not (tmp_path / "r.html").exists()


def test_a_known_name_is_answered_in_words_of_the_command_line(folder, tmp_path, monkeypatch):
    monkeypatch.delenv("EDOS_DATA_DIR", raising=False)
    for name, told in (("empathetic_dialogues", "--data FOLDER"), ("emphatetic_dialogue", "did you mean 'empathetic_")):
        asked = ["report", str(folder), "--against", name, "--out", str(tmp_path / "r.html")]
        done = CliRunner().invoke(app, asked)
        assert done.exit_code == 1 and told in done.output.replace("\n", " ")
