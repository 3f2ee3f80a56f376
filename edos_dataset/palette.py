"""The colours of the three groups of labels: one set for the report, cards, pages and the terminal.

Emotions are blue, response intents orange, neutral grey, which differ with every colour vision (after Okabe and
Ito). Each has a contrast of 4.5 or more on its ground and on that of the page.
"""

from collections.abc import Mapping

EMOTION, INTENT, NEUTRAL = "emotion", "intent", "neutral"

ON_LIGHT: Mapping[str, str] = {EMOTION: "#005f96", INTENT: "#a04000", NEUTRAL: "#555555"}
"""Colours of the groups on white and other light grounds."""

ON_DARK: Mapping[str, str] = {EMOTION: "#7cc4f0", INTENT: "#f0a830", NEUTRAL: "#c8c8c8"}
"""Colours of the groups on dark grounds."""

GROUNDS_LIGHT: Mapping[str, str] = {EMOTION: "#dbeafe", INTENT: "#ffedd5", NEUTRAL: "#e8e8e8"}
"""Grounds of names of labels on light pages."""

GROUNDS_DARK: Mapping[str, str] = {EMOTION: "#0d2a3f", INTENT: "#3a2503", NEUTRAL: "#33373d"}
"""Grounds of names of labels on dark pages."""

IN_TERMINAL: Mapping[str, str] = {EMOTION: "color(31)", INTENT: "color(130)", NEUTRAL: "color(243)"}
"""The nearest of the 256 colours of terminals that can be read on white and on black."""


def style_sheet(light: str, dark: str) -> str:
    """Return the variables `--emotion`, `--emotion-ground`, … as CSS.

    Args:
        light: selector of the light page.
        dark: selector of the dark page.
    """
    themes = ((light, ON_LIGHT, GROUNDS_LIGHT), (dark, ON_DARK, GROUNDS_DARK))
    return "".join(
        f"{selector} {{ "
        + " ".join(f"--{group}: {colours[group]}; --{group}-ground: {grounds[group]};" for group in colours)
        + " }\n"
        for selector, colours, grounds in themes
    )
