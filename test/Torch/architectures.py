# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models of architectures that people export, weights by seed.

Each function gives a module with one float output and a tuple of inputs; none
of them downloads anything. What is peculiar about each stands beside it: where
its exports hold constants that look like weights, or weights that do not.
"""

import math

import torch
from torch import nn

ARCHITECTURES = {}


def architecture(function):
    ARCHITECTURES[function.__name__] = function
    return function


def make(name, perturbed=False, seed=0):
    """The module in training mode, and its inputs."""
    torch.manual_seed(seed)
    module, inputs = ARCHITECTURES[name]()
    if perturbed:
        with torch.no_grad():
            for parameter in module.parameters():
                scale = 0.05 + 0.1 * parameter.float().std(correction=0)
                parameter.add_(torch.randn_like(parameter) * scale)
    return module.train(), inputs


class Output(nn.Module):
    """One output of a model that gives many."""

    def __init__(self, model, key, names=None, **fixed):
        super().__init__()
        self.model, self.key, self.names, self.fixed = model, key, names, fixed

    def forward(self, *inputs):
        if self.names:
            named = dict(zip(self.names, inputs))
            return self.model(**named, **self.fixed)[self.key]
        return self.model(*inputs, **self.fixed)[self.key]


def tokens(size=64, shape=(2, 7)):
    return torch.randint(2, size, shape)


def image(size=32, count=2):
    return torch.randn(count, 3, size, size)


# ---- transformers ----------------------------------------------------------


def text_config(name, **settings):
    import transformers

    shared = dict(vocab_size=64, attn_implementation="eager")
    return getattr(transformers, name)(**{**shared, **settings})


def language_model(model):
    """With a mask: the older exporter cannot export how they make one."""
    mask = torch.ones(2, 7, dtype=torch.long)
    mask[1, 5:] = 0
    names = ["input_ids", "attention_mask"]
    return Output(model, "logits", names), (tokens(), mask)


LLAMA_LIKE = dict(
    hidden_size=16,
    intermediate_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=32,
    use_cache=False,
    attention_dropout=0.0,
)
BERT_LIKE = dict(
    hidden_size=16,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=32,
    max_position_embeddings=32,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
)


@architecture
def bert():
    """Many equal LayerNorms and biases; the decoder is the embedding."""
    import transformers

    model = transformers.BertForMaskedLM(text_config("BertConfig", **BERT_LIKE))
    return language_model(model)


@architecture
def gpt2():
    """Causal masks; Conv1D weights are not transposed; a tied head."""
    import transformers

    config = text_config(
        "GPT2Config", n_embd=16, n_layer=2, n_head=2, n_positions=32,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, use_cache=False,
    )  # fmt: skip
    return language_model(transformers.GPT2LMHeadModel(config))


@architecture
def llama():
    """RoPE's tables; RMSNorm from ones."""
    import transformers

    config = text_config("LlamaConfig", **LLAMA_LIKE)
    return language_model(transformers.LlamaForCausalLM(config))


@architecture
def qwen2():
    """As llama, with zero biases of query, key and value, and a tied head."""
    import transformers

    config = text_config("Qwen2Config", **LLAMA_LIKE, tie_word_embeddings=True)
    return language_model(transformers.Qwen2ForCausalLM(config))


@architecture
def gemma():
    """RMSNorm of 1 + weight, weights from zeros; embeddings are scaled."""
    import transformers

    config = text_config("GemmaConfig", **LLAMA_LIKE, head_dim=4, pad_token_id=0)
    return language_model(transformers.GemmaForCausalLM(config))


@architecture
def t5():
    """Relative position bias by buckets, twice; two inputs."""
    import transformers

    config = transformers.T5Config(
        vocab_size=64, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2,
        dropout_rate=0.0, use_cache=False, decoder_start_token_id=0,
        attn_implementation="eager",
    )  # fmt: skip
    model = transformers.T5ForConditionalGeneration(config)
    names = ["input_ids", "decoder_input_ids"]
    return Output(model, "logits", names, use_cache=False), (
        tokens(),
        tokens(shape=(2, 5)),
    )


