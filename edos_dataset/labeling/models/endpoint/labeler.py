"""The labeler by an endpoint: one request for each turn and its history, each asked once."""

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, astuple, dataclass
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any

import numpy as np

from edos_dataset.arrays import Floats
from edos_dataset.label_sets import LabelSet
from edos_dataset.labeling.models.base import TRIAL, Labeler, dialogues_given
from edos_dataset.labeling.models.endpoint.answers import REFUSED, Answer, read_answer
from edos_dataset.labeling.models.endpoint.cache import Answers, Usage
from edos_dataset.labeling.models.endpoint.prompts import VERSION, Mode, estimated_tokens, instructions, request
from edos_dataset.labeling.models.endpoint.server import RefusedError, Server
from edos_dataset.labeling.models.endpoint.settings import PREFIX, Endpoint, EndpointError
from edos_dataset.runs.fingerprints import hash_json

HISTORY = 10
"""Earlier turns that a turn is seen with, unless another number is given."""

ANSWER_TOKENS = 12
"""Tokens of an answer, about, for estimates."""

_LEAST_PROBABILITY = 0.5  # from which one of several labels holds
_TRIES = 3  # requests for a turn whose answers cannot be used


@dataclass(frozen=True)
class Need:
    """What labelling needs, before it is done.

    Attributes:
        turns: turns to label.
        requests: different questions, of which `cached` are answered already.
        cached: see there.
        tokens_in: tokens of the prompts of the others, estimated by their length.
        tokens_out: tokens of their answers, estimated.
    """

    turns: int = 0
    requests: int = 0
    cached: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def __add__(self, other: "Need") -> "Need":
        return Need(*(one + two for one, two in zip(astuple(self), astuple(other), strict=True)))


