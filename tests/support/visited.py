"""Spaces as visitors have them: started as the Hub starts them, looked at in headless Chromium."""

import contextlib
import os
import shutil
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

SPACES = Path(__file__).parents[2] / "spaces"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
WAIT = 120_000  # milliseconds, for a busy machine
CONTRAST = """(chip) => {
  const channel = (value) => { value /= 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4 };
  const luminance = (colour) => { const [r, g, b] = colour.match(/[\\d.]+/g).map(Number);
    return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b) };
  const ground = (element) => { const colour = getComputedStyle(element).backgroundColor;
    return /, 0\\)$|transparent/.test(colour) && element.parentElement ? ground(element.parentElement) : colour };
  const [low, high] = [getComputedStyle(chip).color, ground(chip)].map(luminance).sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05) }"""
"""Script: the contrast (1 to 21) of an element's writing to its ground."""
EDGES = "(found) => found.map((one) => one.getBoundingClientRect()).flatMap((box) => [box.left, box.right])"
"""Script: the left and right edges of elements; those of what is folded away are 0."""


@contextlib.contextmanager
def started_space(name, python, folder, **settings):
    """Start a Space in an empty folder, where its log is the file `log`; give its address once it answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONUNBUFFERED": "1", **settings}
    with (folder / "log").open("w+") as log:
        app = subprocess.Popen(
            [python, SPACES / name / "app.py", "--port", str(port)],
            cwd=folder,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            address = f"http://127.0.0.1:{port}"
            for _ in range(600):
                assert app.poll() is None, (folder / "log").read_text()
                try:
                    urllib.request.urlopen(address, timeout=5).close()
                    break
                except OSError:
                    time.sleep(0.3)
            else:
                raise AssertionError("the app did not answer: " + (folder / "log").read_text())
            yield address
        finally:
            app.terminate()
            app.wait()


def watch(page):
    """Return what a page complains of, and the hosts that it asks, both filled while it is used."""
    complaints, hosts = [], set()
    page.on(
        "console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None
    )
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "response",
        lambda response: complaints.append(f"{response.status} {response.url}") if response.status >= 400 else None,
    )
    page.on("request", lambda request: hosts.add(request.url.split("/")[2]) if request.url.startswith("http") else None)
    return complaints, hosts
