"""The 17 metrics of dialog-eval compared with the figures of its own code on the same inputs.

    python evaluation/response_parity.py $EDOS_DATA_DIR/../peers/dialog_eval_inputs

FOLDER contains testSource.txt, testTarget.txt, trainSource.txt, vectors50.txt, vocab.txt and responses/rt.txt, one text
per line: 1,000 test pairs and 5,000 training contexts of EmpatheticDialogues. Four sets of responses are measured: the
true response of the previous pair (`shift1`), random responses of the training set (`rt`), the true responses (`gold`),
and a constant one (`const`). The peer's figures were measured with its commit af95efc and NLTK 3.10.4, and with 3.5 for
the second form of BLEU; it prints six digits. Writes evaluation/response_parity.json.
"""

import argparse
import hashlib
import json
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.machine import command_line
from edos_dataset.metrics.responses.dialog_eval import NEEDS, OLD_BLEU, Figure, evaluate
from edos_dataset.metrics.responses.words import Words, read_lines, read_vectors
from edos_dataset.runs.shards import write_text

PEER = {
    "shift1": """13.839 8.497488 13.374094 115.922729 121.820204 0 0 .781755 .432820 .731287 .718245 .086206 .520757
        .087076 .035389 .021882 .014193 .087076 .105196 .136433 .168908""",
    "rt": """13.350 8.528270 13.404785 112.349860 116.300183 .060299 .209782 .771401 .431891 .728158 .707590 .089513
        .520405 .075104 .031263 .019358 .012656 .075104 .094412 .124184 .153658""",
    "gold": """13.839 8.497488 13.374094 115.922729 121.820204 0 0 1 1 1 .743191 .086206 .520757
        1 1 .997072 .990167 .998 .998 1.003405 1.017781""",
    "const": """6 8.044517 13.494092 48.267103 67.470462 .836473 .027901 .716042 .444205 .755157 .607342 .001 .001
        .061403 .027739 .019396 .014655 .061403 .102727 .145346 .193354""",
}
"""Set → the means of `NEEDS` and `OLD_BLEU`, in that order."""

PEER_N = {
    "shift1": {"per-bigram-entropy": 987, "bigram-kl-div": 998, "coherence": 998},
    "rt": {"per-bigram-entropy": 993, "unigram-kl-div": 999, "bigram-kl-div": 988, "coherence": 998},
    "gold": {"per-bigram-entropy": 987, "bigram-kl-div": 998, "coherence": 998},
    "const": {"unigram-kl-div": 715, "bigram-kl-div": 52, "coherence": 998},
}
"""Set → metric → number of responses for which it is defined, if not all and if the peer's figures confirm it."""

CONSTANT = "59945c1f"
"""First digits of the SHA-256 of the constant response, which is one of the true ones; no text of the data is stored
here.
"""


def peer_figures(name: str) -> dict[str, float]:
    """Return metric → mean of a set, as the peer prints it."""
    return dict(zip([*NEEDS, *OLD_BLEU], map(float, PEER[name].split()), strict=True))


def our_figures(folder: Path) -> dict[str, dict[str, Figure]]:
    """Return set → metric → figure.

    Raises:
        ValueError: a file is missing, or the inputs differ.
    """
    train, truth = read_lines(folder / "trainSource.txt"), read_lines(folder / "testTarget.txt")
    words = Words.of(read_vectors(folder / "vectors50.txt"), read_lines(folder / "vocab.txt"), train)
    constant = [line for line in truth if hashlib.sha256(line.encode()).hexdigest().startswith(CONSTANT)]
    if not constant:
        raise ValueError(f"{folder / 'testTarget.txt'} lacks the constant response: give the inputs of the peer's run")
    sets = {
        "shift1": [truth[-1], *truth[:-1]],
        "rt": read_lines(folder / "responses" / "rt.txt"),
        "gold": truth,
        "const": constant[:1] * len(truth),
    }
    contexts = read_lines(folder / "testSource.txt")
    return {name: evaluate(responses, truth, contexts, words) for name, responses in sets.items()}


def parity(folder: Path) -> dict[str, Any]:
    """Return both values of every figure, and the largest difference to six digits; 0 means equal as printed."""
    sets: dict[str, Any] = {}
    largest = 0.0
    for name, found in our_figures(folder).items():
        sets[name] = {}
        for metric, expected in peer_figures(name).items():
            figure = found[metric]
            mean = figure["mean"]
            largest = max(largest, abs(round(mean, 6) - expected)) if mean is not None else float("inf")
            sets[name][metric] = {"peer": expected, **figure}
    return {"largest_difference_as_printed": round(largest, 9), "sets": sets}


def main() -> None:
    """Compare, write, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args()
    facts = {"command": command_line(), "date": str(date.today()), "numpy": version("numpy")}
    result = {**facts, **parity(arguments.folder)}
    write_text(arguments.out, json.dumps(result, indent=1) + "\n")
    print(f"largest difference, as printed: {result['largest_difference_as_printed']}")  # noqa: T201


if __name__ == "__main__":
    main()
