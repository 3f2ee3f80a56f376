"""A server of this process that speaks Google Cloud Storage's XML API, with conditions on generations."""

import threading
from contextlib import contextmanager
from email.utils import formatdate
from hashlib import md5
from http.server import BaseHTTPRequestHandler, HTTPServer
from time import gmtime, strftime, time
from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

import pytest

from object_store import pointing_to


class Held(NamedTuple):
    """An object of the server."""

    data: bytes
    generation: str
    written: float
    metadata: dict

    @property
    def tag(self):
        return f'"{md5(self.data).hexdigest()}"'


@contextmanager
def google_server(folder):
    """Start the server and set the environment to it; skip where obstore is not installed.

    Args:
        folder: for copies of objects.

    Yields:
        The server: `url`, `buckets` (objects by bucket and key), `page` (keys a listing gives at once), and `refusals`,
        statuses that the next requests for contents are answered with.
    """
    pytest.importorskip("obstore", reason='gs:// needs pip install "edos-dataset[gs]"')
    server = HTTPServer(("127.0.0.1", 0), Handler)  # one request at a time: nothing comes between
    server.url = f"http://127.0.0.1:{server.server_port}"
    server.buckets, server.uploads, server.refusals, server.page, server.count = {}, {}, [], 1_000, 0
    server.handle_error = lambda *_: None  # connections that are cut
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        with pointing_to({"STORAGE_EMULATOR_HOST": server.url}, folder):
            yield server
    finally:
        server.shutdown()
        server.server_close()


class Handler(BaseHTTPRequestHandler):
    """What answers requests."""

    def log_message(self, *_):
        """Print nothing."""

    def _asked(self):
        url = urlsplit(self.path)
        bucket, _, key = unquote(url.path).lstrip("/").partition("/")
        query = {name: values[0] for name, values in parse_qs(url.query, keep_blank_values=True).items()}
        return self.server.buckets.get(bucket), bucket, key, query

    def _answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if "Content_Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _fail(self, status, code):
        self._answer(status, f"<Error><Code>{code}</Code></Error>".encode())

    def _body(self):
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def _keep(self, objects, key, data, metadata):
        """Write an object if it has the generation that the request names, 0 for none."""
        there, wanted = objects.get(key), self.headers.get("x-goog-if-generation-match")
        if wanted not in (None, there.generation if there else "0"):
            self._fail(412, "PreconditionFailed")
            return None
        self.server.count += 1
        objects[key] = Held(data, str(self.server.count), time(), metadata)
        return objects[key]

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        objects, bucket, key, query = self._asked()
        if objects is None:
            self._fail(404, "NoSuchBucket")
        elif not key:
            self._list(objects, query)
        elif self.server.refusals and self.command == "GET":
            self._fail(self.server.refusals.pop(), "Refused")
        elif key not in objects:
            self._fail(404, "NoSuchKey")
        elif self.headers.get("If-Match", objects[key].tag) != objects[key].tag:
            self._fail(412, "PreconditionFailed")
        else:
            self._content(objects[key])

    def _content(self, held):
        headers = {
            "ETag": held.tag,
            "x_goog_generation": held.generation,
            "Last_Modified": formatdate(held.written, usegmt=True),
        }
        headers |= {f"x_goog_meta_{name}": value for name, value in held.metadata.items()}
        data, status = held.data, 200
        if span := self.headers.get("Range"):
            first, last = map(int, span.removeprefix("bytes=").split("-"))
            data, status = data[first : last + 1], 206
            headers["Content_Range"] = f"bytes {first}-{first + len(data) - 1}/{len(held.data)}"
        self._answer(status, data, **headers)

    def _list(self, objects, query):
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter")
        after = query.get("continuation-token") or query.get("start-after", "")
        folders, found, last = {}, [], ""
        keys = sorted(key for key in objects if key.startswith(prefix) and key > after)
        for key in keys[: self.server.page]:
            last, rest = key, key[len(prefix) :]
            if delimiter and delimiter in rest:
                folders[prefix + rest.split(delimiter)[0] + delimiter] = None
                continue
            when = strftime("%Y-%m-%dT%H:%M:%S.000Z", gmtime(objects[key].written))
            found.append(
                f"<Contents><Key>{escape(key)}</Key><LastModified>{when}</LastModified>"
                f"<ETag>{objects[key].tag}</ETag><Size>{len(objects[key].data)}</Size></Contents>"
            )
        token = f"<NextContinuationToken>{escape(last)}</NextContinuationToken>" if len(keys) > self.server.page else ""
        some = "".join(f"<CommonPrefixes><Prefix>{escape(folder)}</Prefix></CommonPrefixes>" for folder in folders)
        self._answer(200, f"<ListBucketResult>{''.join(found)}{some}{token}</ListBucketResult>".encode())

    def do_PUT(self):
        objects, bucket, key, query = self._asked()
        data, meta = self._body(), "x-goog-meta-"
        if objects is None and key:
            self._fail(404, "NoSuchBucket")
            return
        if not key:
            self.server.buckets[bucket] = {}
            self._answer(200)
            return
        if "uploadId" in query:
            self.server.uploads[query["uploadId"]][1][int(query["partNumber"])] = data
            self._answer(200, ETag=f'"{md5(data).hexdigest()}"')
            return
        metadata = {name[len(meta) :]: value for name, value in self.headers.items() if name.startswith(meta)}
        if origin := self.headers.get("x-goog-copy-source"):
            source = objects[unquote(origin).lstrip("/").partition("/")[2]]
            data, metadata = source.data, source.metadata
        if held := self._keep(objects, key, data, metadata):
            self._answer(200, ETag=held.tag, x_goog_generation=held.generation)

    def do_POST(self):
        """Begin or complete an upload in parts."""
        objects, _, key, query = self._asked()
        self._body()
        if "uploads" in query:
            meta, upload = "x-goog-meta-", f"upload{len(self.server.uploads)}"
            self.server.uploads[upload] = {n[len(meta) :]: v for n, v in self.headers.items() if n.startswith(meta)}, {}
            name = "InitiateMultipartUploadResult"
            self._answer(200, f"<{name}><UploadId>{upload}</UploadId></{name}>".encode())
            return
        metadata, parts = self.server.uploads.pop(query["uploadId"])
        held = self._keep(objects, key, b"".join(parts[number] for number in sorted(parts)), metadata)
        result = f"<CompleteMultipartUploadResult><ETag>{escape(held.tag)}</ETag></CompleteMultipartUploadResult>"
        self._answer(200, result.encode(), x_goog_generation=held.generation)

    def do_DELETE(self):
        objects, _, key, _ = self._asked()
        if objects is None or objects.pop(key, None) is None:
            self._fail(404, "NoSuchKey" if objects is not None else "NoSuchBucket")
        else:
            self._answer(204)
