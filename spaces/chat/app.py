"""The Space of a response model: talk with it, see the label of every turn and the predicted label of the answer, force
another label, and continue with an answer of your choice. Run it with `make chat`, or `python app.py --help`.
"""

import argparse
import os
import secrets
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")  # read when gradio is imported

import chat_page
import gradio as gr
from conversation import MAX_CANDIDATES, Answerer, Answers, Dialogue, Reading, answers_as_json

from edos_dataset.encoders.encoder import default_device
from edos_dataset.generation.responder import Responder
from edos_dataset.generation.shipped import DEFAULT_MODEL
from edos_dataset.labels import GROUPS, parse_label
from edos_dataset.web.spaces import MAX_TURNS, ONE_AT_A_TIME, log, message, serve, whole_number

TITLE = "Answer with feeling"
PREDICTED = "predicted"
SEARCH, DRAW = "the most likely", "at random"
_INTRO = """\
# Answer with feeling

Say something. The model predicts which of 41 labels (emotions and intents) its answer should express, and suggests
answers. Pick one to go on, or choose another label and compare."""
_HELP = f"In English. Enter sends; Shift+Enter starts the next speaker's turn on a new line. At most {MAX_TURNS} turns."
_EXAMPLES = {
    "A lost job": "They let me go today. Twelve years, and it took them five minutes.",
    "Good news": "You'll never guess what happened: I got into the music school!",
    "A quarrel": "Why didn't you call me back?\nI forgot. I'm sorry.\nYou always forget. I'm tired of it.",
}


def build(answerer: Answerer) -> gr.Blocks:
    """Return the page."""
    with gr.Blocks(title=TITLE, analytics_enabled=False) as blocks:
        gr.Markdown(_INTRO)
        gr.HTML(chat_page.warning(answerer.name), elem_classes="edos", elem_id="warning")
        Conversation(answerer)
        gr.HTML(chat_page.about(answerer.name), elem_classes="edos", elem_id="about")
    return blocks


