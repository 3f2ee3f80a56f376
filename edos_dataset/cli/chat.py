"""A conversation at the terminal: lines of standard input, answers on standard output. It keeps and logs no text."""

import json
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import typer
from rich.markup import escape

from edos_dataset.cli.console import note, say
from edos_dataset.cli.errors import told

if TYPE_CHECKING:
    from edos_dataset.generation.conversation import Conversation
    from edos_dataset.generation.responder import Candidate, Responder

_HINT = (
    "You write to a program that makes up what it says; it is no help for people in distress. Nothing is kept. "
    "/new begins anew, /label NAME forces a label, /label has it predicted again, Ctrl-D ends."
)


def chat_on(responder: "Responder", label: str | None, settings: dict[str, Any], as_json: bool) -> None:
    """Answer each line of standard input until it ends.

    Args:
        responder: answers.
        label: that the answers are to have; None to have it predicted. `/label` changes it.
        settings: of `Responder.respond`: `candidates`, `beams`, `sample`, `seed`.
        as_json: print an object a line: the text, its label, and the answers.
    """
    from edos_dataset.generation.conversation import Conversation

    note(_HINT)
    conversation = Conversation(responder, settings)
    for line in _lines():
        try:
            if line.startswith("/"):
                label = _obey(line, conversation, label)
            elif line:
                _answer(line, conversation, label, as_json)
        except ValueError as error:  # the conversation goes on
            say([f"[bold red]error[/bold red] {told(str(error))}"], stderr=True)


def _lines() -> Iterator[str]:
    """Yield lines without blanks around them, asking for each where a person types them."""
    while True:
        if sys.stdin.isatty():
            typer.echo("> ", err=True, nl=False)
        line = sys.stdin.readline()
        if not line:
            return
        yield line.strip()


def _obey(line: str, conversation: "Conversation", label: str | None) -> str | None:
    """Do what a line beginning with a slash asks for, and return the label that is forced after it.

    Raises:
        ValueError: there is no such command or label, or the model cannot answer so.
    """
    from edos_dataset.labels import LABELS, parse_label

    command, _, name = line.partition(" ")
    if command == "/new":
        conversation.forget()
        return label
    if command != "/label":
        raise ValueError(f"{command} is no command: there are /new and /label; a turn does not begin with a slash")
    forced = LABELS[parse_label(name)] if name.strip() else None
    conversation.responder.check(forced is not None)
    return forced


def _answer(text: str, conversation: "Conversation", label: str | None, as_json: bool) -> None:
    from edos_dataset.releases.given.dialogue import checked_text

    own = conversation.say(checked_text(text, "your turn"))
    answers = conversation.answer(label)
    if as_json:
        row = {"text": text, "label": own, "answers": plain_answers(answers)}
        typer.echo(json.dumps(row))  # escaped, so that nothing steers a terminal
    else:
        say(answer_lines(answers))


def plain_answers(answers: "Sequence[Candidate]") -> list[dict[str, str | float | None]]:
    """Return answers as plain data."""
    return [each.as_row() for each in answers]


def answer_lines(answers: "Sequence[Candidate]") -> Iterator[str]:
    """Yield a line an answer, as rich markup: its label, the label's probability where it was predicted, the text."""
    for each in answers:
        chance = "" if each.probability is None else f" {each.probability:.0%}"
        head = f"[bold]{each.label}[/bold]{chance}  " if each.label else ""
        yield f"{head}{escape(each.text)}"
