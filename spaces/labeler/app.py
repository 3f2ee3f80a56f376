"""The Space of the labelers: paste a dialogue, see the label of each turn and similar labelled dialogues. Run it with
`make space`, or `python app.py --help`.
"""

import argparse
import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")  # read when gradio is imported

import gradio as gr
import page
from labelling import MODELS, MOST_TURNS, Model, as_json, label_text
from seeds import Seeds, load_seeds

from edos_dataset.encoders.encoder import DEFAULT_MODEL, Encoder
from edos_dataset.label_sets.translations import ENGLISH, LANGUAGES, shown_language
from edos_dataset.labeling.models.labelers import load_labeler
from edos_dataset.web.spaces import MAX_CHARACTERS, ONE_AT_A_TIME, log, message, serve

TITLE = "Label a dialogue"
_INTRO = """\
# Label a dialogue

Each turn gets one of 41 labels: 32 emotions, 8 response intents, or neutral, the labels of the EDOS dialogues."""
_HELP = (
    f"One turn a line, or subtitles (SRT, VTT), in English; {MOST_TURNS} turns of at most {MAX_CHARACTERS:,} "
    "characters. Speakers such as “A:” and leading dashes are removed; blank lines are ignored."
)
_MODELS = (
    "“general” and “dialogue”, which labels like the workers of EDOS, see a turn with its history; the others see each "
    "turn by itself. “fast” is the fastest."
)
_SCROLL = "() => { document.getElementById('answer').scrollIntoView({ block: 'start' }) }"
_COPY = """() => {
  const link = document.querySelector("#answer a[download='labels.csv']");
  if (link) navigator.clipboard.writeText(decodeURIComponent(link.href.slice(link.href.indexOf(",") + 1)));
}"""
_EXAMPLES = {
    "A lost job": "A: You're home early today.\nB: They let me go. Twelve years, and it took them five minutes.\n"
    "A: Oh no, I'm so sorry to hear that.\n"
    "B: How am I going to pay the rent?\nA: Why don't you come and stay with us for a while?\nB: Thank you. I don't "
    "know what I'd do without you.",
    "The noise": "- Did you hear that?\n- Hear what?\n- Something is moving in the cellar. I'm scared.\n"
    "- Don't worry, it's only the cat.\n"
    "- We don't have a cat!",
    "Good news": (
        "Mia: You'll never guess who called.\nBen: Who?\nMia: The music school. I got in!\nBen: Wow, that's "
        "incredible! I'm so proud of you."
    ),
}


def build(seeds: Seeds, dataset: str | None = None) -> gr.Blocks:
    """Return the page.

    Args:
        seeds: dialogues in which similar ones are searched.
        dataset: name of the dataset on the Hub to link to.
    """

    def show(text: str, model: str, language: str) -> str:
        try:
            return page.results(label_text(text or "", model, seeds), seeds.source is None, shown_language(language))
        except ValueError as error:
            return message(error)

    def rename(text: str, model: str, language: str) -> str:
        return show(text, model, language) if text else ""

    def label(text: str, model: Model = "general", top: int = 3) -> dict[str, Any]:
        """Label every turn of a dialogue with one of 41 emotions and response intents, or as neutral.

        Args:
            text: the dialogue in English, one turn a line, oldest first, or subtitles (SRT, VTT).
            model: general or dialogue, which see a turn with its history; weak or fast, which see it by itself.
            top: number of the most probable labels of each turn to return, from 1 to 41.
        """
        try:
            return as_json(label_text(text, model), top)
        except ValueError as error:
            raise gr.Error(str(error), print_exception=False) from error

    records: dict[str, dict[str, Any]] = {name: load_labeler(name).record for name in MODELS}
    with gr.Blocks(title=TITLE, analytics_enabled=False) as blocks:
        gr.Markdown(_INTRO)
        text = gr.Textbox(
            label="Dialogue",
            info=_HELP,
            lines=6,
            max_lines=14,
            placeholder="A: I lost my job.\nB: Oh no, what happened?",
            elem_id="dialogue",
        )
        model = gr.Radio(list(MODELS), value=MODELS[0], label="Model", info=_MODELS)
        language = gr.Dropdown(
            [(own, code) for code, own in LANGUAGES.items()],
            value=ENGLISH,
            label="Names of the labels",
            info="The labels shown are named and defined in this language; files and answers to programs keep English.",
            filterable=False,
            elem_id="language",
        )
        button = gr.Button("Label", variant="primary", elem_id="label")
        gr.Examples(
            [[example] for example in _EXAMPLES.values()],
            [text],
            example_labels=list(_EXAMPLES),
            label="Examples (invented)",
        )
        answer = gr.HTML(elem_classes="edos", elem_id="answer")
        copy = gr.Button("Copy the labels as CSV", elem_id="copy", size="sm")
        gr.HTML(page.about(records, (len(seeds.rows), seeds.source), dataset), elem_classes="edos", elem_id="about")
        shown = gr.on(
            [button.click, text.submit],
            show,
            [text, model, language],
            answer,
            api_visibility="private",
            **ONE_AT_A_TIME,
        )
        language.input(rename, [text, model, language], answer, api_visibility="private", **ONE_AT_A_TIME)
        shown.then(None, js=_SCROLL, api_visibility="private")
        copy.click(None, js=_COPY, api_visibility="private")
        gr.api(
            label,
            api_name="label",
            **ONE_AT_A_TIME,
        )
    return blocks


def main(arguments: list[str] | None = None) -> None:
    """Load everything, then serve the page until stopped."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--seed",
        default=os.environ.get("EDOS_SEED") or None,
        help="folder of `edos crowd seed`, or dataset on the Hub; invented by default",
    )
    parser.add_argument(
        "--dataset",
        default=os.environ.get("EDOS_DATASET") or None,
        help="NAMESPACE/NAME of the dataset on the Hub to link to; by default the seed's",
    )
    parser.add_argument("--port", type=int, default=None, help="port; by default the first free one from 7860")
    given = parser.parse_args(arguments)
    try:
        log(f"loading the seed, {given.seed or 'the invented one'}, and embedding it where it is new")
        seeds = load_seeds(given.seed, Encoder(DEFAULT_MODEL))
        log(f"loading the models {', '.join(MODELS)}")
        label_text("Hello.", MODELS[0])  # the first visitor need not wait for the weights
    except (ImportError, ValueError) as error:
        sys.exit(f"error: {error}")
    dataset = given.dataset or (given.seed if given.seed and not Path(given.seed).is_dir() else None)
    log("building the page")
    serve(build(seeds, dataset), Path(__file__).with_name("page.css"), given.port)


if __name__ == "__main__":
    main()
