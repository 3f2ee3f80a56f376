"""Python processes without the seconds that imports take: one that has imported what is heavy waits at a socket, and
forks for every command.

A command so started is a process of its own, with its own arguments, environment, folder and streams. It dies soon
after what the caller holds; at once only if it is killed itself, by the number that it tells. This package is never
imported beforehand. Two things it cannot show: how long a start takes, and whether a result depends on the order of a
set, for the seed of hashes is that of the waiting process; so what must be the same twice is made once by
`sys.executable`.
"""

import atexit
import gc
import json
import os
import random
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType

HEAVY = (
    "datasets",
    "lxml.etree",
    "matplotlib.figure",
    "numpy",
    "pandas",
    "pyarrow.dataset",
    "pydantic",
    "pysubs2",
    "rich.progress",
    "scipy.stats",
    "sentence_transformers",
    "simplemma",
    "sklearn.metrics",
    "torch",
    "transformers.models.bert.modeling_bert",
    "transformers.models.bert.tokenization_bert",
    "typer.rich_utils",
)
"""What is imported beforehand, where it is installed."""

_SCRIPTS = {"python": [], "edos": ["-m", "edos_dataset"]}
_SCRIPTS |= {name: [str(Path(sys.executable).with_name(name))] for name in ("accelerate", "hf")}
_CALL = f"""#!{sys.executable} -ISE
import json, os, socket, sys
caller = socket.socket(socket.AF_UNIX)
caller.connect(SOCKET)
request = json.dumps([SCRIPT + sys.argv[1:], os.getcwd(), dict(os.environ), [*os.sched_getaffinity(0)]]).encode()
socket.send_fds(caller, [len(request).to_bytes(8, "big")], [0, 1, 2])
caller.sendall(request)
os._exit(int(caller.recv(4) or b"1"))
"""


@contextmanager
def warm_python(folder, environment):
    """Start the waiting process; yields a folder to put first in PATH: of `python`, `edos`, `accelerate` and `hf`.

    Args:
        folder: an empty one, for the socket and the commands.
        environment: variables that modules read when they are imported.
    """
    commands = folder / "bin"
    commands.mkdir()
    place = str(folder / "socket")
    for name, script in _SCRIPTS.items():
        (commands / name).write_text(_CALL.replace("SOCKET", repr(place)).replace("SCRIPT", repr(script)))
        (commands / name).chmod(0o755)
    server = subprocess.Popen(
        [sys.executable, __file__, place],
        stdin=subprocess.PIPE,  # its end tells that the tests are over
        stdout=subprocess.PIPE,
        env={**os.environ, **environment},
        text=True,
    )
    assert server.stdout.readline() == "ready\n"
    yield commands
    server.communicate()


def receive(connection):
    """Return the arguments, folder, environment and cores of a command, and its three streams."""
    size, streams, *_ = socket.recv_fds(connection, 8, 3)
    parts, left = [], int.from_bytes(size, "big")
    while left:
        parts.append(connection.recv(left))
        left -= len(parts[-1])
    return json.loads(b"".join(parts)), streams


def attend(connection, command):
    """Tell the caller how a command ended; where the caller is gone, the command goes too."""
    ended = os.pidfd_open(command)
    ready, *_ = select.select([ended, connection], [], [])
    if ended not in ready:
        import psutil

        for process in [*psutil.Process(command).children(recursive=True), psutil.Process(command)]:
            process.kill()
    code = os.waitstatus_to_exitcode(os.waitpid(command, 0)[1])
    with suppress(OSError):
        connection.sendall(str(code % 256).encode())


def wait_for_commands(place):
    """Wait for callers; returns once for each command, in a fork of its own, and ends with the tests."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(place)
    listener.listen()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        ready, *_ = select.select([listener, 0], [], [])
        if 0 in ready:
            os._exit(0)
        connection, _ = listener.accept()
        if os.fork():
            connection.close()
            continue
        listener.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        request, streams = receive(connection)
        command = os.fork()
        if command:
            for stream in streams:
                os.close(stream)
            attend(connection, command)
            os._exit(0)
        connection.close()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        return request


def carry_out(arguments, folder, environment, cores):
    """Do what `python ARGUMENTS` does."""
    os.sched_setaffinity(0, cores)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    random.seed()
    sys.path[:1] = [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path]
    kind, *rest = arguments
    if kind == "-c":
        sys.argv, main = ["-c", *rest[1:]], ModuleType("__main__")
        sys.path.insert(0, "")
        sys.modules["__main__"] = main
        exec(compile(rest[0], "<string>", "exec"), vars(main))
    elif kind == "-m":
        sys.argv = rest
        sys.path.insert(0, os.getcwd())
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        sys.path.insert(0, str(Path(kind).parent.resolve()))
        sys.modules["__main__"] = main = ModuleType("__main__")
        main.__file__ = kind
        exec(compile(Path(kind).read_bytes(), kind, "exec"), vars(main))


def end(error):
    """Leave as the interpreter does, except that it does not take apart all that is in memory, which takes a second."""
    code = error.code if isinstance(error, SystemExit) else int(error is not None)
    if code is not None and not isinstance(code, int):
        sys.stderr.write(f"{code}\n")
        code = 1
    if error is not None and not isinstance(error, SystemExit):
        sys.excepthook(type(error), error, error.__traceback__)
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code or 0)


if __name__ == "__main__":
    gc.disable()  # imports leave no garbage, and looking for it takes a fifth of their time
    for name in HEAVY:
        with suppress(ModuleNotFoundError):
            import_module(name)
    with suppress(ModuleNotFoundError):
        import_module("simplemma").in_target_language("keeper", "en")  # whatever reads a film loads this dictionary
    gc.freeze()
    gc.enable()
    request = wait_for_commands(sys.argv[1])
    try:
        carry_out(*request)
    except BaseException as error:
        end(error)
    end(None)
