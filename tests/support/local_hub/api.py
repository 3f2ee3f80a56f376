"""What each route of the Hub's API does to what it keeps. A function takes the hub and the request (`parts` of its
path, `query`, `body`) and returns an answer.
"""

import base64
import io
from dataclasses import dataclass, field

from local_hub.store import LARGE, REGULAR_LIMIT, File, Refused, Repo, entry, tree

ID = r"(?P<name>[^/]+/[^/]+)"
API = rf"/api/(?P<kind>models|datasets|spaces)/{ID}"
REPO = rf"/(?:(?P<kind>datasets|spaces)/)?{ID}"
ROUTES = {
    "whoami": ("GET", r"/api/whoami-v2"),
    "validate": ("POST", r"/api/validate-yaml"),
    "create": ("POST", r"/api/repos/create"),
    "preupload": ("POST", rf"{API}/preupload/(?P<revision>[^/]+)"),
    "commit": ("POST", rf"{API}/commit/(?P<revision>[^/]+)"),
    "commits": ("GET", rf"{API}/commits/(?P<revision>[^/]+)"),
    "tree": ("GET", rf"{API}/tree/(?P<revision>[^/]+)(?:/(?P<path>.*))?"),
    "paths": ("POST", rf"{API}/paths-info/(?P<revision>[^/]+)"),
    "refs": ("GET", rf"{API}/refs"),
    "tag": ("POST|DELETE", rf"{API}/tag/(?P<revision>[^/]+)"),
    "branch": ("POST|DELETE", rf"{API}/branch/(?P<revision>[^/]+)"),
    "info": ("GET", rf"{API}(?:/revision/(?P<revision>[^/]+))?"),
    "lfs_batch": ("POST", rf"{REPO}\.git/info/lfs/objects/batch"),
    "lfs_upload": ("PUT", r"/lfs/(?P<oid>[0-9a-f]{64})"),
    "lfs_verify": ("POST", r"/lfs/(?P<oid>[0-9a-f]{64})/verify"),
    "resolve": ("GET|HEAD", rf"{REPO}/resolve/(?P<revision>[^/]+)/(?P<path>.+)"),
}
"""Methods and path of each route; its function below has the same name."""
_WRITES = ("preupload", "commit", "tag", "branch", "lfs_batch")


@dataclass
class Answer:
    """An answer with headers: a body to send as JSON, or an open file to send in the part that was asked for."""

    body: object = None
    headers: dict[str, str] = field(default_factory=dict)
    status: int = 200
    file: io.BufferedIOBase | None = None
    size: int = 0


def user_of(hub, request, route):
    """Return whose token the request has, or None without one; refused if the token is unknown, or may not do this."""
    token = (request.headers.get("Authorization") or "").removeprefix("Bearer ")
    if not token:
        user = None
    elif token not in hub.tokens:
        raise Refused(401, "Invalid credentials in Authorization header")
    else:
        user = hub.tokens[token]
    namespace = request.parts.get("name", "").split("/")[0]
    if route in (*_WRITES, "create", "whoami") and user is None:
        raise Refused(401, "Invalid username or password.")
    if route in (*_WRITES, "create") and token in hub.readers or route in _WRITES and namespace != user:
        raise Refused(403, f"you don't have the rights to write to {request.parts.get('name', 'the namespace')}")
    return user


def repo_of(hub, request, user):
    """Return the repository of a request; one that is not there, or that the user may not see, is not found."""
    repo = hub.repos.get((request.parts.get("kind", "models"), request.parts["name"]))
    if repo is None or (repo.private and user != repo.name.split("/")[0]):
        raise Refused(404 if user else 401, "Repository not found", "RepoNotFound")
    return repo


def whoami(hub, request, user):
    role = "read" if request.headers["Authorization"].removeprefix("Bearer ") in hub.readers else "write"
    return {
        "type": "user",
        "name": user,
        "orgs": [],
        "auth": {"type": "access_token", "accessToken": {"displayName": "test", "role": role}},
    }


def validate(hub, request, user):
    return {"errors": [], "warnings": []}


def create(hub, request, user):
    namespace = request.body.get("organization") or user
    if namespace != user:
        raise Refused(403, f"You don't have the rights to create a repository under the namespace {namespace!r}")
    kind, name = request.body.get("type", "model") + "s", f"{namespace}/{request.body['name']}"
    if kind == "spaces" and request.body.get("sdk") not in ("gradio", "docker", "static"):
        raise Refused(400, '"sdk" must be one of [gradio, docker, static]')
    url = f"{hub.url}/{'' if kind == 'models' else kind + '/'}{name}"
    if (kind, name) in hub.repos:
        raise Refused(409, "You already created this repo", url=url)
    hub.repos[kind, name] = Repo(
        kind, name, private=request.body.get("visibility") == "private" or bool(request.body.get("private"))
    )
    return {"url": url, "name": name, "id": name}


def preupload(hub, request, user):
    known = repo_of(hub, request, user).at(request.parts["revision"]).files
    modes = {
        file["path"]: "lfs" if file["path"].endswith(LARGE) or file["size"] > REGULAR_LIMIT else "regular"
        for file in request.body["files"]
    }
    return {
        "files": [
            {
                "path": path,
                "uploadMode": mode,
                "shouldIgnore": False,
                **({"oid": known[path].etag} if path in known else {}),
            }
            for path, mode in modes.items()
        ]
    }