class Conversation:
    """The components of the conversation and their events. The dialogue and the offered answers are stored only in the
    browser's page, so every event receives them.

    Args:
        answerer: the model.
    """

    def __init__(self, answerer: Answerer) -> None:
        """Create the components and connect their events, inside a page that is being built."""
        self.answerer = answerer
        self.dialogue = gr.JSON(Dialogue().as_json(), visible=False)
        self.offered = gr.JSON([], visible=False)
        with gr.Row(elem_id="talk"):
            with gr.Column(scale=3, min_width=300):
                self._lay_out_talk()
            with gr.Column(scale=2, min_width=300):
                self._lay_out_settings()
                self.predicted = gr.HTML(elem_classes="edos", elem_id="predicted")
        self._wire()

    def _lay_out_talk(self) -> None:
        self.said = gr.HTML(chat_page.said(Dialogue(), ()), elem_classes="edos", elem_id="said")
        with gr.Row(elem_id="answers"):
            self.cards = [self._card(number) for number in range(MAX_CANDIDATES)]
        self.error = gr.HTML(elem_classes="edos", elem_id="error")
        self.turn = gr.Textbox(
            label="Your turn", info=_HELP, lines=1, max_lines=8, placeholder="I lost my job.", elem_id="turn"
        )
        with gr.Row(elem_id="buttons"):
            self.ask = gr.Button("Answer", variant="primary", elem_id="ask", min_width=90)
            self.back = gr.Button("Take back", elem_id="back", min_width=90)
            self.over = gr.Button("Start over", elem_id="over", min_width=90)
        gr.Examples(
            [[text] for text in _EXAMPLES.values()],
            [self.turn],
            example_labels=list(_EXAMPLES),
            label="Examples (invented)",
        )

    def _lay_out_settings(self) -> None:
        labels = [(f"{label} · {kin}" if label != kin else label, label) for kin, of in GROUPS.items() for label in of]
        self.label = gr.Dropdown(
            [(PREDICTED, PREDICTED), *labels],
            value=PREDICTED,
            label="Label of the answer",
            info="“predicted” uses another of the most probable labels for each answer; a label applies to all.",
            elem_id="label",
            interactive=self.answerer.takes_labels,
        )
        with gr.Row():
            self.count = gr.Slider(1, MAX_CANDIDATES, 3, step=1, label="Answers", elem_id="count", min_width=140)
            self.way = gr.Radio([SEARCH, DRAW], value=SEARCH, label="Which", elem_id="way", min_width=140)

    def _card(self, number: int) -> tuple[gr.Column, gr.HTML, gr.Button]:
        with gr.Column(visible=False, min_width=220, elem_classes="card") as column:
            text = gr.HTML(elem_classes="edos")
            button = gr.Button("Use this answer", size="md", elem_id=f"use-{number + 1}")
        return column, text, button

    def _wire(self) -> None:
        answers = [self.predicted, self.offered, *(part for card in self.cards for part in card[:2])]
        shown = [self.dialogue, self.said, self.error, self.turn, *answers]
        asked = [self.dialogue, self.turn, self.label, self.count, self.way]
        private: dict[str, Any] = {"api_visibility": "private", **ONE_AT_A_TIME}
        gr.on([self.ask.click, self.turn.submit], self.on_ask, asked, shown, **private)
        for number, (_, _, button) in enumerate(self.cards):
            button.click(partial(self.on_use, number), [self.dialogue, self.offered], shown, **private)
        self.back.click(self.on_back, [self.dialogue, self.turn], shown, **private)
        self.over.click(self.on_over, None, shown, **private)
        gr.api(
            self.respond,
            api_name="respond",
            **ONE_AT_A_TIME,
        )

    def on_ask(self, kept: Any, text: str, label: str, count: float, way: str) -> Iterator[list[Any]]:  # noqa: ANN401
        """Answer the visitor's message; drawn answers are shown while they grow."""
        try:
            dialogue, warnings = Dialogue.from_json(kept).said(text or "")
            forced = None if label == PREDICTED else parse_label(str(label))
            number = whole_number(count, "The number of answers", 1, MAX_CANDIDATES)
            if way == DRAW:
                given = self.answerer.stream(dialogue, forced, number, secrets.randbelow(2**31))
            else:
                given = iter([self.answerer.answer(dialogue, forced, number)])
            for answers in given:
                yield self._shown(dialogue, answers.readings, answers, warnings)
        except ValueError as error:
            yield self._refused(error)

    def on_use(self, number: int, kept: Any, offered: Any) -> list[Any]:  # noqa: ANN401
        """Continue with an offered answer."""
        try:
            if not isinstance(offered, list) or len(offered) <= number or not isinstance(offered[number], str):
                raise ValueError("This answer is no longer available: press “Answer” again.")
            dialogue = Dialogue.from_json(kept).answered_by(offered[number])
        except ValueError as error:
            return self._refused(error)
        return self._shown(dialogue, self._read(dialogue))

    def on_back(self, kept: Any, text: str) -> list[Any]:  # noqa: ANN401
        """Remove the last turn; the visitor's own turn returns to the input box for editing."""
        try:
            dialogue, own = Dialogue.from_json(kept).without_last()
        except ValueError as error:
            return self._refused(error)
        return self._shown(dialogue, self._read(dialogue), text=own or text or "")

    def on_over(self) -> list[Any]:
        """Start over."""
        return self._shown(Dialogue(), ())

    def respond(self, text: str, label: str = PREDICTED, candidates: int = 3) -> dict[str, Any]:
        """Answer a dialogue under the predicted labels or a given one: answers of a small model, not help or advice.

        Args:
            text: the dialogue in English, one turn a line, oldest first.
            label: one of the 41 labels, such as consoling, that all answers shall have; or predicted.
            candidates: number of answers, from 1 to 6.
        """
        try:
            if not isinstance(text, str) or not isinstance(label, str):
                raise ValueError(
                    "text and label must be texts: the dialogue, one turn a line, and the name of a label."
                )
            dialogue, warnings = Dialogue().said(text)
            forced = None if label == PREDICTED else parse_label(label)
            answers = self.answerer.answer(dialogue, forced, candidates)
        except ValueError as error:
            raise gr.Error(str(error), print_exception=False) from error
        model = Path(self.answerer.name).name if Path(self.answerer.name).is_dir() else self.answerer.name
        return {"model": model, **answers_as_json(dialogue, answers), "warnings": list(warnings)}

    def _read(self, dialogue: Dialogue) -> list[Reading]:
        return self.answerer.read([list(dialogue.turns)])[0] if dialogue.turns else []

    def _refused(self, error: ValueError) -> list[Any]:
        """Return the values of all components: only the message changes."""
        return [gr.skip(), gr.skip(), message(error), *[gr.skip()] * (3 + 2 * len(self.cards))]

    def _shown(
        self,
        dialogue: Dialogue,
        readings: Any,  # noqa: ANN401
        answers: Answers | None = None,
        warnings: tuple[str, ...] = (),
        text: str = "",
    ) -> list[Any]:
        offered = answers.candidates if answers else ()
        values: list[Any] = [dialogue.as_json(), chat_page.said(dialogue, readings, warnings), "", text]
        values.append(chat_page.prediction(answers, self.answerer.takes_labels) if answers else "")
        values.append([one.text for one in offered])
        for number in range(len(self.cards)):
            there = answers is not None and number < len(offered)
            reading = answers.read[number] if answers and number < len(answers.read) else None
            drawn = chat_page.answer(offered[number], reading, number + 1) if there else ""
            values += [gr.Column(visible=there), drawn]
        return values


def main(arguments: list[str] | None = None) -> None:
    """Load everything, then serve the page until stopped."""
    parser = argparse.ArgumentParser(description=__doc__)
    settings = os.environ
    parser.add_argument(
        "--model",
        default=settings.get("EDOS_RESPONDER") or DEFAULT_MODEL,
        help=f"name, folder or Hub id of a response model; default: {DEFAULT_MODEL}, which comes with the package. No "
        "code beside it is run",
    )
    parser.add_argument(
        "--labeler",
        default=settings.get("EDOS_LABELER") or None,
        help="model that labels turns; default: the response model's own",
    )
    parser.add_argument(
        "--beams",
        type=int,
        default=settings.get("EDOS_BEAMS") or None,
        help="number of beams of the search; default: the model's own number. Fewer are faster",
    )
    parser.add_argument("--port", type=int, default=None, help="port; by default the first free one from 7860")
    given = parser.parse_args(arguments)
    if given.beams is not None and given.beams < 1:
        parser.error(f"--beams is a whole number from 1, got {given.beams}")
    try:
        log(f"loading the model {given.model} and its labeler")
        responder = Responder.load(given.model, device=default_device(), labeler=given.labeler)
        answerer = Answerer(responder, given.model, given.beams)
        answerer.read([["Hello."]])  # the first visitor need not wait for the weights
    except (ImportError, ValueError) as error:
        sys.exit(f"error: {error}")
    log("building the page")
    serve(build(answerer), Path(__file__).with_name("chat.css"), given.port)


if __name__ == "__main__":
    main()
