# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Language models with caches, speech, diffusion: networks of transformers and
diffusers, reduced, with random weights.
"""

import numpy as np
import torch
from torch import nn

from zoo.data import VOCABULARY
from zoo.packages import HEADS, LAYERS, WIDTH, configuration, whisper

PAST, KEYS = 6, 2
SIZE = WIDTH // HEADS


# ---- Text ------------------------------------------------------------------


class Hidden(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, mask):
        found = self.model(input_ids=ids, attention_mask=mask)
        return found.last_hidden_state


def encoder(name):
    import transformers

    config = configuration(
        f"{name}Config", hidden_size=WIDTH, num_hidden_layers=2,
        num_attention_heads=HEADS, intermediate_size=96,
        max_position_embeddings=32, embedding_size=WIDTH,
        relative_attention=True, pos_att_type=["p2c", "c2p"],
        position_buckets=8,
    )  # fmt: skip
    return Hidden(getattr(transformers, f"{name}Model")(config))


class Embedding(nn.Module):
    """The mean of a sentence's tokens, of length one."""

    def __init__(self):
        super().__init__()
        self.encoder = encoder("Bert")

    def forward(self, ids, mask):
        states = self.encoder(ids, mask)
        weights = mask.unsqueeze(-1).expand(states.size()).float()
        mean = (states * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
        return nn.functional.normalize(mean, p=2, dim=1)


class Pair(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, mask, x):
        found = self.model(input_ids=ids, attention_mask=mask, pixel_values=x)
        return found.logits_per_text, found.text_embeds, found.image_embeds


def clip():
    import transformers

    sizes = dict(
        hidden_size=WIDTH, intermediate_size=96, num_hidden_layers=2,
        num_attention_heads=HEADS,
    )  # fmt: skip
    config = transformers.CLIPConfig(
        text_config=dict(
            sizes, vocab_size=VOCABULARY, max_position_embeddings=32,
            eos_token_id=1,
        ),
        vision_config=dict(sizes, image_size=32, patch_size=8),
        projection_dim=WIDTH, attn_implementation="eager",
    )  # fmt: skip
    return Pair(transformers.CLIPModel(config))


# ---- Decoders with caches --------------------------------------------------


class Cached(nn.Module):
    """One step: ids, a mask of past and present, then keys and values of each
    layer; scores, then the new keys and values."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, mask, *past):
        from transformers import DynamicCache

        pairs = list(zip(past[0::2], past[1::2]))
        found = self.model(
            input_ids=ids, attention_mask=mask, use_cache=True,
            past_key_values=DynamicCache(pairs),
        )  # fmt: skip
        made = [found.logits]
        for layer in found.past_key_values.layers:
            made += [layer.keys, layer.values]
        return tuple(made)


def causal(name, **settings):
    def make():
        import transformers

        config = configuration(
            f"{name}Config", hidden_size=WIDTH, intermediate_size=96,
            num_hidden_layers=LAYERS, num_attention_heads=HEADS,
            num_key_value_heads=KEYS, max_position_embeddings=64,
            pad_token_id=0, bos_token_id=1, eos_token_id=1, **settings,
        )  # fmt: skip
        heads = {"GPT2": "LMHeadModel"}
        kind = getattr(transformers, name + heads.get(name, "ForCausalLM"))
        return Cached(kind(config))

    return make


def step(heads=KEYS, rows=1, length=1, size=SIZE):
    """Inputs of a decoder with PAST tokens in its cache."""

    def draw(random):
        made = {
            "ids": random.integers(2, VOCABULARY, (rows, length)),
            "mask": np.ones((rows, PAST + length), np.int64),
        }
        for layer in range(LAYERS):
            for kind in ("key", "value"):
                shape = (rows, heads, PAST, size)
                array = random.standard_normal(shape).astype(np.float32)
                made[f"past.{layer}.{kind}"] = array
        return made

    return draw


def cache_outputs():
    layers, kinds = range(LAYERS), ("key", "value")
    return ("logits", *(f"present.{i}.{k}" for i in layers for k in kinds))


def open_cache():
    axes = {"ids": {0: "batch"}, "mask": {0: "batch", 1: "total"}}
    for layer in range(LAYERS):
        for kind in ("key", "value"):
            axes[f"past.{layer}.{kind}"] = {0: "batch", 2: "past"}
            axes[f"present.{layer}.{kind}"] = {0: "batch", 2: "total"}
    axes["logits"] = {0: "batch"}
    return axes


class Greedy(nn.Module):
    """A loop of greedy steps whose cache is carried from step to step."""

    def __init__(self, steps: int = 6):
        super().__init__()
        self.steps = steps
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.query = nn.Linear(WIDTH, WIDTH)
        self.key = nn.Linear(WIDTH, WIDTH)
        self.value = nn.Linear(WIDTH, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids, keys, values):
        scores = torch.zeros(ids.size(0), self.head.out_features)
        for _ in range(self.steps):
            x = self.embed(ids)
            keys = torch.cat([keys, self.key(x)], 1)
            values = torch.cat([values, self.value(x)], 1)
            weights = torch.matmul(self.query(x), keys.transpose(1, 2))
            weights = torch.softmax(weights / 7.0, -1)
            x = self.norm(x + torch.matmul(weights, values))
            scores = self.head(x)[:, 0]
            ids = scores.argmax(-1, keepdim=True)
        return scores, keys, values


def greedy():
    example = (torch.ones(2, 1, dtype=torch.int64), torch.zeros(2, 3, WIDTH),
               torch.zeros(2, 3, WIDTH))  # fmt: skip
    module = Greedy().eval()
    module(*example)
    return torch.jit.script(module)


def greedy_inputs(random):
    made = {"ids": random.integers(2, VOCABULARY, (2, 1))}
    for name in ("keys", "values"):
        made[name] = random.standard_normal((2, 3, WIDTH)).astype(np.float32)
    return made


# ---- Speech ----------------------------------------------------------------


class SpeechStates(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = whisper().encoder

    def forward(self, x):
        return self.encoder(x).last_hidden_state


class SpeechDecoder(nn.Module):
    """Whisper's decoder without a cache: tokens and states of the encoder."""

    def __init__(self):
        super().__init__()
        from transformers.models.whisper import modeling_whisper

        config = configuration(
            "WhisperConfig", d_model=WIDTH, decoder_layers=2,
            decoder_attention_heads=HEADS, decoder_ffn_dim=96,
            max_target_positions=32, encoder_layers=1,
            encoder_attention_heads=HEADS, pad_token_id=0, bos_token_id=1,
            eos_token_id=1, decoder_start_token_id=1,
        )  # fmt: skip
        self.decoder = modeling_whisper.WhisperDecoder(config)

    def forward(self, ids, states):
        found = self.decoder(
            input_ids=ids, encoder_hidden_states=states, use_cache=False
        )
        weights = self.decoder.embed_tokens.weight
        return found.last_hidden_state @ weights.T


def speech_tokens(random):
    return {
        "ids": random.integers(2, VOCABULARY, (1, 8)),
        "states": random.standard_normal((1, 32, WIDTH)).astype(np.float32),
    }


class Waves(nn.Module):
    def __init__(self):
        super().__init__()
        import transformers

        config = configuration(
            "Wav2Vec2Config", hidden_size=WIDTH, num_hidden_layers=2,
            num_attention_heads=HEADS, intermediate_size=96,
            conv_dim=(16, 16, 16), conv_kernel=(10, 3, 2),
            conv_stride=(5, 2, 2), num_conv_pos_embeddings=8,
            num_conv_pos_embedding_groups=4,
        )  # fmt: skip
        self.model = transformers.Wav2Vec2ForCTC(config)

    def forward(self, sound):
        return self.model(sound).logits


def sounds(random):
    return {"sound": random.standard_normal((1, 3200)).astype(np.float32)}


# ---- Diffusion -------------------------------------------------------------


class Denoiser(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, sample, timestep, states):
        return self.model(
            sample, timestep, encoder_hidden_states=states, return_dict=False
        )[0]


def unet():
    from diffusers import UNet2DConditionModel

    model = UNet2DConditionModel(
        sample_size=16, in_channels=4, out_channels=4, layers_per_block=1,
        block_out_channels=(32, 64), cross_attention_dim=WIDTH,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        attention_head_dim=8, norm_num_groups=8,
    )  # fmt: skip
    return Denoiser(model)


def noisy(random):
    return {
        "sample": random.standard_normal((2, 4, 16, 16)).astype(np.float32),
        "timestep": random.integers(0, 1000, (2,)),
        "states": random.standard_normal((2, 7, WIDTH)).astype(np.float32),
    }


class Picture(nn.Module):
    def __init__(self):
        super().__init__()
        from diffusers import AutoencoderKL

        self.model = AutoencoderKL(
            block_out_channels=(16, 32), norm_num_groups=8, sample_size=32,
            down_block_types=("DownEncoderBlock2D",) * 2,
            up_block_types=("UpDecoderBlock2D",) * 2,
        )  # fmt: skip

    def forward(self, latent):
        return self.model.decode(latent, return_dict=False)[0]


def latents(random):
    sample = random.standard_normal((1, 4, 8, 8))
    return {"latent": sample.astype(np.float32)}


class Labelled(nn.Module):
    def __init__(self):
        super().__init__()
        from diffusers import DiTTransformer2DModel

        self.model = DiTTransformer2DModel(
            num_attention_heads=HEADS, attention_head_dim=12, in_channels=4,
            num_layers=2, sample_size=8, patch_size=2, norm_num_groups=4,
            num_embeds_ada_norm=10,
        )  # fmt: skip

    def forward(self, sample, timestep, labels):
        return self.model(
            sample, timestep=timestep, class_labels=labels, return_dict=False
        )[0]


def labelled(random):
    return {
        "sample": random.standard_normal((2, 4, 8, 8)).astype(np.float32),
        "timestep": random.integers(0, 1000, (2,)),
        "labels": random.integers(0, 10, (2,)),
    }


# ---- Entries ---------------------------------------------------------------


def entries(entry):
    """Made by `entry`, the class of entries."""
    script = dict(exporter="script", opset=17)
    cache = dict(family="decoder", outputs=cache_outputs())
    opened = dict(cache, axes=open_cache())
    yield entry("kv-gpt2", make=causal("GPT2", n_embd=WIDTH, n_layer=LAYERS,
                                       n_head=HEADS, n_positions=64),
                draw=step(HEADS), **cache)  # fmt: skip
    yield entry("kv-llama", make=causal("Llama"), draw=step(), **opened,
                **script)  # fmt: skip
    yield entry("kv-qwen2", make=causal("Qwen2"), draw=step(), **cache,
                opset=20)  # fmt: skip
    yield entry("kv-gemma", draw=step(), **cache,
                make=causal("Gemma", head_dim=SIZE))  # fmt: skip
    yield entry("kv-phi", make=causal("Phi"), draw=step(), **cache, **script)
    yield entry("kv-opt", draw=step(HEADS), **cache,
                make=causal("OPT", ffn_dim=96,
                            word_embed_proj_dim=WIDTH))  # fmt: skip
    yield entry("kv-loop", make=greedy, draw=greedy_inputs, family="decoder",
                outputs=("scores", "new_keys", "new_values"),
                **script)  # fmt: skip
    speech = dict(family="speech")
    yield entry("whisper-encoder", make=SpeechStates, **speech,
                draw=lambda r: {"x": r.standard_normal((1, 40, 64)).astype(
                    np.float32)}, **script)  # fmt: skip
    yield entry("whisper-decoder", make=SpeechDecoder, draw=speech_tokens,
                **speech)  # fmt: skip
    yield entry("wav2vec2", make=Waves, draw=sounds, **speech)
    diffusion = dict(family="diffusion")
    yield entry("sd-unet", make=unet, draw=noisy, **diffusion)
    yield entry("sd-vae", make=Picture, draw=latents, **diffusion, **script)
    yield entry("dit", make=Labelled, draw=labelled, **diffusion, opset=20)
