"""Shared parts of the pages in `spaces/`: labels as HTML, parsing of pasted text into turns, and serving.

All text from users or data is escaped. Groups of labels differ by shape as well as by colour (`page.css`).
Serving needs the extra `space`.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from http import HTTPStatus
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from edos_dataset.cleaning.captions import name_speaker, split_dash, split_speaker
from edos_dataset.labels import EMOTIONS, INTENTS, LABELS
from edos_dataset.languages.detection import guess_language
from edos_dataset.palette import style_sheet
from edos_dataset.publishing.cards.markdown import percent
from edos_dataset.runs.untrusted import shown
from edos_dataset.web.pasted import lines_of

if TYPE_CHECKING:  # the package is also imported where no page is served
    import gradio as gr
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_UPLOADS = ("/upload", "/upload_progress")
"""Ends of gradio's routes for files."""

GROUPS = ("emotion", "intent", "neutral")
"""Groups of labels, in the order of the label ids."""

_SIGNS = {"emotion": "●", "intent": "◆", "neutral": "□"}
_GROUP_STARTS = np.cumsum([0, len(EMOTIONS), len(INTENTS)])


def group_of(label: int) -> str:
    """Return the group (one of GROUPS) of a label id."""
    return GROUPS[int(np.searchsorted(_GROUP_STARTS, label, side="right")) - 1]


def group_shares(probabilities: Sequence[float]) -> dict[str, float]:
    """Return the probability of each of GROUPS, given those of the 41 labels by id."""
    return dict(zip(GROUPS, np.add.reduceat(probabilities, _GROUP_STARTS).tolist(), strict=True))


def mark(group: str) -> str:
    """Return the symbol of a group, which screen readers read as its name."""
    return f'<span class="sign" role="img" aria-label="{group}">{_SIGNS[group]}</span>'


def chip(label: int, names: Sequence[str] = LABELS) -> str:
    """Return the name of a label as HTML, with its group's symbol and colour; `names` are the names to show, by id."""
    group, english = group_of(label), f", {LABELS[label]}" * (names[label] != LABELS[label])
    return f'<span class="chip {group}" title="{group}{english}">{mark(group)} {names[label]}</span>'


def bars(probabilities: Sequence[float], labels: Iterable[int], names: Sequence[str] = LABELS) -> str:
    """Return the probabilities of labels as bars, one per row.

    Args:
        probabilities: probabilities of the 41 labels by id, 0 to 1; 1 fills the width of the page.
        labels: ids of the labels to draw, from top to bottom.
        names: names of the labels to show, by id.
    """
    rows = []
    for label in labels:
        group, share = group_of(label), probabilities[label]
        bar = f'<td class="bar"><i style="width:{100 * share:.2f}%"></i></td>'
        rows.append(f'<tr class="{group}"><th>{mark(group)} {names[label]}</th>{bar}<td>{percent(share)}</td></tr>')
    return f"<table class='bars'>{''.join(rows)}</table>"


def message(error: Exception) -> str:
    """Return an input error as a message."""
    return f'<p class="message error" role="alert">{escape(str(error))}</p>'


def beware(warning: str) -> str:
    """Return a warning as a message."""
    return f'<p class="message warning" role="status"><b>Beware.</b> {escape(warning)}</p>'


MAX_TURNS = 50
MAX_CHARACTERS = 1_000
"""Maximum number of characters of a turn. The longest dialogue within both limits takes a few seconds on one core."""