@architecture
def bloom():
    """ALiBi's slopes."""
    import transformers

    config = text_config(
        "BloomConfig", hidden_size=16, n_layer=2, n_head=2, use_cache=False,
        hidden_dropout=0.0, attention_dropout=0.0,
    )  # fmt: skip
    return Output(transformers.BloomForCausalLM(config), "logits"), (tokens(),)


@architecture
def clip():
    """A scalar parameter, logit_scale; class and position embeddings."""
    import transformers

    layers = dict(
        hidden_size=16, intermediate_size=32, num_hidden_layers=1,
        num_attention_heads=2,
    )  # fmt: skip
    config = transformers.CLIPConfig(
        text_config=dict(layers, vocab_size=64, max_position_embeddings=16,
                         eos_token_id=1),
        vision_config=dict(layers, image_size=16, patch_size=8),
        projection_dim=8, attn_implementation="eager",
    )  # fmt: skip
    names = ["input_ids", "pixel_values"]
    text = tokens()
    text[:, -1] = 1
    model = transformers.CLIPModel(config)
    return Output(model, "logits_per_text", names), (text, image(16))


@architecture
def wav2vec2():
    """weight_norm on a convolution of positions; GroupNorm."""
    import transformers

    config = transformers.Wav2Vec2Config(
        vocab_size=16, **{**BERT_LIKE, "max_position_embeddings": 32},
        conv_dim=(16, 16), conv_stride=(5, 2), conv_kernel=(10, 3),
        num_conv_pos_embeddings=4, num_conv_pos_embedding_groups=2,
        hidden_dropout=0.0, attention_dropout=0.0, activation_dropout=0.0,
        feat_proj_dropout=0.0, final_dropout=0.0, layerdrop=0.0,
        apply_spec_augment=False, attn_implementation="eager",
    )  # fmt: skip
    config.max_position_embeddings = 32
    model = transformers.Wav2Vec2ForCTC(config)
    return Output(model, "logits"), (torch.randn(2, 400),)


# ---- images ----------------------------------------------------------------


@architecture
def vit_timm():
    """cls token and positions from zeros; LayerScale."""
    import timm

    model = timm.models.VisionTransformer(
        img_size=16, patch_size=8, embed_dim=16, depth=2, num_heads=2,
        num_classes=5, init_values=1e-3,
    )  # fmt: skip
    return model, (image(16),)


@architecture
def vit_torchvision():
    """nn.MultiheadAttention."""
    import torchvision

    model = torchvision.models.VisionTransformer(
        image_size=16, patch_size=8, num_layers=2, num_heads=2, hidden_dim=16,
        mlp_dim=32, num_classes=5,
    )  # fmt: skip
    return model, (image(16),)


@architecture
def swin():
    """Relative position bias by index; shifted windows' masks."""
    import timm

    model = timm.models.SwinTransformer(
        img_size=32, patch_size=4, embed_dim=8, depths=(2, 2), num_heads=(2, 2),
        window_size=4, num_classes=5, drop_path_rate=0.0,
    )  # fmt: skip
    return model, (image(),)


@architecture
def convnext():
    """LayerScale's gamma of 1e-6 each; LayerNorm over channels."""
    import timm

    model = timm.models.ConvNeXt(
        depths=(1, 1, 1, 1), dims=(8, 8, 16, 16), num_classes=5
    )
    return model, (image(),)


@architecture
def resnet18():
    """Running statistics; equal BatchNorms."""
    import timm

    model = timm.models.ResNet(
        timm.models.resnet.BasicBlock, (1, 1, 1, 1), channels=(8, 8, 16, 16),
        num_classes=5,
    )  # fmt: skip
    return model, (image(64, 6),)


