# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ONNX's reference evaluator reads no Scan backwards or along another axis,
# stacks the outputs of a Loop along the first axis that they have, and runs a
# Loop without condition not at all: onnxruntime evaluates these cases.


def flow(name, body, inputs, **more):
    return Case(name, body, inputs, engine="onnxruntime", **more)


POWER = """Loop<body = b
      (int64 i, bool c, double[N] s) => (bool d, double[N] t, double[N] o) {
        d = Identity(c) k = Cast<to=11>(i) m = Mul(s, w) n = Mul(m, k)
        t = Add(n, s) o = Mul(t, t) }
    >"""


def run_power(count):
    def run(h, w):
        outputs = []
        for number in range(count):
            h = h * w * number + h
            outputs.append(h * h)
        return h, torch.stack(outputs)

    return run


LOOP_CASES = [
    flow(
        "loop",
        f"n0 = Constant<value_int=4>() h, y = {POWER}(n0, , h0)",
        {"h0": (3,), "w": (3,)},
        outputs=("h", "y"),
        torch=run_power(4),
    ),
    flow(
        "loop-zero",
        f"n0 = Constant<value_int=0>() h, y = {POWER}(n0, , h0)",
        {"h0": (3,), "w": (3,)},
        outputs=("h",),
        torch=lambda h0, w: h0 + 0 * w,
    ),
    flow(
        "loop-condition-false",
        "n0 = Constant<value_int=3>() f = Less(n0, n0)"
        f"h, y = {POWER}(n0, f, h0)",
        {"h0": (3,), "w": (3,)},
        outputs=("h",),
        torch=lambda h0, w: h0 + 0 * w,
    ),
    # Stops when the sum of squares is large.
    flow(
        "loop-while",
        """
        yes = Constant<value=bool {1}>()
        limit = Constant<value=double {50.0}>()
        h, y = Loop<body = b
          (int64 i, bool c, double[N] s) =>
          (bool d, double[N] t, double r) {
            p = Mul(s, s) t = Add(p, w) r = ReduceSum<keepdims=0>(t)
            d = Less(r, limit) }
        >(, yes, h0)
        """,
        {"h0": (3,), "w": (3,)},
        outputs=("h", "y"),
        low=0.8,
        high=1.2,
        torch=lambda h0, w: run_while(h0, w),
    ),
    # Gathers its rows; the states cross.
    flow(
        "loop-gather",
        """
        n = Constant<value_int=3>()
        yes = Constant<value=bool {1}>()
        h, g = Loop<body = b
          (int64 i, bool c, double[N] s, double[N] r) =>
          (bool d, double[N] t, double[N] u) {
            d = Identity(c)
            t = Mul(r, w)
            m = Mul(s, v)
            u = Add(m, r) }
        >(n, yes, h0, g0)
        """,
        {"h0": (3,), "g0": (3,), "w": (3,), "v": (3,)},
        outputs=("h", "g"),
        torch=lambda h0, g0, w, v: run_crossing(h0, g0, w, v),
    ),
    flow(
        "loop-nested",
        """
        n = Constant<value_int=3>()
        yes = Constant<value=bool {1}>()
        h = Loop<body = b
          (int64 i, bool c, double[N] s) => (bool d, double[N] t) {
            d = Identity(c)
            k = Add(i, i)
            t = Loop<body = a
              (int64 j, bool e, double[N] p) => (bool f, double[N] q) {
                f = Identity(e) m = Mul(p, w) q = Add(m, s) }
            >(k, yes, s) }
        >(n, yes, h0)
        """,
        {"h0": (2,), "w": (2,)},
        outputs=("h",),
        torch=lambda h0, w: run_nested_loops(h0, w),
    ),
]


def run_while(h, w):
    outputs = []
    while not outputs or outputs[-1] < 50:
        h = h * h + w
        outputs.append(h.sum())
    return h, torch.stack(outputs)


def run_crossing(h, g, w, v):
    for _ in range(3):
        h, g = g * w, h * v + g
    return h, g


def run_nested_loops(h, w):
    for number in range(3):
        inner = h
        for _ in range(2 * number):
            inner = inner * w + h
        h = inner
    return h


CASES = LOOP_CASES