class EndpointLabeler(Labeler):
    """Labels turns by asking a language model at an endpoint. A turn that it does not answer with a label of the set,
    after three tries, has no label: its probabilities are NaN.

    Args:
        model: name of the model at the endpoint.
        endpoint: where it is.
        labels: the labels to choose from.
        history: number of earlier turns that a turn is seen with, from 0.
        several: whether a turn can have several labels.
    """

    def __init__(
        self,
        model: str,
        endpoint: Endpoint,
        labels: LabelSet = Labeler.label_set,
        history: int = HISTORY,
        several: bool = False,
    ) -> None:
        if not model:
            raise ValueError(f"{PREFIX} lacks the name of a model, as in {PREFIX}qwen3:8b")
        self._model, self.endpoint = model, endpoint
        self.label_set, self.context, self._several = labels, history, several
        self.threshold = _LEAST_PROBABILITY if several else None

    def naming(self, labels: LabelSet, several: bool) -> "EndpointLabeler":
        """Return the same labeler with other labels to choose from."""
        return EndpointLabeler(self._model, self.endpoint, labels, self.context or 0, several)

    @cached_property
    def identity(self) -> str:
        """Name of the model and a digest of it, the address, the prompt and the labels."""
        digest = hash_json([VERSION, self._model, self.endpoint.shown, self.prompt, self.context])
        return f"{PREFIX}{self._model.replace('@', '-')}@{digest[:16]}"

    @property
    def prompt(self) -> str:
        """Fingerprint of the prompt, 16 hex digits."""
        return hash_json([instructions(self.label_set, self._several), self.label_set.labels])[:16]

    @property
    def record(self) -> dict[str, Any]:  # type: ignore[override]
        """How the labels come about: model, host, label set, prompt, and what the confidence is."""
        mode = self._known_mode
        sure = "stated by the model" if self._several else mode.confidence if mode else "not known"
        return {
            "model": self._model,
            "host": self.endpoint.host,
            "label_set": self.label_set.name,
            "prompt": self.prompt,
            "history": self.context,
            "several": self._several,
            "confidence": f"{sure}; 1 where an answer has none",
            "unanswered": "turns without a usable answer have no label",
        }

    def check(self) -> None:
        """Ask for the label of a turn, unless that was done before.

        Raises:
            EndpointError: the endpoint cannot be reached, has no such model, or refuses the key.
        """
        _ = self._mode

    def absence(self) -> str | None:
        """Return what is wrong if no server listens, which is no error as long as all answers are on disk."""
        try:
            self._server.check_there()
        except EndpointError as error:
            return str(error)
        return None

    def predict_proba(self, dialogues: Sequence[Sequence[str]]) -> Floats:
        """Return the probabilities of every turn; see `Labeler`. Those of a turn without an answer are NaN.

        Raises:
            ValueError: these are not dialogues.
            EndpointError: the endpoint fails; what it answered is kept.
        """
        questions = self._questions(dialogues_given(dialogues))
        mode = self._mode if questions else Mode()
        keys = [self._key(mode, *question) for question in questions]
        answers = self._answered(dict(zip(keys, questions, strict=True)), mode)
        found = np.zeros((len(keys), len(self.label_set)), np.float32)
        for row, key in enumerate(keys):
            for label, probability in answers[key].probabilities.items():
                found[row, self.label_set.ids[label]] = probability
            if not answers[key].probabilities:
                found[row] = np.nan
        return found

    def need(self, dialogues: Sequence[Sequence[str]]) -> Need:
        """Return what labelling dialogues needs, without asking anything."""
        mode, asked = self._known_mode, self._questions(dialogues)
        questions = {self._key(mode or Mode(), *question): question for question in asked}
        there = self._answers.found(questions) if mode else {}
        rest = [question for key, question in questions.items() if key not in there]
        tokens = sum(estimated_tokens(self._request(mode or Mode(), *question)) for question in rest)
        return Need(len(asked), len(questions), len(there), tokens, ANSWER_TOKENS * len(rest))

    def final_usage(self) -> Usage:
        """Return what the run needed, and forget it: another run with the same name begins at 0."""
        return self._answers.final_usage(self.endpoint.run)

    @property
    def _answers(self) -> Answers:
        return Answers(self._model, self.endpoint.shown)

    @property
    def _server(self) -> Server:
        endpoint = self.endpoint
        return _server(endpoint, self._model, str(endpoint.url), endpoint.key, os.getpid())

    @property
    def _listening(self) -> Server:
        """The client, of which it is known that a server listens."""
        server = self._server
        if not server.answered:
            server.check_there()
        return server

    def _questions(self, dialogues: Sequence[Sequence[str]]) -> list[tuple[tuple[str, ...], str]]:
        """Return the history of each turn, and the turn."""
        reach = self.context or 0
        return [
            (tuple(turns[max(0, place - reach) : place]), turn)
            for turns in dialogues
            for place, turn in enumerate(turns)
        ]

    def _request(self, mode: Mode, history: Sequence[str], turn: str, faults: Sequence[str] = ()) -> dict[str, Any]:
        return request(self._model, self.label_set, self._several, mode, history, turn, faults)

    def _key(self, mode: Mode, history: Sequence[str], turn: str) -> str:
        return hash_json([VERSION, self.endpoint.shown, self._request(mode, history, turn)])

    @property
    def _mode_key(self) -> str:
        return self._key(Mode(), (), TRIAL[0][0])

    @cached_property
    def _known_mode(self) -> Mode | None:
        known: Any = self._answers.mode(self._mode_key)
        return Mode(**known) if known else None

    @cached_property
    def _mode(self) -> Mode:
        """What the server accepts, found out by one turn, or known from before."""
        if self._known_mode is not None:
            return self._known_mode
        mode, turn = Mode(top_logprobs=0) if self._several else Mode(), TRIAL[0][0]
        server, first, used = self._server, True, Usage()
        while True:
            try:
                reply = server.ask(self._request(mode, (), turn), first)
            except RefusedError as error:
                weaker = mode.weaker(str(error))
                if weaker is None:
                    raise EndpointError(f"the endpoint {self.endpoint.shown} refuses every request ({error})") from None
                mode, first = weaker, False
                continue
            used += _usage_of(reply)
            if not mode.top_logprobs or _has_logprobs(reply):
                break
            mode = Mode(mode.form, 0, mode.temperature, mode.max_tokens)
        answer = read_answer(reply, self.label_set, self._several)
        kept = {self._key(mode, (), turn): answer} if answer.probabilities else {}
        self._answers.keep(kept, self.endpoint.run, used)
        self._answers.keep_mode(self._mode_key, asdict(mode))
        self._known_mode = mode
        return mode

    def _answered(self, questions: Mapping[str, tuple[tuple[str, ...], str]], mode: Mode) -> dict[str, Answer]:
        """Return the answers to questions, by their keys, and keep those that are new as they arrive."""
        answers, store = self._answers.found(questions), self._answers
        store.keep({}, self.endpoint.run, Usage(cached=len(answers)))
        rest = iter([(key, question) for key, question in questions.items() if key not in answers])
        if len(answers) == len(questions):
            return answers
        server = self._listening

        def ask(key: str, question: tuple[tuple[str, ...], str]) -> tuple[str, Answer, Usage]:
            return key, *self._ask(server, mode, *question)

        with ThreadPoolExecutor(self.endpoint.concurrency) as threads:
            waiting = {threads.submit(ask, *each) for each in islice(rest, self.endpoint.concurrency)}
            failure: BaseException | None = None
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                failure = failure or next((each.exception() for each in done if each.exception()), None)
                new, used = _gathered(done)
                # What the server itself refuses costs nothing, and may be asked again.
                store.keep({key: each for key, each in new.items() if each.why != REFUSED}, self.endpoint.run, used)
                answers |= new
                if failure is None:
                    waiting |= {threads.submit(ask, *each) for each in islice(rest, len(done))}
        if failure is not None:
            raise failure
        return answers

    def _ask(self, server: Server, mode: Mode, history: tuple[str, ...], turn: str) -> tuple[Answer, Usage]:
        faults: list[str] = []
        used = Usage()
        while True:
            try:
                reply = server.ask(self._request(mode, history, turn, faults))
            except RefusedError:
                return Answer({}, REFUSED), used + Usage(1)
            used += _usage_of(reply)
            answer = read_answer(reply, self.label_set, self._several)
            if not answer.fault or len(faults) == _TRIES - 1:
                return answer._replace(fault=""), used
            faults.append(answer.fault)


@lru_cache(maxsize=8)
def _server(endpoint: Endpoint, model: str, *_: object) -> Server:
    """Return the client of a process; the other arguments are what the environment adds."""
    return Server(endpoint, model)


def _gathered(done: set["Future[tuple[str, Answer, Usage]]"]) -> tuple[dict[str, Answer], Usage]:
    """Return the answers of finished requests, and what they needed together."""
    results = [each.result() for each in done if each.exception() is None]
    return {key: answer for key, answer, _ in results}, sum((used for *_, used in results), Usage())


def _usage_of(reply: Mapping[str, Any]) -> Usage:
    usage = reply.get("usage")
    return Usage(1, 0, *_counts(usage if isinstance(usage, Mapping) else {}))


def _counts(usage: Mapping[str, Any]) -> Iterator[int]:
    for name in ("prompt_tokens", "completion_tokens"):
        number = usage.get(name)
        yield number if isinstance(number, int) and not isinstance(number, bool) and number >= 0 else 0


def _has_logprobs(reply: Mapping[str, Any]) -> bool:
    try:
        return bool(reply["choices"][0]["logprobs"]["content"])
    except (LookupError, TypeError):
        return False
