# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ONNX's reference evaluator reads no Scan backwards or along another axis,
# stacks the outputs of a Loop along the first axis that they have, and runs a
# Loop without condition not at all: onnxruntime evaluates these cases.


def flow(name, body, inputs, **more):
    return Case(name, body, inputs, engine="onnxruntime", **more)


def true(value):
    return np.array(value, bool)


IF = """
    y = If(c) <
      then_branch = t () => (double[N] t) { u = Mul(a, a) t = Mul(u, b) },
      else_branch = e () => (double[N] e) { e = Add(a, a) }
    >
"""

IF_CASES = [
    flow(
        f"if-{value}",
        IF + "z = Mul(y, b)",
        {"c": true(value), "a": (3,), "b": (3,)},
        outputs=("z",),
        torch=lambda c, a, b: (a * a * b if c else a + a) * b,
    )
    for value in (True, False)
] + [
    flow(
        "if-captures",
        """
        m = Mul(a, b)
        y, z = If(c) <
          then_branch = t () => (double[N] t, double[N] s) {
            t = Mul(m, a) s = Add(m, m) },
          else_branch = e () => (double[N] e, double[N] f) {
            e = Add(a, a) f = Relu(b) }
        >
        """,
        {"c": true(True), "a": (3,), "b": (3,)},
        outputs=("y", "z"),
        torch=lambda c, a, b: (a * b * a, 2 * a * b) if c else (a, b),
    ),
    flow(
        "if-nested",
        """
        y = If(c) <
          then_branch = t () => (double[N] t) {
            u = Mul(a, a)
            v = If(d) <
              then_branch = tt () => (double[N] tt) { tt = Mul(u, a) },
              else_branch = te () => (double[N] te) { te = Mul(u, b) }
            >
            t = Mul(v, u) },
          else_branch = e () => (double[N] e) { e = Add(b, b) }
        >
        """,
        {"c": true(True), "d": true(False), "a": (3,), "b": (3,)},
        torch=lambda c, d, a, b: a * a * b * a * a,
    ),
    flow(
        "if-shapes",
        """
        s = If(c) <
          then_branch = t () => (double[N] t) {
            axes = Constant<value_ints=[0]>()
            t = ReduceSum<keepdims=0>(a, axes) },
          else_branch = e () => (double[N, M] e) { e = Mul(a, a) }
        >
        y = Mul(s, s)
        """,
        {"c": true(True), "a": (3, 2)},
        torch=lambda c, a: a.sum(0) ** 2,
    ),
]


def rnn(attributes=""):
    return f"""
    h, y = Scan<num_scan_inputs=1{attributes}, body = b
      (double[N, H] s, double[N, H] e) => (double[N, H] t, double[N, H] o) {{
        m = MatMul(s, w) n = Add(e, m) t = Relu(n) o = Mul(t, t) }}
    >(h0, x)
    """


def run_rnn(h, xs, w):
    outputs = []
    for x in xs:
        h = (x + h @ w).relu()
        outputs.append(h * h)
    return h, outputs


def axes(inputs=0, outputs=0, backwards=0, reversed_outputs=0):
    return (
        f", scan_input_axes=[{inputs}], scan_output_axes=[{outputs}]"
        f", scan_input_directions=[{backwards}]"
        f", scan_output_directions=[{reversed_outputs}]"
    )


def torch_rnn(inputs=0, outputs=0, backwards=0, reversed_outputs=0):
    def run(h0, x, w):
        xs = list(x.unbind(inputs))
        h, ys = run_rnn(h0, xs[::-1] if backwards else xs, w)
        return h, torch.stack(ys[::-1] if reversed_outputs else ys, outputs)

    return run


def shape_of_rnn(inputs):
    shape = [2, 3]
    shape.insert(inputs % 3, 4)
    return tuple(shape)


