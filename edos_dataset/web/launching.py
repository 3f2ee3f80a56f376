"""How the pages are served: looks, logs, one visitor at a time. Needs the extra `space`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the package is imported whole where no page is served
    import gradio as gr

ONE_AT_A_TIME: dict[str, Any] = {"concurrency_id": "model", "concurrency_limit": 1}
"""Settings of an event that works with a model: the processors are shared."""


def tell(text: str) -> None:
    """Write what is being done to the log: the start takes minutes on a small machine. Never a visitor's text."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def serve(blocks: gr.Blocks, css: Path, port: int | None = None) -> None:
    """Serve a page on this machine until stopped; exit with a message if the port is taken.

    Nothing that a visitor gives or gets is kept, here or in the browser (`run_history`).

    Args:
        blocks: the page.
        css: a style sheet of its own, beside the one that all share.
        port: by default the first free one from 7860.
    """
    try:
        blocks.launch(
            server_port=port,
            share=False,
            ssr_mode=False,
            run_history=False,
            footer_links=["api"],
            theme=_theme(),
            css_paths=[Path(__file__).with_name("page.css"), css],
        )
    except OSError as error:  # the port is taken
        sys.exit(f"error: {error}")


def _theme() -> gr.themes.Base:
    import gradio as gr

    # Fonts of the reader's system: none comes from another host. The theme's own grey of notes and orange of the button
    # are too pale to read.
    return gr.themes.Default(font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"]).set(
        body_text_color_subdued="*neutral_600",
        body_text_color_subdued_dark="*neutral_400",
        button_primary_background_fill="*primary_700",
        button_primary_background_fill_dark="*primary_700",
        button_primary_background_fill_hover="*primary_800",
        button_primary_background_fill_hover_dark="*primary_800",
    )
