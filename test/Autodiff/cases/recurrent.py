# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# No evaluator has these operators in float64 with all that they can do: the
# forward pass is written as Scan first, which test_recurrent.py compares with
# onnxruntime's kernels.

STEPS, BATCH, INPUT, HIDDEN = 3, 2, 2, 2
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
LENGTHS = np.array([2, 3], np.int32)


def shapes(op, operands, directions, layout):
    gates = GATES[op]
    known = {
        "X": (STEPS, BATCH, INPUT),
        "W": (directions, gates * HIDDEN, INPUT),
        "R": (directions, gates * HIDDEN, HIDDEN),
        "B": (directions, 2 * gates * HIDDEN),
        "L": LENGTHS,
        "H0": (directions, BATCH, HIDDEN),
        "C0": (directions, BATCH, HIDDEN),
        "P": (directions, 3 * HIDDEN),
    }
    if layout:
        for name in ("X", "H0", "C0"):
            known[name] = (known[name][1], known[name][0], known[name][2])
    return {name: known[name] for name in operands.split()}


def lstm_step(x, h, c, w, r, b, p, options):
    i, o, f, g = (x @ w.T + h @ r.T + b[0] + b[1]).chunk(4, -1)
    pi, po, pf = p
    i = torch.sigmoid(i + pi * c)
    if options.get("input_forget"):
        f = 1 - i
    else:
        f = torch.sigmoid(f + pf * c)
    c = f * c + i * torch.tanh(g)
    h = torch.sigmoid(o + po * c) * torch.tanh(c)
    return h, c


def gru_step(x, h, c, w, r, b, p, options):
    wz, wr, wh = (x @ w.T + b[0]).chunk(3, -1)
    rz, rr, rh = r.chunk(3, 0)
    bz, br, bh = b[1].chunk(3, -1)
    z = torch.sigmoid(wz + h @ rz.T + bz)
    reset = torch.sigmoid(wr + h @ rr.T + br)
    if options.get("linear_before_reset"):
        n = torch.tanh(wh + reset * (h @ rh.T + bh))
    else:
        n = torch.tanh(wh + (reset * h) @ rh.T + bh)
    return (1 - z) * n + z * h, c


def rnn_step(x, h, c, w, r, b, p, options):
    sums = x @ w.T + h @ r.T + b[0] + b[1]
    if "clip" in options:
        sums = sums.clip(-options["clip"], options["clip"])
    if options.get("activations"):
        return 0.5 * torch.tanh(1.5 * sums), c
    return torch.tanh(sums), c


STEP = {"LSTM": lstm_step, "GRU": gru_step, "RNN": rnn_step}


def run_direction(op, d, t, backwards, options):
    x, lengths = t["X"], t.get("L", torch.full((BATCH,), STEPS))
    w, r = t["W"][d], t["R"][d]
    zeros = torch.zeros(BATCH, HIDDEN, dtype=x.dtype)
    h = t["H0"][d] if "H0" in t else zeros
    c = t["C0"][d] if "C0" in t else zeros
    b = t["B"][d] if "B" in t else torch.zeros_like(w[:, 0]).repeat(2)
    b = b.chunk(2)
    p = t["P"][d].chunk(3) if "P" in t else (0, 0, 0)
    outputs = [None] * STEPS
    for step in reversed(range(STEPS)) if backwards else range(STEPS):
        inside = (step < lengths)[:, None]
        new, cell = STEP[op](x[step], h, c, w, r, b, p, options)
        outputs[step] = torch.where(inside, new, zeros)
        h, c = torch.where(inside, new, h), torch.where(inside, cell, c)
    return torch.stack(outputs), h, c


def torch_recurrent(op, operands, direction, layout, options):
    def run(*tensors):
        t = dict(zip(operands.split(), tensors))
        if layout:
            for name in {"X", "H0", "C0"} & t.keys():
                t[name] = t[name].transpose(0, 1)
        kinds = {
            "forward": [False],
            "reverse": [True],
            "bidirectional": [False, True],
        }[direction]
        parts = [
            run_direction(op, d, t, backwards, options)
            for d, backwards in enumerate(kinds)
        ]
        y, h, c = (torch.stack(part) for part in zip(*parts))
        # [direction, step, batch, hidden] at first.
        y = y.permute(2, 1, 0, 3) if layout else y.transpose(0, 1)
        if layout:
            h, c = h.transpose(0, 1), c.transpose(0, 1)
        return (y, h, c)[: 3 if op == "LSTM" else 2]

    return run


ORDER = ["X", "W", "R", "B", "L", "H0", "C0", "P"]


def recurrent(op, operands, direction="forward", layout=0, **options):
    count = 8 if op == "LSTM" else 6
    given = [n if n in operands.split() else "" for n in ORDER[:count]]
    while not given[-1]:
        given.pop()
    outputs = ("Y", "Y_h", "Y_c")[: 3 if op == "LSTM" else 2]
    attributes = [f"hidden_size={HIDDEN}", f'direction="{direction}"']
    attributes += [f"layout={layout}"]
    for name, value in options.items():
        if isinstance(value, list):
            quoted = [f'"{v}"' if isinstance(v, str) else str(v) for v in value]
            value = f"[{', '.join(quoted)}]"
        attributes.append(f"{name}={value}")
    name = "-".join(
        [op.lower(), *operands.split()[3:], direction, *options]
    ) + ("-batch" if layout else "")
    return Case(
        name,
        f"{', '.join(outputs)} = {op}<{', '.join(attributes)}>"
        f"({', '.join(given)})",
        shapes(op, operands, 2 if direction == "bidirectional" else 1, layout),
        outputs=outputs,
        engine="onnxruntime",
        passes=("--onnx-decompose-recurrent",),
        low=-1,
        high=1,
        torch=torch_recurrent(op, operands, direction, layout, options),
    )


CASES = [
    recurrent("LSTM", "X W R"),
    recurrent("LSTM", "X W R B", "reverse"),
    recurrent("LSTM", "X W R B L H0 C0 P", "bidirectional"),
    recurrent("LSTM", "X W R B L H0 C0", "reverse", layout=1),
    recurrent("LSTM", "X W R B P", input_forget=1),
    recurrent("GRU", "X W R"),
    recurrent("GRU", "X W R B", linear_before_reset=1),
    recurrent("GRU", "X W R B L H0", "bidirectional", layout=1),
    recurrent("GRU", "X W R B L H0", "reverse", linear_before_reset=1),
    recurrent("RNN", "X W R"),
    recurrent("RNN", "X W R B L H0", "bidirectional"),
    recurrent("RNN", "X W R B", clip=0.5),
    recurrent(
        "RNN",
        "X W R B",
        activations=["ScaledTanh"],
        activation_alpha=[0.5],
        activation_beta=[1.5],
    ),
]