def commit(hub, request, user):
    repo, branch = repo_of(hub, request, user), request.parts["revision"]
    lines = request.lines()
    header = next(line["value"] for line in lines if line["key"] == "header")
    files = dict(repo.at(branch).files)
    for line in lines:
        value = line["value"]
        if line["key"] == "file":
            content = base64.b64decode(value["content"])
            files[value["path"]] = File(len(content), content)
        elif line["key"] == "lfsFile":
            size = hub.objects.size(value["oid"])
            if size is None:
                raise Refused(400, f"LFS object {value['oid']} was not uploaded")
            files[value["path"]] = File(size, sha256=value["oid"])
        elif line["key"] in ("deletedFile", "deletedFolder"):
            gone = [path for path in files if path == value["path"] or path.startswith(value["path"].rstrip("/") + "/")]
            if not gone:
                raise Refused(404, "A file with this name doesn't exist", "EntryNotFound")
            for path in gone:
                del files[path]
    sha = repo.commit(branch, header["summary"], files, header.get("parentCommit"))
    return {
        "success": True,
        "commitOid": sha,
        "commitUrl": f"{hub.url}/{repo.kind}/{repo.name}/commit/{sha}",
        "hookOutput": "",
    }


def commits(hub, request, user):
    log = repo_of(hub, request, user).log(request.parts["revision"])
    return [
        {"id": one.sha, "title": one.title, "message": "", "date": one.date, "authors": [{"user": user or "ns"}]}
        for one in log
    ]


def tree_(hub, request, user):
    """List a folder, `hub.page` entries at a time; a header names the next page."""
    files = repo_of(hub, request, user).at(request.parts["revision"]).files
    found = tree(files, request.parts.get("path", "").strip("/"), request.query.get("recursive", "").lower() == "true")
    first = int(request.query.get("cursor", 0))
    page = f"recursive={request.query.get('recursive', 'false')}&cursor={first + hub.page}"
    following = f"{hub.url}{request.path.split('?')[0]}?{page}"
    return Answer(
        found[first : first + hub.page], {"Link": f'<{following}>; rel="next"'} if len(found) > first + hub.page else {}
    )


def paths(hub, request, user):
    files = repo_of(hub, request, user).at(request.parts["revision"]).files
    found = []
    for path in request.body["paths"]:
        if path in files:
            found.append(entry(path, files[path]))
        elif any(name.startswith(path + "/") for name in files):
            found.append({"type": "directory", "oid": "0" * 40, "size": 0, "path": path})
    return found


def refs(hub, request, user):
    repo = repo_of(hub, request, user)
    branches = [{"name": name, "ref": f"refs/heads/{name}", "targetCommit": sha} for name, sha in repo.branches.items()]
    return {
        "branches": branches,
        "converts": [],
        "tags": [{"name": name, "ref": f"refs/tags/{name}", "targetCommit": sha} for name, sha in repo.tags.items()],
    }


def tag(hub, request, user):
    repo = repo_of(hub, request, user)
    if request.command == "DELETE":
        _remove(repo.tags, request.parts["revision"])
        return {}
    name = request.body["tag"]
    if name in repo.tags:
        raise Refused(409, f"Tag reference exists already: refs/tags/{name}")
    repo.tags[name] = repo.at(request.parts["revision"]).sha
    return {}


def branch(hub, request, user):
    repo, name = repo_of(hub, request, user), request.parts["revision"]
    if request.command == "DELETE":
        _remove(repo.branches, name)
        return {}
    if name in repo.branches:
        raise Refused(409, f"Reference already exists: refs/heads/{name}")
    repo.branches[name] = repo.at(request.body.get("startingPoint") or "main").sha
    return {}


def _remove(names, name):
    if names.pop(name, None) is None:
        raise Refused(404, f"no {name}", "RevisionNotFound")


def info(hub, request, user):
    repo = repo_of(hub, request, user)
    commit = repo.at(request.parts.get("revision", "main"))
    common = {
        "id": repo.name,
        "sha": commit.sha,
        "private": repo.private,
        "lastModified": commit.date,
        "createdAt": commit.date,
        "author": repo.name.split("/")[0],
    }
    return {
        **common,
        "tags": [],
        "downloads": 0,
        "likes": 0,
        "disabled": False,
        "gated": False,
        "siblings": [{"rfilename": path} for path in sorted(commit.files)],
    }


def lfs_batch(hub, request, user):
    repo_of(hub, request, user)
    objects = []
    for wanted in request.body["objects"]:
        href = f"{hub.url}/lfs/{wanted['oid']}"
        actions = (
            {}
            if hub.objects.size(wanted["oid"]) is not None
            else {"actions": {"upload": {"href": href}, "verify": {"href": f"{href}/verify"}}}
        )
        objects.append({**wanted, **actions})
    return {"transfer": "basic", "objects": objects}


def lfs_upload(hub, request, user):
    hub.objects.put(request.parts["oid"], request.received)
    return {}


def lfs_verify(hub, request, user):
    if hub.objects.size(request.parts["oid"]) != request.body["size"]:
        raise Refused(404, "the object is not there, or has another size")
    return {}


def resolve(hub, request, user):
    commit = repo_of(hub, request, user).at(request.parts["revision"])
    file = commit.files.get(request.parts["path"])
    if file is None:
        raise Refused(404, "Entry not found", "EntryNotFound")
    headers = {"X-Repo-Commit": commit.sha, "ETag": f'"{file.etag}"'}
    if file.sha256:
        headers |= {"X-Linked-ETag": f'"{file.sha256}"', "X-Linked-Size": str(file.size)}
    stream = io.BytesIO(file.content) if file.sha256 is None else hub.objects.path(file.sha256).open("rb")
    return Answer(None, headers, file=stream, size=file.size)


HANDLERS = {name: tree_ if name == "tree" else globals()[name] for name in ROUTES}
