import pytest
import torch
from transformers import AutoModelForCausalLM, BartConfig, BartForConditionalGeneration, GPT2Config, GPT2LMHeadModel

from edos_dataset.generation import shipped
from edos_dataset.generation.responder import Responder
from edos_dataset.generation.steps import Steps
from edos_dataset.generation.writers import PromptFormat, PromptWriter, add_label_tokens, encode_prompt, label_token
from edos_dataset.labels import LABEL_IDS, LABELS
from generator_fixtures import encode_pair
from small_responders import EMPATHETIC, TEXTS, save_responder
from training.generator.tokenizer import train_tokenizer
from untrusted_code import EVIL, change

DIALOGUES = [["the dog ran home", "where is the dog"], ["I am happy"], ["so the dog was home", "where", "today"]]
KNOWN = [[LABEL_IDS["sad"], LABEL_IDS["questioning"]], [22], [9, 36, 40]]


def save_backbone(folder, kind="gpt2", form=None):
    """Save an untrained language model of transformers with a tokenizer; return both."""
    tokenizer = train_tokenizer([*TEXTS, "A: where B: there"], 300)
    torch.manual_seed(0)
    size = {"vocab_size": len(tokenizer), "bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2}
    if kind == "gpt2":
        config = GPT2Config(n_positions=400, n_embd=32, n_layer=2, n_head=4, initializer_range=0.3, **size)
        model = GPT2LMHeadModel(config).eval()
    else:
        size |= {"encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4}
        size |= {"encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "d_model": 32, "init_std": 0.3}
        model = BartForConditionalGeneration(BartConfig(decoder_start_token_id=2, **size)).eval()
    if form is not None:
        if form.labels == "tokens":
            assert add_label_tokens(model, tokenizer) == 41 and add_label_tokens(model, tokenizer) == 0
            with torch.no_grad():
                model.get_input_embeddings().weight[-41:].normal_()
        form.save(folder)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model, tokenizer


def test_labels_stand_as_words_or_tokens():
    turns, labels = DIALOGUES[0], KNOWN[0]
    prompts = {
        style: PromptFormat(style).lines(turns, labels, LABEL_IDS["consoling"]) for style in ("none", "words", "tokens")
    }
    assert prompts["none"] == ["B: the dog ran home\n", "A: where is the dog\n", "B:"]
    assert prompts["words"] == ["B (sad): the dog ran home\n", "A (questioning): where is the dog\n", "B (consoling):"]
    assert prompts["tokens"][0] == "B<|sad|>: the dog ran home\n" and prompts["tokens"][-1] == "B<|consoling|>:"
    assert PromptFormat("words", turns=1).lines(turns, None) == ["A: where is the dog\n", "B:"]
    assert PromptFormat().lines(["two\nlines "]) == ["A: two lines\n", "B:"]
    for wrong in ({"labels": "word"}, {"turns": 0}, {"turns": True}, {"labeler": ""}, {"labeler": 3}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} is "):
            PromptFormat(**wrong)


def test_pairs_are_cut_where_the_answer_is_not(tmp_path):
    _, tokenizer = save_backbone(tmp_path)
    lines = PromptFormat().lines(DIALOGUES[0])
    whole = tokenizer("".join(lines))["input_ids"]
    words = tokenizer(" I am happy", add_special_tokens=False)["input_ids"]
    assert encode_pair(tokenizer, lines, "I  am happy", causal=False) == (whole, [*words, 2])
    ids, labels = encode_pair(tokenizer, lines, "I am happy", causal=True)
    assert ids == [*whole, *words, 2] and labels == [-100] * len(whole) + [*words, 2]
    assert encode_prompt(tokenizer, lines, len(whole) - 1) == tokenizer("".join(lines[1:]))["input_ids"]
    assert encode_prompt(tokenizer, lines, 4) == whole[-4:]
    ids, labels = encode_pair(tokenizer, lines, "I am happy", causal=True, max_tokens=12, response_tokens=3)
    assert len(ids) == 12 and labels == [-100] * 9 + [*words[:2], 2]


@pytest.mark.parametrize("kind", ["gpt2", "bart"])
@pytest.mark.parametrize("style", ["none", "words", "tokens"])
def test_any_language_model_answers(tmp_path, kind, style):
    model, tokenizer = save_backbone(tmp_path, kind, PromptFormat(style))
    responder = Responder.load(tmp_path, batch=2)
    assert isinstance(responder.writer, PromptWriter) and responder.writer.takes_labels == (style != "none")
    given = {"beams": 4, "max_tokens": 8, "history_labels": KNOWN}
    label = None if style == "none" else "consoling"
    found = responder.respond(DIALOGUES, label, 2, **given)
    for number, turns in enumerate(DIALOGUES):
        alone = responder.respond([turns], label, 2, **given | {"history_labels": [KNOWN[number]]})[0]
        assert [each.text for each in alone] == [each.text for each in found[number]]
        assert {each.label for each in alone} == {label} and all("\n" not in each.text for each in alone)
        # The score is the model's own, of the prompt that it would be trained on.
        best = alone[0]
        lines = responder.writer.form.lines(turns, KNOWN[number], None if label is None else LABEL_IDS[label])
        prompt = torch.tensor([tokenizer("".join(lines))["input_ids"]])
        with torch.no_grad():
            if kind == "gpt2":
                chances = model(prompt).logits[:, -1].log_softmax(-1)
            else:
                chances = model(prompt, decoder_input_ids=torch.tensor([[2]])).logits[:, -1].log_softmax(-1)
        read = responder.writer.read([turns], [KNOWN[number]], [None if label is None else LABEL_IDS[label]])
        with torch.no_grad():
            assert (Steps(responder.writer.model, read).first().log_softmax(-1) - chances).abs().max() < 1e-4
        assert best.score < 0
    if style != "none":
        others = {responder.respond(DIALOGUES[:1], each, **given | {"history_labels": KNOWN[:1]})[0][0].text for each in LABELS}  # fmt: skip  # noqa: E501
        assert len(others) > 1


def test_an_adapter_changes_the_answers_of_its_base(tmp_path, monkeypatch):
    peft = pytest.importorskip("peft")
    base, tokenizer = save_backbone(tmp_path / "base")
    config = peft.LoraConfig(r=2, target_modules=["c_attn"], task_type="CAUSAL_LM")
    config.base_model_name_or_path = str(tmp_path / "base")
    torch.manual_seed(1)
    adapted = peft.get_peft_model(AutoModelForCausalLM.from_pretrained(tmp_path / "base"), config)
    for name, values in adapted.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(values)
    adapted.save_pretrained(tmp_path / "adapter")
    tokenizer.save_pretrained(tmp_path / "adapter")
    PromptFormat("words").save(tmp_path / "adapter")
    responder = Responder.load(tmp_path / "adapter")
    assert responder.writer.takes_labels
    ids = torch.tensor([[5, 6, 7]])
    with torch.no_grad():
        logits = responder.writer.model(ids).logits
        assert (logits - adapted.eval()(ids).logits).abs().max() < 1e-4 < (logits - base(ids).logits).abs().max()
    assert responder.respond(DIALOGUES, "sad", history_labels=KNOWN, beams=2, max_tokens=5)
    asked = []
    monkeypatch.setattr(
        "huggingface_hub.snapshot_download",
        lambda name, **how: asked.append((name, how["revision"])) or str(tmp_path / name.split("/")[1]),
    )
    change(tmp_path / "adapter" / "adapter_config.json", base_model_name_or_path="owner/base", revision="v2")
    assert Responder.load("owner/adapter", revision="v1").writer.takes_labels
    assert asked == [("owner/adapter", "v1"), ("owner/base", "v2")]
    (tmp_path / "adapter" / "adapter_model.safetensors").unlink()
    (tmp_path / "adapter" / "adapter_model.bin").write_bytes(b"pickle")
    with pytest.raises(ValueError, match="pickle"):
        Responder.load(tmp_path / "adapter")


def test_a_shipped_adapter_answers_as_the_trained_one_did(tmp_path, monkeypatch):
    """It is packed without its tokenizer, unpacked with the predictor of `chat`, and needs its base model."""
    peft = pytest.importorskip("peft")
    base, _ = save_backbone(tmp_path / "base")
    config = peft.LoraConfig(r=2, target_modules=["c_attn"], task_type="CAUSAL_LM")
    config.base_model_name_or_path = "owner/base"
    torch.manual_seed(1)
    adapted = peft.get_peft_model(AutoModelForCausalLM.from_pretrained(tmp_path / "base"), config)
    for name, values in adapted.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(values)
    adapted.save_pretrained(tmp_path / "adapter")
    change(tmp_path / "adapter" / "adapter_config.json", base_model_name_or_path="owner/base")
    PromptFormat("words", labeler="fast").save(tmp_path / "adapter")
    save_responder(tmp_path / "chat", **EMPATHETIC)
    monkeypatch.setattr(shipped, "WEIGHTS", tmp_path / "weights")
    monkeypatch.setattr("huggingface_hub.constants.HF_HOME", str(tmp_path / "home"))
    shipped.pack(tmp_path / "chat", tmp_path / "weights" / "chat")
    shipped.pack(tmp_path / "adapter", tmp_path / "weights" / "chat-large")
    packed = {path.name for path in (tmp_path / "weights" / "chat-large").iterdir()}
    assert packed == {"adapter_config.json", "packed.safetensors", "prompt.json"}

    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda name, **_: str(tmp_path / name.split("/")[1]))
    responder = Responder.load("chat-large")
    assert responder.labeler == "fast" and responder.writer.beams == 4, "as the model was trained, unless told"
    assert Responder.load("chat-large", labeler="general").labeler == "general"
    ids = torch.tensor([[5, 6, 7]])
    with torch.no_grad():
        logits, wanted, plain = (model(ids).logits for model in (responder.writer.model, adapted.eval(), base))
    assert (logits - wanted).abs().max() < 0.1 * (wanted - plain).abs().max()
    assert responder.respond(DIALOGUES, candidates=2, max_tokens=5)[0][0].probability > 0
    again = peft.PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(tmp_path / "base"), responder.folder)
    with torch.no_grad():
        assert torch.allclose(again(ids).logits, logits, atol=1e-4)

    def nowhere(name, **_):
        raise OSError("no network")

    monkeypatch.setattr("huggingface_hub.snapshot_download", nowhere)
    with pytest.raises(ValueError, match=r"adapter of 'owner/base', .*: no network; download it once with"):
        Responder.load("chat-large")


def test_code_of_a_language_model_is_not_run_unasked(tmp_path, monkeypatch):
    monkeypatch.setattr("builtins.input", lambda *_: "yes")
    save_backbone(tmp_path)
    (tmp_path / "evil.py").write_text(EVIL.format(ran=str(tmp_path / "ran")))
    names = {"AutoConfig": "evil.Config", "AutoModelForCausalLM": "evil.Model"}
    change(tmp_path / "config.json", model_type="evil", auto_map=names)
    with pytest.raises(ValueError, match="contains code of its own"):
        Responder.load(tmp_path)
    assert not (tmp_path / "ran").exists()


def test_a_label_token_is_never_said(tmp_path):
    model, tokenizer = save_backbone(tmp_path, form=PromptFormat("tokens"))
    token = tokenizer.convert_tokens_to_ids(label_token(3))
    writer = Responder.load(tmp_path).writer
    assert token in writer.never and 2 not in writer.never and 2 in writer.model.generation_config.eos_token_id


def test_an_adapter_in_a_folder_asks_nothing_of_the_hub(tmp_path, monkeypatch):
    save_backbone(tmp_path / "adapter")
    (tmp_path / "adapter" / "adapter_config.json").write_text('{"base_model_name_or_path": "owner/base"}')
    asked = []

    def snapshot_download(name, local_files_only=False, **_):
        asked.append((name, local_files_only))
        raise OSError("not here")

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot_download)
    with pytest.raises(
        ValueError, match=r"adapter of the model 'owner/base', which is not on this machine.*hf download"
    ):
        Responder.load(tmp_path / "adapter")
    assert asked == [("owner/base", True)]


@pytest.mark.parametrize("kind", ["gpt2", "bart"])
@pytest.mark.parametrize("eos", ["2", {"a": 1}, -1, 10**9, [2, None], True])
def test_ends_of_answers_are_tokens_of_the_model(tmp_path, kind, eos):
    save_backbone(tmp_path, kind)
    change(tmp_path / "generation_config.json", eos_token_id=eos)
    with pytest.raises(ValueError, match=r"eos_token_id|holds no language model"):
        Responder.load(tmp_path).respond(DIALOGUES[:1], beams=2, max_tokens=4)


def test_more_layers_than_any_model_has_are_refused_before_they_are_built(tmp_path):
    save_backbone(tmp_path)
    change(tmp_path / "config.json", n_layer=1_000_000)
    with pytest.raises(ValueError, match="more than 1,000 layers"):
        Responder.load(tmp_path)


def test_weights_that_are_no_numbers_are_told(tmp_path):
    model, _ = save_backbone(tmp_path)
    with torch.no_grad():
        model.get_input_embeddings().weight[3] = float("nan")
    model.save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="values that are not finite"):
        Responder.load(tmp_path)