@architecture
def mobilenetv3():
    """Squeeze and excitation, hard activations."""
    import torchvision

    model = torchvision.models.mobilenet_v3_small(
        num_classes=5, width_mult=0.25, dropout=0.0
    )
    return model, (image(64, 6),)


@architecture
def efficientnet():
    from timm.models import efficientnet

    model = efficientnet._gen_efficientnet(
        "efficientnet_b0", channel_multiplier=0.25, depth_multiplier=0.4,
        num_classes=5,
    )  # fmt: skip
    return model, (image(64, 6),)


@architecture
def unet():
    """Resize by scales; embeddings of time; GroupNorm from ones."""
    import diffusers

    model = diffusers.UNet2DModel(
        sample_size=8, in_channels=3, out_channels=3, layers_per_block=1,
        block_out_channels=(8, 16), norm_num_groups=4, attention_head_dim=4,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    )  # fmt: skip
    return Output(model, "sample"), (image(8), torch.tensor([3, 9]))


# ---- plain torch -----------------------------------------------------------


def register(name):
    def add(cls):
        ARCHITECTURES[name] = cls.make
        return cls

    return add


@register("nerf")
class NeRF(nn.Module):
    """2^k pi of the encoding, 1e10 as the last distance."""

    def __init__(self):
        super().__init__()
        self.register_buffer("bands", 2.0 ** torch.arange(4) * math.pi)
        self.first, self.second = nn.Linear(24, 16), nn.Linear(16, 16)
        self.head = nn.Linear(16, 4)

    def forward(self, points, depths):
        angles = (points[..., None] * self.bands).flatten(-2)
        hidden = torch.cat([angles.sin(), angles.cos()], -1)
        hidden = self.second(self.first(hidden).relu()).relu()
        color, density = self.head(hidden).split([3, 1], -1)
        steps = depths[:, 1:] - depths[:, :-1]
        last = torch.full_like(steps[:, :1], 1e10)
        steps = torch.cat([steps, last], -1)
        alpha = 1 - torch.exp(-density[..., 0].relu() * steps)
        clear = torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha], -1)
        passed = torch.log(clear + 1e-10).cumsum(-1).exp()
        weights = alpha * passed[:, :-1]
        return (weights[..., None] * color.sigmoid()).sum(-2)

    @classmethod
    def make(cls):
        depths = torch.linspace(0.5, 2, 6).repeat(3, 1)
        return cls(), (torch.randn(3, 6, 3) * 0.3, depths)


@register("siren")
class Siren(nn.Module):
    """omega_0 = 30 in front of every sine."""

    def __init__(self):
        super().__init__()
        sizes = [2, 16, 16, 3]
        self.layers = nn.ModuleList(
            nn.Linear(a, b) for a, b in zip(sizes, sizes[1:])
        )

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = torch.sin(30.0 * layer(x))
        return self.layers[-1](x)

    @classmethod
    def make(cls):
        return cls(), (torch.rand(8, 2) * 0.1,)


@register("lstm_tagger")
class Tagger(nn.Module):
    """First states of zeros; weights stacked by the exporters."""

    def __init__(self, cell=nn.LSTM, sides=2):
        super().__init__()
        self.words = nn.Embedding(64, 8)
        self.rnn = cell(8, 6, batch_first=True, bidirectional=sides == 2)
        self.head = nn.Linear(6 * sides, 5)

    def forward(self, words):
        return self.head(self.rnn(self.words(words))[0])

    @classmethod
    def make(cls):
        return cls(), (tokens(),)


@register("gru")
class GruTagger(Tagger):
    def __init__(self):
        super().__init__(nn.GRU, 1)


