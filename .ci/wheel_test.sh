#!/usr/bin/env bash
# Install the built wheel as a user does, into a fresh environment outside this checkout, and test it there: first bare,
# then with the extra `offline`.
set -euo pipefail
# Only the installed package may be found, and what is imported once need not be compiled again by every process.
unset PYTHONPATH PYTHONDONTWRITEBYTECODE
root="$(cd "$(dirname "$0")/.." && pwd)"
place="$(mktemp -d)"
trap 'rm -rf "$place"' EXIT
wheel="$(ls "$root"/dist/*.whl)"

"${PYTHON:-python3}" -m venv "$place/venv"
install() {
  # --no-compile: most modules of the dependencies are never imported here, and compiling them takes longer than tests
  "$place/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile \
    --constraint "$root/constraints.txt" "$@"
}
run() {
  (cd "$place/here" && EDOS_WHEEL="$place/venv" HF_HUB_OFFLINE=1 \
    "$place/venv/bin/pytest" -q -p no:cacheprovider -o pythonpath="$place/tests/support" "$@")
}

mkdir "$place/here"
cp -r "$root/tests" "$root/docs" "$place"
install "$wheel" pytest pytest-xdist hypothesis
# Tests find the sample where the checkout has it: here that is the installed one.
packages="$("$place/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"
ln -s "$packages/edos_dataset" "$place/edos_dataset"

run ../tests/wheel/test_base_install.py
install "$wheel[offline]"
# of the guides those two in which all steps occur: sample, curate, load, label, publish, labels-only, hydrate
pages=(../tests/docs/test_examples.py::test_page\[{quickstart,publish}\])
tests=(../tests/{wheel/test_installed,runs/test_recipes,releases/test_load,labeling/models/test_packed}.py)
run -n 2 --dist worksteal "${pages[@]}" "${tests[@]}"
