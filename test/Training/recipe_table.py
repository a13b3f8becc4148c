# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The recipes: losses with SGD, and other settings with losses of two kinds."""

from recipes import RATE, Recipe


def one(name, loss, function, output="y", labels="classes", **arguments):
    """A single loss with SGD. `loss` is KIND or KIND:SETTINGS."""
    kind, _, settings = loss.partition(":")
    text = f"{kind}:{output}" + (f":{settings}" if settings else "")
    own = {"tokens", "zero_head"} & arguments.keys()
    extra = {key: arguments.pop(key) for key in own}
    terms = ((1, function, output, 0, arguments),)
    return Recipe(name, (text,), terms, labels=(labels,), **extra)


WEIGHTS = [0.5, 2.0, 1.25]
LISTED = "weights=0.5,2,1.25"
IGNORED = dict(labels="classes-ignored")
CE, NLL = "softmax-cross-entropy", "nll"

LOSSES = [
    one(
        "sce-ignore",
        f"{CE}:ignore-index=-100",
        "cross_entropy",
        **IGNORED,
    ),
    one(
        "sce-ignore-class",
        f"{CE}:ignore-index=1",
        "cross_entropy",
        ignore_index=1,
    ),
    one("sce-weights", f"{CE}:{LISTED}", "cross_entropy", weight=WEIGHTS),
    one(
        "sce-weights-ignore",
        f"{CE}:{LISTED},ignore-index=-100",
        "cross_entropy",
        weight=WEIGHTS,
        **IGNORED,
    ),
    one("sce-sum", f"{CE}:reduction=sum", "cross_entropy", reduction="sum"),
    one(
        "sce-smooth",
        f"{CE}:label-smoothing=0.1",
        "cross_entropy",
        label_smoothing=0.1,
    ),
    one(
        "sce-smooth-all",
        f"{CE}:label-smoothing=1,ignore-index=-100",
        "cross_entropy",
        label_smoothing=1.0,
        **IGNORED,
    ),
    one(
        "sce-smooth-weights",
        f"{CE}:label-smoothing=0.2,{LISTED}",
        "cross_entropy",
        label_smoothing=0.2,
        weight=WEIGHTS,
    ),
    one(
        "sce-smooth-sum",
        f"{CE}:reduction=sum,label-smoothing=0.1,{LISTED},ignore-index=-100",
        "cross_entropy",
        label_smoothing=0.1,
        weight=WEIGHTS,
        reduction="sum",
        **IGNORED,
    ),
    one(
        "language-model",
        f"{CE}:class-axis=-1,{LISTED},ignore-index=-100,label-smoothing=0.1",
        "cross_entropy",
        tokens=True,
        weight=WEIGHTS,
        label_smoothing=0.1,
        **IGNORED,
    ),
    one(
        "nll-weights-ignore",
        f"{NLL}:{LISTED},ignore-index=-100",
        "nll_loss",
        "logp",
        weight=WEIGHTS,
        **IGNORED,
    ),
    one(
        "nll-sum",
        f"{NLL}:reduction=sum",
        "nll_loss",
        "logp",
        reduction="sum",
    ),
    one(
        "mse-sum",
        "mse:reduction=sum",
        "mse_loss",
        "y",
        "targets",
        reduction="sum",
    ),
    one("l1", "l1", "l1_loss", "y", "targets"),
    one(
        "l1-sum",
        "l1:reduction=sum",
        "l1_loss",
        "y",
        "targets",
        reduction="sum",
    ),
    one("smooth-l1", "smooth-l1", "smooth_l1_loss", "y", "targets"),
    one(
        "smooth-l1-beta",
        "smooth-l1:beta=0.3",
        "smooth_l1_loss",
        "y",
        "targets",
        beta=0.3,
    ),
    one(
        "smooth-l1-0",
        "smooth-l1:beta=0",
        "smooth_l1_loss",
        "y",
        "targets",
        beta=0.0,
    ),
    one(
        "huber",
        "huber:delta=0.7,reduction=sum",
        "huber_loss",
        "y",
        "targets",
        delta=0.7,
        reduction="sum",
    ),
    one("bce", "bce", "binary_cross_entropy", "p", "bits"),
    one("bce-zero", "bce", "binary_cross_entropy", "p", "bits", zero_head=True),
    one(
        "bce-logits",
        "bce-with-logits",
        "binary_cross_entropy_with_logits",
        "y",
        "bits",
    ),
    one(
        "bce-twice",
        "bce-with-logits:reduction=sum",
        "binary_cross_entropy_with_logits",
        "p",
        "bits",
        reduction="sum",
    ),
    one(
        "bce-positive",
        "bce-with-logits:pos-weight=3,0.5,1",
        "binary_cross_entropy_with_logits",
        "y",
        "bits",
        pos_weight=[3.0, 0.5, 1.0],
    ),
    one(
        "bce-positive-zero",
        "bce-with-logits:pos-weight=2.5",
        "binary_cross_entropy_with_logits",
        "y",
        "bits",
        pos_weight=[2.5],
        zero_head=True,
    ),
    one("kl-div", "kl-div", "kl_div", "logp", "probabilities"),
    one(
        "kl-div-batchmean",
        "kl-div:reduction=batchmean",
        "kl_div",
        "logp",
        "probabilities",
        tokens=True,
        reduction="batchmean",
    ),
    one(
        "kl-div-sum",
        "kl-div:reduction=sum",
        "kl_div",
        "logp",
        "probabilities",
        reduction="sum",
    ),
]

