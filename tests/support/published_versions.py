"""Publishes a folder to the local Hub, and looks at what is there then."""

from edos_dataset.hub import publish as publishing
from edos_dataset.hub.composition import reading, versioned
from edos_dataset.hub.versions import CHANGELOG
from published_folder import REPO, V1, content, remote

KEY = ("datasets", REPO)


def publish(hub, folder, version=V1, **options):
    token = options.pop("token", "hf_ns")
    with reading([folder]) as found:
        return publishing.publish(found, remote(hub, token), version, **options)


def paths(folder):
    return sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file() and ".run" not in path.parts
    )


def state(hub):
    """Return what the repository points to: its branches and tags."""
    repo = hub.repos[KEY]
    return dict(repo.branches), dict(repo.tags)


def as_published(folder, path, version=V1):
    """Return the bytes of a file of the folder as a version has them: the card says which version it is."""
    found = (folder / path).read_bytes()
    return versioned(found.decode(), str(version)).encode() if path == "README.md" else found


def assert_published(hub, folder, version=V1):
    repo = hub.repos[KEY]
    commit = repo.at(version.tag)
    assert sorted(commit.files) == sorted([".gitattributes", CHANGELOG, "croissant.json", *paths(folder)])
    for path in paths(folder):
        assert content(hub, commit, path) == as_published(folder, path, version)
