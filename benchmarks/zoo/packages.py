# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks of timm and transformers, reduced, with weights by seed.

Each function returns a module with one float output. The packages are imported
when a network is made.
"""

import torch
from torch import nn

from zoo.data import CLASSES, VOCABULARY

# Sizes of the BERT that all encoders of transformers here are like.
LAYERS, WIDTH, HEADS = 3, 48, 4


class Output(nn.Module):
    """One output, called with inputs by position."""

    def __init__(self, model, key, names, **fixed):
        super().__init__()
        self.model, self.key, self.names, self.fixed = model, key, names, fixed

    def forward(self, *inputs):
        named = dict(zip(self.names, inputs))
        result = self.model(**named, **self.fixed)
        return result[self.key]


class Encoder(Output):
    """With ids and a mask, whose names exporters read from the signature."""

    def forward(self, ids, mask):
        return super().forward(ids, mask)


class Decoder(Output):
    def forward(self, ids):
        return super().forward(ids)


class Pixels(Output):
    def forward(self, x):
        return super().forward(x)


def configuration(name, **settings):
    import transformers

    made = getattr(transformers, name)(
        vocab_size=VOCABULARY, attn_implementation="eager", **settings
    )
    for field, value in vars(made).items():
        rate = "dropout" in field or field.endswith(("pdrop", "drop"))
        if rate and isinstance(value, float):
            setattr(made, field, 0.0)
    return made


def bert_like(width, layers, inner):
    import transformers

    config = configuration(
        "BertConfig", hidden_size=width, num_hidden_layers=layers,
        num_attention_heads=HEADS, intermediate_size=inner,
        max_position_embeddings=32,
    )  # fmt: skip
    model = transformers.BertForMaskedLM(config)
    return Encoder(model, "logits", ["input_ids", "attention_mask"])


def bert():
    return bert_like(WIDTH, LAYERS, 96)


def bert_deep():
    """Twelve layers, for graphs of many nodes."""
    return bert_like(96, 12, 192)


def bert_wide():
    """Twelve million parameters, for costs where arithmetic dominates."""
    return bert_like(512, 4, 2048)


def distilbert():
    import transformers

    config = configuration(
        "DistilBertConfig", dim=WIDTH, n_layers=LAYERS, n_heads=HEADS,
        hidden_dim=96, max_position_embeddings=32,
    )  # fmt: skip
    model = transformers.DistilBertForMaskedLM(config)
    return Encoder(model, "logits", ["input_ids", "attention_mask"])


def gpt2(layers=LAYERS):
    import transformers

    config = configuration(
        "GPT2Config", n_embd=WIDTH, n_layer=layers, n_head=HEADS,
        n_positions=32, use_cache=False,
    )  # fmt: skip
    model = transformers.GPT2LMHeadModel(config)
    return Encoder(model, "logits", ["input_ids", "attention_mask"])


def llama():
    import transformers

    config = configuration(
        "LlamaConfig", hidden_size=WIDTH, intermediate_size=96,
        num_hidden_layers=LAYERS, num_attention_heads=HEADS,
        num_key_value_heads=2, max_position_embeddings=32, use_cache=False,
    )  # fmt: skip
    model = transformers.LlamaForCausalLM(config)
    return Encoder(model, "logits", ["input_ids", "attention_mask"])


def qwen2():
    import transformers

    config = configuration(
        "Qwen2Config", hidden_size=WIDTH, intermediate_size=96,
        num_hidden_layers=LAYERS, num_attention_heads=HEADS,
        num_key_value_heads=2, max_position_embeddings=32, use_cache=False,
        tie_word_embeddings=True,
    )  # fmt: skip
    model = transformers.Qwen2ForCausalLM(config)
    return Encoder(model, "logits", ["input_ids", "attention_mask"])


class Translator(Output):
    def forward(self, ids, written):
        return super().forward(ids, written)


def t5():
    import transformers

    config = configuration(
        "T5Config", d_model=WIDTH, d_kv=12, d_ff=96, num_layers=2,
        num_heads=HEADS, use_cache=False, decoder_start_token_id=0,
        dropout_rate=0.0,
    )  # fmt: skip
    model = transformers.T5ForConditionalGeneration(config)
    names = ["input_ids", "decoder_input_ids"]
    return Translator(model, "logits", names, use_cache=False)


class SoundClassifier(nn.Module):
    """Whisper's encoder, and a class for the mean of its states."""

    def __init__(self, encoder, width):
        super().__init__()
        self.encoder, self.head = encoder, nn.Linear(width, CLASSES)

    def forward(self, x):
        return self.head(self.encoder(x).last_hidden_state.mean(1))


def whisper():
    from transformers.models.whisper import modeling_whisper

    config = configuration(
        "WhisperConfig", d_model=WIDTH, encoder_layers=2,
        encoder_attention_heads=HEADS, encoder_ffn_dim=96, num_mel_bins=40,
        max_source_positions=32, decoder_layers=1, decoder_attention_heads=4,
    )  # fmt: skip
    return SoundClassifier(modeling_whisper.WhisperEncoder(config), WIDTH)


def vit():
    import transformers

    config = configuration(
        "ViTConfig", hidden_size=WIDTH, num_hidden_layers=LAYERS,
        num_attention_heads=HEADS, intermediate_size=96, image_size=32,
        patch_size=8, num_labels=CLASSES,
    )  # fmt: skip
    model = transformers.ViTForImageClassification(config)
    return Pixels(model, "logits", ["pixel_values"])


def segformer():
    import transformers

    config = configuration(
        "SegformerConfig", depths=[1, 1, 1, 1], hidden_sizes=[8, 16, 24, 32],
        num_attention_heads=[1, 2, 2, 4], decoder_hidden_size=32,
        num_labels=CLASSES, drop_path_rate=0.0, classifier_dropout_prob=0.0,
    )  # fmt: skip
    model = transformers.SegformerForSemanticSegmentation(config)
    return Pixels(model, "logits", ["pixel_values"])


# ---- timm ------------------------------------------------------------------


def timm_model(name, **settings):
    """Maker of a network of timm, without anything that draws at random."""

    def make():
        import timm

        return timm.create_model(
            name, num_classes=CLASSES, drop_rate=0.0, **settings
        )

    return make


def timm_vit():
    import timm

    return timm.models.VisionTransformer(
        img_size=32, patch_size=8, embed_dim=64, depth=4, num_heads=4,
        num_classes=CLASSES, init_values=1e-3,
    )  # fmt: skip


def timm_swin():
    import timm

    return timm.models.SwinTransformer(
        img_size=32, patch_size=4, embed_dim=24, depths=(2, 2),
        num_heads=(2, 4), window_size=4, num_classes=CLASSES,
        drop_path_rate=0.0,
    )  # fmt: skip


def seeded(make, seed=0):
    """The module that `make` makes from a seed."""
    torch.manual_seed(seed)
    return make()
