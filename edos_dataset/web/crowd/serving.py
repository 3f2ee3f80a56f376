"""How the pages of a batch are served: by uvicorn, one process, many threads. Needs the extra `crowd`."""

from __future__ import annotations

import socket
from collections.abc import Callable
from importlib.util import find_spec

from edos_dataset.crowd.assignments import Work
from edos_dataset.web.crowd.workers import Doors


def check_installed() -> None:
    """Look for what serving needs.

    Raises:
        ImportError: it is not installed; the message is the line that installs it.
    """
    if lacking := [name for name in ("starlette", "uvicorn") if find_spec(name) is None]:
        raise ImportError(f'pages for people need {" and ".join(lacking)}: pip install "edos-dataset[crowd]"')


def serve(work: Work, doors: Doors, host: str, port: int, ready: Callable[[str], object]) -> None:
    """Serve the pages of a batch until stopped.

    Args:
        work: the HITs.
        doors: who may come in.
        host: address of this machine to listen at; behind a proxy with HTTPS, 127.0.0.1.
        port: 0 for any free one.
        ready: called with the address of the pages once they can be asked for.

    Raises:
        ValueError: the address cannot be had.
    """
    import uvicorn

    from edos_dataset.web.crowd.application import make_app

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, OverflowError) as error:
        listening.close()
        raise ValueError(f"cannot listen at {host}, port {port}: {error}; give another --port or --host") from error
    shown = f"[{host}]" if ":" in host else host
    settings = uvicorn.Config(
        make_app(work, doors),
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=5,
        lifespan="off",
    )
    with listening:
        listening.listen(2048)
        ready(f"http://{shown}:{listening.getsockname()[1]}")
        uvicorn.Server(settings).run(sockets=[listening])
