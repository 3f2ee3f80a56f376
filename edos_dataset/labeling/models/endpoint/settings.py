"""Where an endpoint is and how it is asked: what a user gives by hand, and no recipe."""

import os
import re
from dataclasses import dataclass, field
from uuid import uuid4

from edos_dataset.runs.http import httpx

PREFIX = "openai:"
"""What the names of models at an endpoint begin with."""

URL, KEY = "OPENAI_BASE_URL", "OPENAI_API_KEY"
"""Variables of the environment with the address and the key, as OpenAI's own client reads them."""

_WORD = re.compile(r"\S+")
_SECRET = "***"


class EndpointError(ValueError):
    """An endpoint cannot be used; the message says why and what to do."""


@dataclass(frozen=True)
class Endpoint:
    """An endpoint of OpenAI's chat completions. None of it is part of a recipe: one of others could send texts and keys
    to any address.

    Attributes:
        base_url: address up to `/v1`; by default that of the environment, `OPENAI_BASE_URL`, which also adds its
            credentials and query to the same address without them.
        api_key_env: variable of the environment with the key; by default `OPENAI_API_KEY`, if there is one.
        concurrency: maximum number of requests at a time, from 1.
        timeout: seconds without an answer after which a request counts as lost, above 0.
        price_in: price of a million tokens of prompts, in any currency; None if unknown, as is the next.
        price_out: price of a million tokens of answers.
        run: under which the requests of a run are counted, in all of its processes.

    Raises:
        ValueError: the address or a number is impossible.
    """

    base_url: str | None = field(default=None, repr=False)
    api_key_env: str | None = None
    concurrency: int = 8
    timeout: float = 120.0
    price_in: float | None = None
    price_out: float | None = None
    run: str = field(default_factory=lambda: uuid4().hex)

    def __post_init__(self) -> None:
        """Check the address and the numbers."""
        if not 1 <= self.concurrency <= 1_000:
            raise ValueError(f"--concurrency is from 1 to 1,000 requests, got {self.concurrency}")
        if not 0 < self.timeout <= 86_400:
            raise ValueError(f"--timeout is above 0 and at most 86,400 seconds, got {self.timeout:g}")
        for name, price in (("--price-in", self.price_in), ("--price-out", self.price_out)):
            if price is not None and not price >= 0:
                raise ValueError(f"{name} is a price of a million tokens, from 0, got {price:g}")
        if self.base_url is not None:
            self._parsed()

    def _parsed(self) -> "httpx.URL":
        known = os.environ.get(URL)
        given = known if known and self.base_url == public_address(known) else self.base_url or known
        if not given:
            raise EndpointError(
                f"models named {PREFIX}MODEL are at an endpoint: give its address, --base-url "
                f"http://localhost:8000/v1, or set {URL}"
            )
        try:
            url = httpx.URL(given)
        except httpx.InvalidURL as error:
            raise EndpointError(f"--base-url {without_credentials(given)} is no address: {error}") from None
        if url.scheme not in ("http", "https") or not url.host:
            raise EndpointError(
                f"--base-url {without_credentials(given)} is no address: expected http:// or https://, as in "
                "http://localhost:8000/v1"
            )
        return url

    @property
    def url(self) -> "httpx.URL":
        """Address to which chats are posted, with all that the user gave."""
        base = self._parsed()
        path = base.path.rstrip("/").removesuffix("/chat/completions")
        return base.copy_with(path=f"{path}/chat/completions")

    @property
    def models(self) -> "httpx.URL":
        """Address that lists the models of the endpoint."""
        url = self.url
        return url.copy_with(path=f"{url.path.removesuffix('/chat/completions')}/models")

    @property
    def shown(self) -> str:
        """The base address without credentials, query and fragment, for records and messages."""
        url = self._parsed()
        path = url.path.rstrip("/").removesuffix("/chat/completions")
        return f"{url.scheme}://{url.netloc.decode()}{path}"

    @property
    def host(self) -> str:
        """Host and port."""
        return self._parsed().netloc.decode()

    @property
    def key(self) -> str | None:
        """The key from the environment, or None if it has none.

        Raises:
            EndpointError: the variable that the user named is absent.
        """
        key = os.environ.get(self.api_key_env or KEY, "").strip()
        if self.api_key_env and not key:
            raise EndpointError(f"--api-key-env {self.api_key_env}: the environment has no such variable: export it")
        return key or None

    def hidden(self, text: str) -> str:
        """Return a text without the key and without the credentials of addresses."""
        url = self._parsed()
        secrets = [os.environ.get(self.api_key_env or KEY, "").strip(), url.password, url.query.decode()]
        for secret in secrets:
            text = text.replace(secret, _SECRET) if secret else text
        return without_credentials(text)

    def cost(self, tokens_in: int, tokens_out: int) -> float | None:
        """Return the price of tokens; None if a price is unknown."""
        if self.price_in is None and self.price_out is None:
            return None
        return ((self.price_in or 0) * tokens_in + (self.price_out or 0) * tokens_out) / 1e6


def public_address(address: str) -> str:
    """Return an address without credentials, query and fragment, which may hold secrets."""
    return without_credentials(re.split(r"[?#]", address, maxsplit=1)[0])


def without_credentials(text: str) -> str:
    """Return a text in which addresses have no user names and passwords, those included that make one invalid."""
    return _WORD.sub(lambda word: _without_credentials(word[0]), text)


def _without_credentials(address: str) -> str:
    scheme, mark, rest = address.partition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}" if mark else address
