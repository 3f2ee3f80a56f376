"""What a card shows of the report of its data (`edos report`), where that lies in the folder."""

from collections.abc import Collection

REPORT = ("report.html", "report.json")
"""The page, and its figures."""
REPORT_PICTURES = {
    "report_pictures/labels.png": "Bars: the share of each label among the turns, emotions, response intents and "
    "neutral apart; signs: what the data are compared with.",
    "report_pictures/flow.png": "Bands: how the labels of the first four turns of the dialogues follow each other.",
}
"""Path in the folder → what is to be seen, of the two main pictures."""
_HEADING = "## What the data look like"


def with_report(body: str, files: Collection[str]) -> str:
    """Return the text of a card with the main pictures of the report and a link to it, before its second section.

    Args:
        body: the text behind the YAML.
        files: paths beside the card; without the page the text stays as it is.
    """
    if REPORT[0] not in files or _HEADING in body:
        return body
    pictures = "".join(f"![{text}]({path})\n\n" for path, text in REPORT_PICTURES.items() if path in files)
    section = (
        f"{_HEADING}\n\n{pictures}More figures, dialogues to read, and what may be wrong: [{REPORT[0]}]({REPORT[0]}), "
        f"one page to download and open, which needs no network; its figures are in [{REPORT[1]}]({REPORT[1]}).\n\n"
    )
    first = body.find("\n## ")
    second = body.find("\n## ", first + 1) if first >= 0 else -1
    if second < 0:
        return f"{body.rstrip()}\n\n{section}"
    return f"{body[: second + 1]}{section}{body[second + 1 :]}"
