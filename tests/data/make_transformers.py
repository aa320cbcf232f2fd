"""Five models of the package transformers, tiny, with random weights: build, run, train, generate.

    python make_transformers.py --write        # with PyTorch: writes transformers.json
    retrograd run make_transformers.py FILE    # writes what it computes to FILE

Nothing is downloaded. Numbers are the same for the same seed: the weights that are drawn, losses,
outputs, gradients and greedy generation.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
import transformers as hf

PATH = Path(__file__).with_name("transformers.json")
SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
WORDS = torch.tensor([[1, 5, 7, 9, 3], [2, 4, 6, 8, 10]])
ENDS = {"pad_token_id": 0, "eos_token_id": 49}


def models():
    """(name, model, inputs, whether it generates)."""
    text = {"input_ids": WORDS, "labels": WORDS}
    padded = {**text, "attention_mask": torch.tensor([[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]])}
    picture = np.random.default_rng(1).standard_normal((2, 3, 16, 16)).astype(np.float32)
    seen = {"pixel_values": torch.tensor(picture), "labels": torch.tensor([1, 3])}
    many = {**SMALL, "vocab_size": 50, "intermediate_size": 64, "max_position_embeddings": 32}
    gpt2 = hf.GPT2Config(
        vocab_size=50, n_positions=32, n_embd=32, n_layer=2, n_head=4, bos_token_id=0, **ENDS
    )
    llama = hf.LlamaConfig(num_key_value_heads=2, bos_token_id=0, **many, **ENDS)
    t5 = hf.T5Config(
        vocab_size=50, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4,
        decoder_start_token_id=0, **ENDS,
    )  # fmt: skip
    vit = hf.ViTConfig(intermediate_size=64, image_size=16, patch_size=4, num_labels=5, **SMALL)
    for name, kind, config, inputs, generates in [
        ("gpt2", hf.GPT2LMHeadModel, gpt2, text, True),
        ("bert", hf.BertForMaskedLM, hf.BertConfig(**many), padded, False),
        ("llama", hf.LlamaForCausalLM, llama, text, True),
        ("t5", hf.T5ForConditionalGeneration, t5, text, True),
        ("vit", hf.ViTForImageClassification, vit, seen, False),
    ]:
        torch.manual_seed(0)
        yield name, kind(config).eval(), inputs, generates


def run(model, inputs, generates):
    """What a model computes, as numbers and lists of them."""
    drawn = {name: p.detach().double().sum().item() for name, p in model.named_parameters()}
    rng = np.random.default_rng(0)
    with torch.no_grad():  # larger weights than drawn ones, so that errors show
        for name, p in sorted(model.named_parameters()):
            scale = "norm" in name.lower() or "ln_" in name
            values = 0.1 * rng.standard_normal(p.shape) + (scale and name.endswith("weight"))
            p.copy_(torch.tensor(values.astype(np.float32)))
    out = model(**inputs)
    out.loss.backward()
    found = {
        "drawn": drawn,
        "loss": out.loss.item(),
        "logits": out.logits.detach().flatten()[:50].tolist(),
        "gradients": {
            name: p.grad.double().abs().sum().item()
            for name, p in model.named_parameters()
            if p.grad is not None
        },
    }
    if generates:
        words = model.generate(
            WORDS, attention_mask=torch.ones_like(WORDS), max_new_tokens=6, do_sample=False
        )
        found["words"] = words.tolist()
    return found


if __name__ == "__main__":
    target = PATH if sys.argv[1] == "--write" else Path(sys.argv[1])
    found = {name: run(*rest) for name, *rest in models()}
    target.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
