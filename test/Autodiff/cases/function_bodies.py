# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Operators without a rule: the functions that ONNX defines them by are
# differentiated. Batch 2, heads 2 (or 4 over 2), head size 4.

B, H, Q, K, D = 2, 2, 3, 4, 4


def sdpa(q, k, v, mask=None, causal=False, scale=None):
    q_heads, k_heads = q.shape[1], k.shape[1]
    k = k.repeat_interleave(q_heads // k_heads, 1)
    v = v.repeat_interleave(q_heads // k_heads, 1)
    if causal:
        # ONNX lets query i see keys 0..i, plus those of the past.
        seen = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).tril()
        mask = seen if mask is None else mask
    return torch.nn.functional.scaled_dot_product_attention(
        q, k, v, attn_mask=mask, scale=scale
    )


def softcap(q, k, v, cap):
    scores = q @ k.transpose(-1, -2) / D**0.5
    return torch.softmax(cap * torch.tanh(scores / cap), -1) @ v


def heads(x, count):
    return x.reshape(x.shape[0], x.shape[1], count, -1).transpose(1, 2)


def join(x):
    return x.transpose(1, 2).flatten(2)


def attention(name, call, inputs, torch, **more):
    """The function takes roots of the scale in fp32."""
    return Case(
        "attention-" + name,
        call,
        inputs,
        torch=torch,
        torch_tolerance=1e-7,
        opset=more.pop("opset", 23),
        **more,
    )


QKV = {"q": (B, H, Q, D), "k": (B, H, K, D), "v": (B, H, K, D)}
MASK = np.array(
    [[True, True, False, True], [True] * 4, [False, True, True, False]]
)

ATTENTION = [
    attention("plain", "y = Attention(q, k, v)", QKV, sdpa),
    attention(
        "scale",
        "y = Attention<scale=0.3>(q, k, v)",
        QKV,
        lambda q, k, v: sdpa(q, k, v, scale=np.float32(0.3).item()),
    ),
    attention(
        "causal",
        "y = Attention<is_causal=1>(q, k, v)",
        QKV,
        lambda q, k, v: sdpa(q, k, v, causal=True),
    ),
    attention(
        "mask",
        "y = Attention(q, k, v, m)",
        {**QKV, "m": MASK},
        lambda q, k, v, m: sdpa(q, k, v, m),
    ),
    attention(
        "bias",
        "y = Attention(q, k, v, m)",
        {**QKV, "m": (B, 1, Q, K)},
        lambda q, k, v, m: sdpa(q, k, v, m),
    ),
    attention(
        "groups",
        "y = Attention(q, k, v)",
        {"q": (B, 4, Q, D), "k": (B, 2, K, D), "v": (B, 2, K, 3)},
        sdpa,
    ),
    attention(
        "softcap",
        "y = Attention<softcap=1.5>(q, k, v)",
        QKV,
        lambda q, k, v: softcap(q, k, v, 1.5),
    ),
    attention(
        "three-axes",
        "y = Attention<q_num_heads=2, kv_num_heads=2>(q, k, v)",
        {"q": (B, Q, 8), "k": (B, K, 8), "v": (B, K, 8)},
        lambda q, k, v: join(sdpa(heads(q, 2), heads(k, 2), heads(v, 2))),
    ),
    attention(
        "past",
        "y, pk, pv = Attention(q, k, v, , k0, v0)",
        {**QKV, "k0": (B, H, 2, D), "v0": (B, H, 2, D)},
        lambda q, k, v, k0, v0: run_past(q, k, v, k0, v0),
        outputs=("y", "pk", "pv"),
    ),
    attention("plain-24", "y = Attention(q, k, v)", QKV, sdpa, opset=24),
]


def run_past(q, k, v, k0, v0):
    k, v = torch.cat([k0, k], 2), torch.cat([v0, v], 2)
    return sdpa(q, k, v), k, v


def rotate(x, cos, sin, interleaved=False, part=None):
    part = part or x.shape[-1]
    turned, rest = x[..., :part], x[..., part:]
    if interleaved:
        a, b = turned[..., 0::2], turned[..., 1::2]
    else:
        a, b = turned.chunk(2, -1)
    c, s = cos[:, None], sin[:, None]
    a, b = a * c - b * s, a * s + b * c
    if interleaved:
        turned = torch.stack([a, b], -1).flatten(-2)
    else:
        turned = torch.cat([a, b], -1)
    return torch.cat([turned, rest], -1)


def rotary(name, call, inputs, torch):
    """The operator has no float64; it is linear in each input."""
    return Case(
        "rotary" + name,
        call,
        inputs,
        torch=torch,
        opset=23,
        dtype=np.float32,
        step=0.25,
        tolerance=1e-5,
        torch_tolerance=1e-6,
    )


ROTARY = [
    rotary(
        "",
        "y = RotaryEmbedding(x, c, s)",
        {"x": (B, H, Q, D), "c": (B, Q, D // 2), "s": (B, Q, D // 2)},
        lambda x, c, s: rotate(x, c, s),
    ),
    rotary(
        "-interleaved",
        "y = RotaryEmbedding<interleaved=1>(x, c, s)",
        {"x": (B, H, Q, D), "c": (B, Q, D // 2), "s": (B, Q, D // 2)},
        lambda x, c, s: rotate(x, c, s, True),
    ),
    rotary(
        "-part",
        "y = RotaryEmbedding<rotary_embedding_dim=2>(x, c, s)",
        {"x": (B, H, Q, D), "c": (B, Q, 1), "s": (B, Q, 1)},
        lambda x, c, s: rotate(x, c, s, part=2),
    ),
    rotary(
        "-positions",
        "y = RotaryEmbedding<num_heads=2>(x, c, s, p)",
        {
            "x": (B, Q, 8),
            "c": (5, D // 2),
            "s": (5, D // 2),
            "p": np.array([[0, 2, 4], [1, 1, 3]]),
        },
        lambda x, c, s, p: join(rotate(heads(x, 2), c[p], s[p])),
    ),
]

MVN = """
    axes = Constant<value_ints=[0, 2]>() epsilon = Constant<value_float=1e-9>()
    m = ReduceMean(x, axes) n = Mul(m, m) p = Mul(x, x) q = ReduceMean(p, axes)
    v = Sub(q, n) d = Sqrt(v) e = CastLike(epsilon, d) f = Add(d, e)
    c = Sub(x, m) y = Div(c, f)
"""

OTHERS = [
    # ONNX's own function has constants in fp32 only.
    Case(
        "mean-variance-normalization",
        "y = MeanVarianceNormalization<axes=[0, 2]>(x)",
        {"x": (2, 3, 4)},
        forward=MVN,
        torch=lambda x: (x - x.mean((0, 2), keepdim=True))
        / (x.var((0, 2), keepdim=True, correction=0).sqrt() + 1e-9),
        torch_tolerance=1e-8,
    ),
    # Inside of a subgraph.
    Case(
        "in-a-branch",
        """
        one = Constant<value_int=1>() c = Equal(one, one)
        y = If(c) <
          then_branch = t () => (double[N, M, O, P] t) {
            t = Attention(q, k, v) },
          else_branch = e () => (double[N, M, O, P] e) { e = Mul(q, q) }
        >
        z = Mul(y, y)
        """,
        QKV,
        outputs=("z",),
        opset=23,
        torch=lambda q, k, v: sdpa(q, k, v) ** 2,
        torch_tolerance=1e-7,
    ),
]

CASES = ATTENTION + ROTARY + OTHERS
