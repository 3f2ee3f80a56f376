"""A server with OpenAI's chat completions on this machine, over real TCP, which answers as a test says."""

import json
import math
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from edos_dataset.labels import LABELS

CUT = "cut"  # the connection ends in the middle of the response


def question_of(body):
    """The JSON object that a request asks about: history and turn."""
    content, _ = json.JSONDecoder().raw_decode(body["messages"][1]["content"])
    return content


def labels_of(body):
    """The labels that the prompt lists."""
    lines = body["messages"][0]["content"].splitlines()
    return [line[2:].partition(":")[0] for line in lines if line.startswith("- ")]


def reply(content, logprobs=None, **more):
    """The body of a response."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"} | more
    if logprobs:
        choice["logprobs"] = {"content": logprobs}
    return {"choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": 7}}


def by_length(body):
    """Label a turn by its length: the same turn gets the same label."""
    labels = labels_of(body) or list(LABELS)
    return reply(json.dumps({"label": labels[len(question_of(body)["turn"]) % len(labels)], "confidence": 0.75}))


def spelled(*steps):
    """Log-probabilities of tokens: each a dictionary of tokens, the first of which was chosen."""
    return [
        {
            "token": next(iter(chances)),
            "logprob": math.log(next(iter(chances.values()))),
            "top_logprobs": [{"token": token, "logprob": math.log(chance)} for token, chance in chances.items()],
        }
        for chances in steps
    ]


class ChatServer:
    """Answers while it is entered.

    Attributes:
        answer: body → the body of the response, `(status, body, headers)`, or CUT. What it raises is answered by 500.
        requests: the bodies of all requests, and `headers` theirs.
        most: the largest number of requests at a time.
    """

    def __init__(self, answer=by_length):
        self.answer, self.requests, self.headers, self.most, self.now = answer, [], [], 0, 0
        self.lock = threading.Lock()

    def __enter__(self):
        handler = type("Handler", (_Handler,), {"chat": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

    @property
    def turns(self):
        """The turns that were asked about, in order."""
        return [question_of(body)["turn"] for body in self.requests]


class _Handler(BaseHTTPRequestHandler):
    chat: ChatServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        chat = self.chat
        with chat.lock:
            chat.requests.append(body)
            chat.headers.append(dict(self.headers))
            chat.now += 1
            chat.most = max(chat.most, chat.now)
        try:
            answer = (
                chat.answer(body)
                if self.path.partition("?")[0] == "/v1/chat/completions"
                else (404, {"error": "no such path"}, {})
            )
        finally:
            with chat.lock:
                chat.now -= 1
        status, content, headers = answer if isinstance(answer, tuple) else (200, answer, {})
        data = json.dumps(reply("{}") if content == CUT else content).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[:20] if content == CUT else data)
        self.close_connection = content == CUT