MSE = (("mse:y",), ((1, "mse_loss", "y", 0, {}),))
BOTH = (
    (f"{CE}:y:label-smoothing=0.1", "mse:z:weight=0.25"),
    (
        (1, "cross_entropy", "y", 0, {"label_smoothing": 0.1}),
        (0.25, "mse_loss", "z", 1, {}),
    ),
)
TARGET = dict(labels=("targets",))


def no_decay(name):
    return {"weight_decay": 0.0} if name.endswith("bias") else {}


def by_layer(name):
    settings = {"lr": RATE * 0.1} if name.startswith("body") else {}
    return {**settings, **no_decay(name)}


def fast_head(name):
    return {"lr": 0.2, "momentum": 0.5} if name.startswith("head") else {}


SETTINGS = [
    Recipe("two-losses", *BOTH, labels=("classes", "targets-z")),
    Recipe(
        "two-losses-shared-labels",
        ("l1:y", "mse:p:labels=labels,weight=2,reduction=sum"),
        (
            (1, "l1_loss", "y", 0, {}),
            (2, "mse_loss", "p", 0, {"reduction": "sum"}),
        ),
        **TARGET,
    ),
    Recipe(
        "clip-value",
        *MSE,
        flags=("--clip-value=0.05",),
        clip_value=0.05,
        **TARGET,
    ),
    Recipe(
        "clip-both",
        *MSE,
        optimizer="adam",
        torch=("Adam", {}),
        flags=("--clip-value=0.05", "--clip-norm=0.1"),
        clip_value=0.05,
        clip_norm=0.1,
        **TARGET,
    ),
    Recipe(
        "no-decay",
        *MSE,
        optimizer="adamw",
        torch=("AdamW", {"weight_decay": 0.1}),
        flags=("--weight-decay=0.1", "--group=.*(bias|norm).*:weight-decay=0"),
        group=no_decay,
        **TARGET,
    ),
    Recipe(
        "rates-by-layer",
        *BOTH,
        labels=("classes", "targets-z"),
        optimizer="adamw",
        torch=("AdamW", {"weight_decay": 0.1}),
        flags=(
            "--weight-decay=0.1",
            "--group=.*:lr-scale=1",
            "--group=body.*:lr-scale=0.1",
            "--group=.*bias:weight-decay=0",
        ),
        group=by_layer,
    ),
    Recipe(
        "rate-and-momentum",
        *MSE,
        optimizer="momentum",
        torch=("SGD", {"momentum": 0.9, "weight_decay": 0.01}),
        flags=("--weight-decay=0.01", "--group=head[.].*:lr=0.2,momentum=0.5"),
        group=fast_head,
        schedule=(0.25, 1, 0.5, 0.125),
        **TARGET,
    ),
    Recipe(
        "average",
        *MSE,
        flags=("--average=ema:decay=0.9",),
        average=0.9,
        **TARGET,
    ),
    Recipe(
        "average-of-sums",
        *MSE,
        optimizer="nesterov",
        torch=("SGD", {"momentum": 0.9, "nesterov": True}),
        flags=("--average=ema:decay=0.75", "--accumulate=2"),
        average=0.75,
        accumulate=2,
        **TARGET,
    ),
]

RECIPES = {recipe.name: recipe for recipe in LOSSES + SETTINGS}
