import pytest
import torch
from transformers import GPT2Config, GPT2DoubleHeadsModel

from edos_dataset.generation.double_heads import Choice, batch_choices, draw_others, two_headed_loss
from edos_dataset.generation.prompts import PromptFormat
from edos_dataset.generation.responder import Responder
from edos_dataset.generation.tokenizer import train_tokenizer

TEXTS = ["one two three", "four five six", "seven eight nine", "ten eleven twelve"]


@pytest.fixture(scope="module")
def tokenizer():
    return train_tokenizer([*TEXTS, "A: B:"] * 5, 320)


def model(tokenizer):
    torch.manual_seed(0)
    size = {"vocab_size": len(tokenizer), "bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2}
    return GPT2DoubleHeadsModel(GPT2Config(n_positions=200, n_embd=32, n_layer=2, n_head=4, **size))


def test_others_are_never_the_answer_itself():
    drawn = draw_others(5, torch.Generator().manual_seed(0), 40)
    assert all(set(others) == set(range(5)) - {number} for number, others in enumerate(drawn))
    assert drawn == draw_others(5, torch.Generator().manual_seed(0), 40)
    with pytest.raises(ValueError, match="at least 2 pairs, got 1"):
        draw_others(1, torch.Generator())


def test_losses_are_those_of_the_parts(tokenizer):
    two = model(tokenizer).eval()
    choices = [Choice(TEXTS, "one two", ["five"]), Choice(TEXTS[:1], "ten", ["six seven eight"])]
    batch = batch_choices(tokenizer, choices)
    assert batch["input_ids"].shape[:2] == (2, 2) and batch["mc_labels"].tolist() == [1, 1]
    assert (batch["labels"][:, 0] == -100).all()
    for row, choice in enumerate(choices):
        for place, text in enumerate((*choice.others, choice.answer)):
            ids = batch["input_ids"][row, place][batch["attention_mask"][row, place] > 0]
            assert ids[batch["mc_token_ids"][row, place]] == 2 == ids[-1]
            said = tokenizer.decode(ids[:-1], skip_special_tokens=True)
            assert said.endswith(f"B: {text}") and said.count("\n") == min(3, len(choice.turns))
        answer = batch["labels"][row, 1]
        assert tokenizer.decode(answer[answer >= 0][:-1]) == f" {choice.answer}"
    with torch.no_grad():
        out = two(**batch)
    chances = out.logits[:, 1, :-1].log_softmax(-1)
    targets = batch["labels"][:, 1, 1:]
    nats = -chances[targets >= 0].gather(1, targets[targets >= 0][:, None]).mean()
    told = -out.mc_logits.log_softmax(1)[:, 1].mean()
    assert two_headed_loss(out).item() == pytest.approx((2 * nats + told).item(), abs=1e-4)


def test_both_heads_are_learned_and_the_model_answers(tokenizer, tmp_path):
    two = model(tokenizer).train()
    pairs = [(TEXTS[number], TEXTS[(number + 1) % 4]) for number in range(4)]
    optimizer = torch.optim.AdamW(two.parameters(), lr=5e-3)
    generator = torch.Generator().manual_seed(0)
    for module in two.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    for _ in range(120):
        others = draw_others(4, generator)
        choices = [Choice([asked], said, [pairs[others[row][0]][1]]) for row, (asked, said) in enumerate(pairs)]
        batch = batch_choices(tokenizer, choices)
        out = two(**batch)
        two_headed_loss(out).backward()
        optimizer.step()
        optimizer.zero_grad()
    assert out.loss.item() < 0.05 and out.mc_loss.item() < 0.2
    two.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    PromptFormat(turns=3).save(tmp_path)
    found = Responder.load(tmp_path).respond([[asked] for asked, _ in pairs], beams=3, max_tokens=20)
    assert [own[0].text for own in found] == [said for _, said in pairs]
