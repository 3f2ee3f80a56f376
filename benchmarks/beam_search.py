"""Beam search with a cache on batches of histories, compared with the same search without a cache on one history at a
time, as in the response models' original code.

    python benchmarks/beam_search.py

Both answer the same histories with the same model of the papers' size (40.4 million parameters, 50,265 tokens), 32
beams and 4-gram blocking. Its weights are random, so it hardly ever ends an answer, and all answers have the set
length. The search without a cache decodes all previous tokens again at each step, like `decode` of the authors. The
searches alternate on one thread and are timed in processor seconds, since other work shares the machine; their answers
are compared. Also measured: the search with the cache and torch's plain weights, which the responder packs for oneDNN,
and with a batch of one. With `--model FOLDER` both use that trained model, which ends its answers itself, so that the
lengths are maxima; the histories are still random tokens. Writes benchmarks/beam_search.json.
"""

import argparse
import time
from collections.abc import Callable
from copy import deepcopy
from datetime import date
from pathlib import Path
from typing import Any, cast

import torch

from benchmarks.machine import command_line, describe_machine, write_result
from edos_dataset.encoders.encoder import limit_threads, pack_linears
from edos_dataset.generation.decoding import Answer, beam_search
from edos_dataset.generation.loading import load_own
from edos_dataset.generation.model import ResponseConfig, ResponseModel

Given = dict[str, torch.Tensor]
Search = Callable[[Given], list[list[Answer]]]


def histories(config: ResponseConfig, number: int, length: int) -> Given:
    """Return random histories of two turns, with labels, and the labels of their answers."""
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(4, config.vocab_size, (number, length), generator=generator)
    ids[:, 0], ids[:, -1] = config.bos_token_id, config.eos_token_id
    ids[:, length // 2 : length // 2 + 2] = config.eos_token_id
    labels = torch.randint(0, 41, (number, 3), generator=generator)
    of_token = torch.where(torch.arange(length) <= length // 2, labels[:, :1], labels[:, 1:2])
    known = {"label_ids": of_token, "response_labels": labels[:, 2]} if config.num_response_labels else {}
    return {"input_ids": ids, **known}


def load_model(arguments: argparse.Namespace) -> ResponseModel:
    """Return the trained model of `--model`, or one of the papers' size with random weights."""
    if arguments.model is not None:
        return cast(ResponseModel, load_own(arguments.model, ResponseModel, "cpu", packed=False)[0])
    torch.manual_seed(0)
    model = ResponseModel(ResponseConfig(arguments.vocabulary, num_response_labels=41, num_segments=2))
    return cast(ResponseModel, model.train(False))


@torch.inference_mode()
def without_cache(model: ResponseModel, given: Given, beams: int, tokens: int) -> list[Answer]:
    """Return the best answers to one history with the search of `beam_search`, decoding all tokens again at
    each step.
    """
    source = model.encoder(given["input_ids"], label_ids=given.get("label_ids"))[0]
    label, end = given.get("response_labels"), model.config.eos_token_id
    segments = model.next_segments(given["input_ids"])
    live = torch.full((1, 1), model.config.bos_token_id)
    scores, found = torch.zeros(1), list[Answer]()
    for length in range(1, tokens + 1):
        rows = len(live)
        logits = model(
            encoder_outputs=(source.expand(rows, -1, -1),),
            attention_mask=torch.ones(rows, source.shape[1]),
            decoder_input_ids=live,
            response_labels=None if label is None else label.expand(rows),
            response_segments=None if segments is None else segments.expand(rows),
            use_cache=False,
        ).logits[:, -1]
        chances = logits.log_softmax(1)
        for row, answer in enumerate(live[:, 1:].tolist()):
            for start in range(len(answer) - 3):
                if answer[start : start + 3] == answer[-3:]:
                    chances[row, answer[start + 3]] = -torch.inf
        totals = scores[:, None] + chances
        if length == tokens:
            totals = torch.full_like(totals, -torch.inf).index_copy(1, torch.tensor([end]), totals[:, [end]])
        best = totals.flatten().topk(min(beams - len(found), totals.numel()))
        parents, picked = best.indices // totals.shape[1], best.indices % totals.shape[1]
        live = torch.cat([live[parents], picked[:, None]], 1)
        ended = picked == end
        for row in (ended & ~best.values.isneginf()).nonzero().flatten().tolist():
            found.append(Answer(tuple(live[row, 1:-1].tolist()), float(best.values[row]) / length, True))
        live, scores = live[~ended], best.values[~ended]
        if not len(live) or length == tokens:
            break
    return sorted(found, key=lambda answer: -answer.score)


def measured(search: Search, given: Given) -> tuple[float, list[list[Answer]]]:
    """Return the processor seconds of a search per history, and its answers."""
    began = time.process_time()
    found = search(given)
    return (time.process_time() - began) / len(found), found


def compare(length: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """Run all variants of the search alternately for answers of a length; return seconds and ratios."""
    plain = load_model(arguments)
    packed = deepcopy(plain)
    pack_linears(packed)
    given = histories(cast(ResponseConfig, plain.config), arguments.batch, arguments.history)
    first = {name: value[:1] for name, value in given.items()}
    settings: dict[str, Any] = {"beams": arguments.beams, "max_tokens": length}
    forms: dict[str, tuple[Search, Given]] = {
        "without_cache": (lambda it: [without_cache(plain, it, arguments.beams, length)], first),
        "cache": (lambda it: beam_search(packed, it, **settings), given),
        "cache_plain_weights": (lambda it: beam_search(plain, it, **settings), given),
        "cache_batch_of_one": (lambda it: beam_search(packed, it, **settings), first),
    }
    seconds: dict[str, list[float]] = {name: [] for name in forms}
    answers: dict[str, list[list[Answer]]] = {}
    for _ in range(arguments.repeats):
        for name, (search, histories_) in forms.items():
            taken, answers[name] = measured(search, histories_)
            seconds[name].append(round(taken, 3))
    reference = answers["without_cache"][0]
    return {
        "tokens": length,
        "seconds_a_history": seconds,
        "ratio": {name: round(min(seconds["without_cache"]) / min(taken), 1) for name, taken in seconds.items()},
        "best_answer_equal": {name: own[0][0].tokens == reference[0].tokens for name, own in answers.items()},
        "answers_equal_of_32": {
            name: sum(one.tokens == other.tokens for one, other in zip(own[0], reference, strict=True))
            for name, own in answers.items()
        },
        "largest_difference_of_a_score": max(
            abs(one.score - other.score)
            for own in answers.values()
            for one, other in zip(own[0], reference, strict=True)
        ),
    }


def main() -> None:
    """Compare and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="folder of a trained response model of ours")
    parser.add_argument("--tokens", type=int, nargs="+", default=[15, 30, 60], help="lengths of the answers")
    parser.add_argument("--history", type=int, default=40, help="tokens of a history")
    parser.add_argument("--batch", type=int, default=4, help="histories answered at a time")
    parser.add_argument("--beams", type=int, default=32)
    parser.add_argument("--vocabulary", type=int, default=50_265)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args()
    with limit_threads(1):
        results = [compare(length, arguments) for length in arguments.tokens]
    report = {
        "command": command_line(),
        "date": date.today().isoformat(),
        "machine": describe_machine(),
        "torch": torch.__version__,
        "results": results,
    }
    write_result(arguments.out, report)


if __name__ == "__main__":
    main()