_ROOM = 100  # characters of a line besides its turn: speaker, dashes, blanks
# "A:", "b2:", "Speaker 1:"; `split_speaker` finds names. A path ("C:\") does not match.
_LETTER = re.compile(r"((?:speaker|person) ?\w{1,2}|[a-z]\d?) ?:(?![/\\])\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Turn:
    """A turn and its speaker, None if the line names none."""

    text: str
    speaker: str | None = None


@dataclass(frozen=True)
class Pasted:
    """A pasted dialogue: its turns (at least one, oldest first), warnings, and the code of the language that it looks
    like, None if none is recognised.
    """

    turns: tuple[Turn, ...]
    warnings: tuple[str, ...] = ()
    language: str | None = None


def read_paste(text: str, most: int = MAX_TURNS, cut: bool = False) -> Pasted:
    """Return the turns of a pasted text.

    Args:
        text: one turn per line, or subtitles, or a dialogue in one line, see `lines_of`; blank lines and leading dashes
            are ignored. A speaker before a colon is stored apart from the turn.
        most: maximum number of turns.
        cut: leave out the turns beyond it, with a warning, instead of raising an error.

    Raises:
        ValueError: the text is empty, too long, or has no letters; the message is a sentence for the page.
    """
    if not isinstance(text, str):
        raise ValueError(f"The dialogue must be one text, a turn a line; this was a {type(text).__name__}.")
    if len(text) > most * (MAX_CHARACTERS + _ROOM):
        raise ValueError(
            f"This text has {len(text):,} characters. Paste at most {most} turns of at most {MAX_CHARACTERS:,} "
            "characters each."
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"Character {error.start + 1:,} is half of a character, which no text may hold. Remove it, and press the "
            "button again."
        ) from error
    turns = tuple(turn for turn in map(read_line, lines_of(text)) if turn.text)
    if not turns:
        raise ValueError("There is nothing to read yet. Write a dialogue, one turn a line.")
    total, turns = len(turns), turns[:most] if cut else turns
    if len(turns) > most:
        raise ValueError(
            f"This dialogue has {len(turns):,} turns, and at most {most} can be read at once. Paste a part of it."
        )
    for number, turn in enumerate(turns, 1):
        if len(turn.text) > MAX_CHARACTERS:
            raise ValueError(
                f"Turn {number} has {len(turn.text):,} characters, and at most {MAX_CHARACTERS:,} are allowed. Put "
                "each turn on a line of its own."
            )
    if not any(map(_has_letters, turns)):
        raise ValueError(
            "There are no letters in this text, so there is no feeling to read from it. Paste a dialogue in words."
        )
    left_out = [f"Only the first {most} of {total:,} turns are shown: paste the rest by itself."] * (total > most)
    language = guess_language("\n".join(turn.text for turn in turns))
    return Pasted(turns, (*left_out, *_warnings(turns, language)), language)


def read_line(line: str) -> Turn:
    """Return the turn of a line; its text is empty if nothing is said."""
    text = "".join(character for character in " ".join(line.split()) if character.isprintable())
    text = name_speaker(split_dash(text)[0])
    if match := _LETTER.match(text):
        text, speaker = text[match.end() :], match[1]
    else:
        text, speaker = split_speaker(text)
    return Turn(split_dash(text)[0].strip(), speaker)


def _warnings(turns: tuple[Turn, ...], language: str | None) -> list[str]:
    warnings = []
    mute = [str(number) for number, turn in enumerate(turns, 1) if not _has_letters(turn)]
    if mute:
        warnings.append(f"No letters in turn{'s' * (len(mute) > 1)} {', '.join(mute)}: a label there says little.")
    letters = [character for turn in turns for character in turn.text if character.isalpha()]
    if 2 * sum("LATIN" in unicodedata.name(letter, "") for letter in letters) < len(letters):
        return [
            *warnings,
            "Most letters of this text are not Latin. The models know English only; don't trust what they say of it.",
        ]
    if language not in (None, "en"):
        warnings.append(
            f"This doesn't look like English, rather like “{language}”. The models know no other language; don't trust "
            "what they say of it."
        )
    return warnings


def _has_letters(turn: Turn) -> bool:
    return any(map(str.isalpha, turn.text))


ONE_AT_A_TIME: dict[str, Any] = {"concurrency_id": "model", "concurrency_limit": 1}
"""Settings of events that run a model; they limit concurrency, as the processors are shared."""


def log(text: str) -> None:
    """Log a step of the start, which can take minutes; never log visitors' texts."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


MAX_REQUEST = 1 << 20
"""Maximum number of bytes of a request; the longest dialogue has a tenth of it."""


class NoUploads:
    """An application whose routes for uploads are closed, as the pages need none, and whose requests are bounded: what
    visitors send is neither kept on the disk nor served to others.

    Args:
        app: the application.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        from starlette.responses import JSONResponse

        if scope["path"].rstrip("/").endswith(_UPLOADS):
            refusal = JSONResponse({"error": "This page takes no files: paste the text."}, HTTPStatus.NOT_FOUND)
            await refusal(scope, receive, send)
            return
        body, size, more = b"", 0, True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return
            size, more = size + len(message.get("body", b"")), message.get("more_body", False)
            body = body + message.get("body", b"") if size <= MAX_REQUEST else b""  # the rest is read and forgotten
        if size > MAX_REQUEST:
            text = f"This is too large: at most {MAX_REQUEST:,} bytes are read."
            await JSONResponse({"error": text}, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)(scope, receive, send)
            return
        whole: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def read() -> Message:
            return whole.pop() if whole else await receive()

        await self.app(scope, read, send)


def whole_number(value: object, name: str, least: int, most: int) -> int:
    """Return an argument of an API request that must be a whole number.

    Raises:
        ValueError: it is none, or out of range; the message is a sentence for the visitor.
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"{name} must be a whole number from {least} to {most}; this was {shown(value)}.")
    return value


def serve(blocks: gr.Blocks, css: Path, port: int | None = None) -> None:
    """Serve a page on this machine until stopped; exit with a message if the port is taken.

    No inputs or outputs of visitors are stored, here or in the browser (`run_history`). Its named endpoints are also
    tools of a server of the Model Context Protocol, if gradio's extra `mcp` is installed, as it is on the Hub.

    Args:
        blocks: the page.
        css: the page's own style sheet, added to the shared one.
        port: by default the first free port from 7860.
    """
    from starlette.middleware import Middleware

    try:
        blocks.launch(
            server_port=port,
            share=False,
            ssr_mode=False,
            run_history=False,
            footer_links=["api"],
            mcp_server=find_spec("mcp") is not None,
            theme=_theme(),
            css=style_sheet(".edos", ".dark .edos"),
            css_paths=[Path(__file__).with_name("page.css"), css],
            max_file_size=MAX_REQUEST,
            app_kwargs={"middleware": [Middleware(NoUploads)]},
        )
    except OSError as error:  # the port is taken
        sys.exit(f"error: {error}")


def _theme() -> gr.themes.Base:
    import gradio as gr

    # System fonts, so that none is loaded from another host. The theme's grey for notes and orange for the button are
    # too pale to read.
    return gr.themes.Default(font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"]).set(
        body_text_color_subdued="*neutral_600",
        body_text_color_subdued_dark="*neutral_400",
        button_primary_background_fill="*primary_700",
        button_primary_background_fill_dark="*primary_700",
        button_primary_background_fill_hover="*primary_800",
        button_primary_background_fill_hover_dark="*primary_800",
    )
