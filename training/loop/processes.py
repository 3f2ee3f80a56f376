"""The processes of a training: their threads, their precision, and how they find each other."""

import os
from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.utils import is_cuda_available, is_npu_available, is_xpu_available

from edos_dataset.runs.engines.base import available_cores


def start_processes(precision: str, out: Path, threads: int | None = None, processes: int | None = None) -> Accelerator:
    """Join the other processes of this training, if there are any.

    Args:
        precision: of the forward pass: "no", "bf16", "fp16", or "auto" (`precision_of`).
        out: the model's folder, beside whose log TensorBoard's files go.
        threads: of this process; by default the processors, shared among the processes of this machine.
        processes: refuse to run with another number of processes.

    Raises:
        ValueError: another number of processes runs.
    """
    # accelerate launch leaves every process one thread (OMP_NUM_THREADS=1), also the only one.
    torch.set_num_threads(threads or max(1, available_cores() // int(os.environ.get("LOCAL_WORLD_SIZE", "1"))))
    on_cpu = meant_for_cpu()
    accelerator = Accelerator(
        mixed_precision=precision_of(precision, on_cpu), cpu=on_cpu, log_with="tensorboard", project_dir=str(out)
    )
    if processes and accelerator.num_processes != processes:
        raise ValueError(
            f"{accelerator.num_processes} processes run, not {processes}: check how accelerate launch is configured"
        )
    return accelerator


def meant_for_cpu() -> bool:
    """Tell whether to compute on the CPU: asked for by the variable of accelerate, or one of the processes of a launch
    on a machine with nothing else.

    accelerate tells a single process `use_cpu`, but not several (`recipes/two_cpu_processes.yaml`); and left to itself
    each of these finds no device, and takes itself for the only one. A GPU, accelerate finds by itself.
    """
    if os.environ.get("ACCELERATE_USE_CPU", "").lower() in ("1", "true", "yes"):
        return True
    return "LOCAL_RANK" in os.environ and not (is_cuda_available() or is_xpu_available() or is_npu_available())


def precision_of(wanted: str, on_cpu: bool = False) -> str:
    """Return the precision of the forward pass; "auto" is bf16 where processors or GPU multiply in it."""
    if wanted != "auto":
        return wanted
    if torch.cuda.is_available() and not on_cpu:
        return "bf16" if torch.cuda.is_bf16_supported() else "no"
    capable = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return "bf16" if capable else "no"