@register("stft")
class SpectrogramNet(nn.Module):
    """The basis of a Fourier transform as the weight of a convolution."""

    def __init__(self, size=16):
        super().__init__()
        window = torch.hann_window(size)
        times = torch.arange(size)
        angles = 2 * math.pi * torch.outer(torch.arange(size // 2 + 1), times) / size
        basis = torch.cat([angles.cos(), -angles.sin()]) * window
        self.register_buffer("basis", basis[:, None])
        self.register_buffer("offset", torch.tensor([0.1]))
        self.mix = nn.Conv1d(size // 2 + 1, 8, 3, padding=1)
        self.norm = nn.BatchNorm1d(8)
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        parts = nn.functional.conv1d(x[:, None], self.basis, stride=4)
        real, imaginary = parts.chunk(2, 1)
        power = torch.log(real.square() + imaginary.square() + 1e-3) - self.offset
        return self.head(self.norm(self.mix(power)).relu().mean(-1))

    @classmethod
    def make(cls):
        return cls(), (torch.randn(3, 80),)


@register("gates")
class Gates(nn.Module):
    """ReZero's alpha (zero), LayerScale, PReLU, weight_norm, a scalar, LoRA."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 8)
        self.alpha = nn.Parameter(torch.zeros(1))
        self.gamma = nn.Parameter(torch.full((8,), 1e-2))
        self.prelu, self.one = nn.PReLU(8), nn.PReLU()
        self.normed = nn.utils.parametrizations.weight_norm(nn.Linear(8, 8))
        self.temperature = nn.Parameter(torch.tensor(0.7))
        self.base = nn.Linear(8, 8)
        self.down = nn.Linear(8, 2, bias=False)
        self.up = nn.Linear(2, 8, bias=False)
        nn.init.zeros_(self.up.weight)

    def forward(self, x):
        x = x + self.alpha * self.inner(x).tanh()
        x = x + self.gamma * self.prelu(self.inner(x))
        x = self.one(self.normed(x))
        x = self.base(x) + self.up(self.down(x)) * (16 / 2)
        return x * self.temperature.exp()

    @classmethod
    def make(cls):
        return cls(), (torch.randn(6, 8),)


@register("graph")
class GraphNet(nn.Module):
    """index_add into zeros, ones that count neighbours, -1e9 for a mask."""

    def __init__(self):
        super().__init__()
        self.message, self.own = nn.Linear(8, 8), nn.Linear(8, 8)
        self.head = nn.Linear(8, 4)

    def forward(self, x, source, target):
        sums = torch.zeros_like(x).index_add(0, target, self.message(x[source]))
        ones = torch.ones(source.shape[0], 1, dtype=x.dtype)
        count = torch.zeros(x.shape[0], 1, dtype=x.dtype)
        count = count.index_add(0, target, ones)
        x = (self.own(x) + sums / count.clamp(min=1)).relu()
        scores = self.head(x)
        hidden = torch.full_like(scores, -1e9)
        return torch.where(count > 0, scores, hidden).softmax(-1)

    @classmethod
    def make(cls):
        return cls(), (
            torch.randn(5, 8),
            torch.tensor([0, 1, 2, 3, 4, 0]),
            torch.tensor([1, 2, 3, 4, 0, 2]),
        )


@register("mask_token")
class MaskedAutoencoder(nn.Module):
    """A learned mask token, fixed sines as positions, attention's scale."""

    def __init__(self, width=8, length=6):
        super().__init__()
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.cls = nn.Parameter(torch.randn(1, 1, width) * 0.02)
        angles = torch.outer(torch.arange(length), 0.1 ** torch.arange(width // 2))
        self.register_buffer("sines", torch.cat([angles.sin(), angles.cos()], -1))
        self.learned = nn.Parameter(torch.zeros(1, length + 1, width))
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.scale = (width // 2) ** -0.5

    def forward(self, x, mask):
        x = torch.where(mask[..., None], self.token, x) + self.sines
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], 1) + self.learned
        parts = self.qkv(self.norm(x)).unflatten(-1, (3, 2, -1))
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        weights = (q @ k.transpose(-1, -2) * self.scale).softmax(-1)
        return x + self.out((weights @ v).transpose(1, 2).flatten(-2))

    @classmethod
    def make(cls):
        return cls(), (torch.randn(2, 6, 8), torch.arange(6).repeat(2, 1) % 3 == 0)