SCAN_CASES = [
    flow(
        "scan-" + "".join(f"{o:+d}" for o in options),
        rnn(axes(*options)),
        {"h0": (2, 3), "x": shape_of_rnn(options[0]), "w": (3, 3)},
        outputs=("h", "y"),
        torch=torch_rnn(*options),
    )
    for options in [
        (0, 0, 0, 0),
        (0, 0, 1, 0),
        (0, 0, 0, 1),
        (1, 2, 1, 1),
        (-1, -2, 0, 0),
    ]
] + [
    flow(
        "scan-last-state",
        rnn(),
        {"h0": (2, 3), "x": (4, 2, 3), "w": (3, 3)},
        outputs=("h",),
        torch=lambda h0, x, w: run_rnn(h0, x, w)[0],
    ),
    flow(
        "scan-outputs",
        rnn(),
        {"h0": (2, 3), "x": (4, 2, 3), "w": (3, 3)},
        outputs=("y",),
        wrt=("w",),
        torch=lambda h0, x, w: torch.stack(
            run_rnn(h0, x, w)[1]
        ),
    ),
    # A counter, a state that at first does not depend on the inputs of
    # interest, and a sequence that no gradient needs.
    flow(
        "scan-states",
        """
        one = Constant<value_int=1>()
        n, p, q, y = Scan<num_scan_inputs=2, body = b
          (int64 i, double[N] r, double[N] s, double[N] e, double[N] f) =>
          (int64 j, double[N] t, double[N] u, double[N] o) {
            j = Add(i, one)
            k = Cast<to=11>(j)
            t = Mul(s, a)
            v = Mul(r, e)
            u = Add(v, f)
            o = Mul(u, k) }
        >(i0, p0, q0, x, z)
        """,
        {
            "i0": np.array(2),
            "p0": (3,),
            "q0": (3,),
            "x": (4, 3),
            "z": (4, 3),
            "a": (3,),
        },
        outputs=("p", "q", "y"),
        wrt=("a", "z"),
        torch=lambda i0, p0, q0, x, z, a: run_states(p0, q0, x, z, a),
    ),
    flow(
        "scan-nested",
        """
        h = Scan<num_scan_inputs=1, body = b
          (double[N] s, double[M, N] e) => (double[N] t) {
            t = Scan<num_scan_inputs=1, body = c
              (double[N] p, double[N] f) => (double[N] q) {
                m = Mul(p, f) n = Mul(m, w) q = Add(n, s) }
            >(s, e) }
        >(h0, x)
        """,
        {"h0": (2,), "x": (3, 2, 2), "w": (2,)},
        outputs=("h",),
        torch=lambda h0, x, w: run_nested(h0, x, w),
    ),
    flow(
        "scan-if",
        """
        zero = Constant<value_int=0>()
        h = Scan<num_scan_inputs=2, body = b
          (double[N] s, double[N] e, bool c) => (double[N] t) {
            t = If(c) <
              then_branch = y () => (double[N] y) {
                m = Mul(s, e) y = Mul(m, w) },
              else_branch = z () => (double[N] z) { z = Add(s, e) }
            > }
        >(h0, x, cs)
        """,
        {
            "h0": (2,),
            "x": (3, 2),
            "cs": np.array([True, False, True]),
            "w": (2,),
        },
        outputs=("h",),
        torch=lambda h0, x, cs, w: run_choices(h0, x, cs, w),
    ),
]


def run_states(p, q, x, z, a):
    outputs = []
    for number, (e, f) in enumerate(zip(x, z), 3):
        p, q = q * a, p * e + f
        outputs.append(q * number)
    return p, q, torch.stack(outputs)


def run_nested(h, x, w):
    for rows in x:
        inner = h
        for row in rows:
            inner = inner * row * w + h
        h = inner
    return h


def run_choices(h, x, cs, w):
    for e, c in zip(x, cs):
        h = h * e * w if c else h + e
    return h


CASES = IF_CASES + SCAN_CASES
