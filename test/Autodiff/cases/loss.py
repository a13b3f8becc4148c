# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
LABELS = {
    "rows": ((3, 4), np.array([1, 3, 0])),
    "images": ((2, 3, 2, 2), np.array([[[0, 1], [2, 1]], [[2, 2], [0, 1]]])),
}
WEIGHTS = np.array([0.5, 2.0, 1.5, 0.25])


def torch_loss(function, reduction, ignore):
    def f(x, labels, weights=None):
        return getattr(torch.nn.functional, function)(
            x,
            labels.long(),
            weights,
            reduction=reduction,
            ignore_index=-100 if ignore is None else ignore,
        )

    return f


def loss(kind, shape, reduction, weighted=False, ignore=None, dtype=None):
    op, function = {
        "softmax": ("SoftmaxCrossEntropyLoss", "cross_entropy"),
        "likelihood": ("NegativeLogLikelihoodLoss", "nll_loss"),
    }[kind]
    size, labels = LABELS[shape]
    name = f"{kind}-{shape}-{reduction}"
    inputs = {"x": size, "labels": labels.astype(dtype or np.int64)}
    attributes = f'reduction="{reduction}"'
    if weighted:
        name += "-weighted"
        inputs["w"] = WEIGHTS[: size[1]]
    if ignore is not None:
        name += f"-ignore{ignore}"
        attributes += f", ignore_index={ignore}"
        if ignore < 0:
            inputs["labels"] = np.where(labels == 1, ignore, labels)
    if dtype is not None:
        name += "-" + np.dtype(dtype).name
    return Case(
        name,
        f"y = {op}<{attributes}>({', '.join(inputs)})",
        inputs,
        wrt=("x",),
        torch=torch_loss(function, reduction, ignore),
    )


CASES = [
    loss(kind, shape, reduction, weighted, ignore)
    for kind in ("softmax", "likelihood")
    for shape in ("rows", "images")
    for reduction in ("mean", "sum", "none")
    for weighted, ignore in [(False, None), (True, None), (True, 1), (False, -1)]
] + [
    loss("softmax", "rows", "mean", dtype=np.int32),
    Case(
        "softmax-default",
        "y = SoftmaxCrossEntropyLoss(x, labels)",
        {"x": (3, 4), "labels": np.array([1, 3, 0])},
        torch=torch_loss("cross_entropy", "mean", None),
    ),
    # Weights with an ignored label that is not a class.
    Case(
        "softmax-ignore-outside",
        "y = SoftmaxCrossEntropyLoss<ignore_index=9>(x, labels, w)",
        {"x": (3, 4), "labels": np.array([1, 9, 0]), "w": WEIGHTS},
        wrt=("x",),
        torch=torch_loss("cross_entropy", "mean", 9),
    ),
    Case(
        "softmax-log-prob",
        "y, log_prob = SoftmaxCrossEntropyLoss(x, labels)",
        {"x": (3, 4), "labels": np.array([1, 3, 0])},
        outputs=("y", "log_prob"),
        torch=lambda x, labels: (
            torch_loss("cross_entropy", "mean", None)(x, labels),
            x.log_softmax(1),
        ),
    ),
    Case(
        "softmax-only-log-prob",
        "y, log_prob = SoftmaxCrossEntropyLoss(x, labels)",
        {"x": (2, 3, 2), "labels": np.array([[1, 0], [2, 0]])},
        outputs=("log_prob",),
        torch=lambda x, labels: x.log_softmax(1),
    ),
]
