"""The colours of all pages, cards and pictures, and of the three groups of labels also in the terminal.

Emotions are blue, response intents orange, neutral grey, which differ with every colour vision (after Okabe and
Ito). What is written has a contrast of 4.5 or more on its ground and on that of the page.
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


PAGE_LIGHT: Mapping[str, str] = {
    "ground": "#fafaf8",
    "card": "#ffffff",
    "ink": "#1c1c1a",
    "soft": "#5b5b55",
    "line": "#c9c9c2",
    "blue": "#1f5a9b",
    "on-blue": "#ffffff",
    "pale": "#e6effa",
    "bar": "#a9c6e8",
    "right": "#17692f",
    "wrong": "#a8211a",
    "wrong-ground": "#fdeceb",
    "unsure": "#735000",
    "unsure-ground": "#fef9c3",
    "low": "#b35806",
    "high": "#542788",
}
"""What else light pages are made of: the ground of the page and of what stands on it, writing, lines, what can be
clicked, good, bad and doubtful, and the two ends of a scale."""

PAGE_DARK: Mapping[str, str] = {
    "ground": "#161615",
    "card": "#20201f",
    "ink": "#e9e9e4",
    "soft": "#adada5",
    "line": "#4a4a46",
    "blue": "#8ab8ee",
    "on-blue": "#10151c",
    "pale": "#1c2b3d",
    "bar": "#31567f",
    "right": "#6fce8b",
    "wrong": "#ff8f86",
    "wrong-ground": "#3a1d1b",
    "unsure": "#e0b550",
    "unsure-ground": "#422006",
    "low": "#f1a340",
    "high": "#b9a4e8",
}
"""The same on dark pages."""

PRINT: Mapping[str, str] = {"ground": "#ffffff", "ink": "#1f2328", "grid": "#d5d9de"}
"""Ground, writing and grid of pictures for papers and cards, which are white on every page."""


def style_sheet(light: str = ":root", dark: str | None = None) -> str:
    """Return the colours of light and dark pages as CSS variables: `--ground`, `--ink` and so on, and for each
    group `--emotion`, `--emotion-ground`.

    On paper the colours are the light ones.

    Args:
        light: selector of the light page.
        dark: selector of the dark page; by default the same where the reader's system is dark.
    """
    on_dark = "screen" if dark else "screen and (prefers-color-scheme: dark)"
    return (
        f"{light} {{ {_variables(ON_LIGHT, GROUNDS_LIGHT, PAGE_LIGHT)} }}\n"
        f"@media {on_dark} {{ {dark or light} {{ {_variables(ON_DARK, GROUNDS_DARK, PAGE_DARK)} }} }}\n"
    )


def _variables(colours: Mapping[str, str], grounds: Mapping[str, str], page: Mapping[str, str]) -> str:
    groups = (f"--{group}: {colours[group]}; --{group}-ground: {grounds[group]};" for group in colours)
    return " ".join([*groups, *(f"--{name}: {colour};" for name, colour in page.items())])
