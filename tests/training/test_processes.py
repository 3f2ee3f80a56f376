"""Where the processes of a training compute."""

import pytest

from training import loop


@pytest.mark.parametrize(
    ("environment", "devices", "expected"),
    [
        ({}, False, False),  # a single process: accelerate finds the CPU by itself
        ({"LOCAL_RANK": "1"}, False, True),  # one of several, which accelerate leaves without a device
        ({"LOCAL_RANK": "1"}, True, False),
        ({"LOCAL_RANK": "1", "ACCELERATE_USE_CPU": "true"}, True, True),
        ({"ACCELERATE_USE_CPU": "1"}, True, True),
    ],
)
def test_several_processes_without_a_gpu_are_meant_for_the_cpu(environment, devices, expected, monkeypatch):
    for name in ("LOCAL_RANK", "ACCELERATE_USE_CPU"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(loop, "is_cuda_available", lambda: devices)
    assert loop.meant_for_cpu() == expected
