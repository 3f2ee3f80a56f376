"""Which results are equal on processors with other kernels of numpy, BLAS and torch.

    python evaluation/processors.py --films FILMS

`edos curate` is run with this machine's kernels and with each older set of kernels that the libraries can select, and
the published rows are compared. Writes evaluation/processors.json.
"""

import argparse
import json
import os
import subprocess
import sys
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.machine import describe_machine
from edos_dataset.runs.folder import config_files
from edos_dataset.runs.shards import digest, read_shard, write_text

KERNELS = {
    "native": {},
    "AVX2": {
        "OPENBLAS_CORETYPE": "Haswell",
        "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL",
    },
    "SSE4": {
        "OPENBLAS_CORETYPE": "Nehalem",
        "ATEN_CPU_CAPABILITY": "default",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL",
    },
}
TIERS = {"fast": ("fast", "fast"), "linear": ("linear-weak", "linear-dialogue"), "fine-tuned": ("weak", "general")}


def curate(films: Path, out: Path, models: tuple[str, str], kernels: dict[str, str]) -> None:
    """Run the command in a process that uses these kernels."""
    command = [sys.executable, "-m", "edos_dataset", "curate", str(films), "--out", str(out), "--workers", "1"]
    named = ["--weak-model", models[0], "--model", models[1], "--json"]
    subprocess.run([*command, *named], check=True, stdout=subprocess.DEVNULL, env={**os.environ, **kernels})


def turns_of(run: Path, config: str) -> tuple[list[str], pa.StructArray]:
    """Return the digests of a config's files, and all its turns."""
    paths = [path for files in config_files(run, config).values() for path in files]
    turns = pa.concat_arrays([pc.list_flatten(read_shard(path)["turns"]).combine_chunks() for path in paths])
    return [digest(path) for path in paths], turns


def compare(one: Path, other: Path) -> dict[str, dict[str, object]]:
    """Return for each config whether the bytes are equal, and how much labels and probabilities differ."""
    found: dict[str, dict[str, object]] = {}
    for config in ("os", "edos_initial", "edos"):
        (mine, turns), (theirs, others) = turns_of(one, config), turns_of(other, config)
        found[config] = {
            "turns": len(turns),
            "same_bytes": mine == theirs,
            "same_texts": turns.field("text").equals(others.field("text")),
        }
        if config != "os" and len(turns) == len(others):
            labels = [part.field("label").to_numpy() for part in (turns, others)]
            sure = [part.field("confidence").to_numpy() for part in (turns, others)]
            found[config] |= {
                "other_labels": int((labels[0] != labels[1]).sum()),
                "largest_difference": float(np.abs(sure[0] - sure[1]).max()),
            }
    return found


def main() -> None:
    """Run all and write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--films", type=Path, required=True, help="folder of subtitles")
    parser.add_argument("--tiers", nargs="*", choices=list(TIERS), default=list(TIERS))
    arguments = parser.parse_args()
    result: dict[str, object] = {"date": date.today().isoformat(), "machine": describe_machine()}
    with TemporaryDirectory() as folder:
        for tier in arguments.tiers:
            runs = {name: Path(folder) / f"{tier}-{name}" for name in KERNELS}
            for name, kernels in KERNELS.items():
                curate(arguments.films, runs[name], TIERS[tier], kernels)
            result[tier] = {name: compare(runs["native"], runs[name]) for name in KERNELS if name != "native"}
    write_text(Path(__file__).with_suffix(".json"), json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
