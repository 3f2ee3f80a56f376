"""The script of docs/guides/slurm.md that launches over nodes, with stand-ins for Slurm: two on this machine."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from command_line import edos
from doc_examples import blocks_of

pytestmark = pytest.mark.slow
PAGE = Path(__file__).parents[2] / "docs" / "guides" / "slurm.md"
PROGRAMS = {
    "scontrol": 'echo 127.0.0.1; [ "$3" = "one,two" ] && echo other',
    "srun": 'for SLURM_NODEID in 0 1; do export SLURM_NODEID; "$@" & done; wait %1 && wait %2',
}
TURNS = ["I am so sorry.", "Why?", "My dog died last night."]


def test_the_launch_over_nodes(tmp_path, commands):
    [script] = [block.text for block in blocks_of(PAGE.read_text("utf-8")) if block.file == "launch.sbatch"]
    (tmp_path / "launch.sbatch").write_text(script.replace(" label ", " label --model fast "))
    for name, does in PROGRAMS.items():
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/bash\n{does}\n")
        program.chmod(0o755)
    lines = [json.dumps({"dialogue_id": str(number), "turns": [*TURNS, str(number)]}) for number in range(600)]
    (tmp_path / "dialogues.jsonl").write_text("\n".join(lines))
    slurm = {"SLURM_JOB_NODELIST": "one,two", "SLURM_JOB_ID": str(os.getpid()), "SLURM_NNODES": "2"}
    slurm |= {"ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(PAGE.parents[2])}
    path = os.pathsep.join([str(tmp_path / "bin"), str(commands), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "launch.sbatch"],
        cwd=tmp_path,
        env={**os.environ, **slurm, "PATH": path},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2,400 turns of 600 dialogues labelled by") and done.stdout.count("\n") == 1
    one = tmp_path / "one.jsonl"
    assert edos("label", tmp_path / "dialogues.jsonl", "--model", "fast", "--out", one, "--workers", 1).exit_code == 0
    assert (tmp_path / "labelled.jsonl").read_bytes() == one.read_bytes()
