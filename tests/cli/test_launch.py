"""`accelerate launch -m edos_dataset ...`: several processes, one result, one voice."""

import json
import os
import subprocess
import sys

DIALOGUES = [
    {"dialogue_id": str(number), "turns": ["I am so sorry.", "Why?", f"{number} dogs!"]} for number in range(9)
]


def launch(*arguments):
    """Carry out `edos` in two processes, as `accelerate launch` starts them."""
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    return subprocess.run(
        [*launcher, "-m", "edos_dataset", *map(str, arguments)],
        env={**os.environ, "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )


def test_two_processes_label_and_one_tells(tmp_path):
    source, out = tmp_path / "dialogues.jsonl", tmp_path / "labelled.jsonl"
    source.write_text("".join(json.dumps(dialogue) + "\n" for dialogue in DIALOGUES))
    done = launch("label", source, "--model", "fast", "--out", out)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("27 turns of 9 dialogues labelled by") and done.stdout.count("\n") == 1
    assert done.stderr.count("label  ") == 1
    labelled = [json.loads(line) for line in out.read_text().splitlines()]
    assert [dialogue["dialogue_id"] for dialogue in labelled] == [dialogue["dialogue_id"] for dialogue in DIALOGUES]
