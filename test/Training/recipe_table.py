# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The recipes: losses with SGD, and other settings with losses of two kinds."""

import re

from recipes import RATE, Recipe


# The function of torch, and the usual output and labels, of a kind of loss.
KINDS = {
    "softmax-cross-entropy": ("cross_entropy", "y", "classes"),
    "nll": ("nll_loss", "logp", "classes"),
    "mse": ("mse_loss", "y", "targets"),
    "l1": ("l1_loss", "y", "targets"),
    "smooth-l1": ("smooth_l1_loss", "y", "targets"),
    "huber": ("huber_loss", "y", "targets"),
    "bce": ("binary_cross_entropy", "p", "bits"),
    "bce-with-logits": ("binary_cross_entropy_with_logits", "y", "bits"),
    "kl-div": ("kl_div", "logp", "probabilities"),
}


def arguments_of(settings):
    """What torch's function takes for SETTING=VALUE[,VALUE...],..."""
    found = {}
    for key, text in re.findall(r"([a-z-]+)=([^=]*)(?:,|$)", settings):
        key = {"weights": "weight"}.get(key, key.replace("-", "_"))
        if key == "reduction":
            found[key] = text
        elif key == "ignore_index":
            found[key] = int(text)
        elif key in ("weight", "pos_weight"):
            found[key] = [float(number) for number in text.split(",")]
        elif key != "class_axis":
            found[key] = float(text)
    return found


def one(name, loss, output=None, **extra):
    """A single loss with SGD. `loss` is KIND or KIND:SETTINGS."""
    kind, _, settings = loss.partition(":")
    function, usual, labels = KINDS[kind]
    output = output or usual
    text = f"{kind}:{output}" + (f":{settings}" if settings else "")
    if "ignore-index=-100" in settings:
        labels = "classes-ignored"
    terms = ((1, function, output, 0, arguments_of(settings)),)
    return Recipe(name, (text,), terms, labels=(labels,), **extra)


WEIGHTS = [0.5, 2.0, 1.25]
LISTED = "weights=0.5,2,1.25"
SUM, IGNORED = "reduction=sum", "ignore-index=-100"
CE, NLL, LOGITS = "softmax-cross-entropy", "nll", "bce-with-logits"

LOSSES = [
    one("sce-ignore", f"{CE}:{IGNORED}"),
    one("sce-ignore-class", f"{CE}:ignore-index=1"),
    one("sce-weights", f"{CE}:{LISTED}"),
    one("sce-weights-ignore", f"{CE}:{LISTED},{IGNORED}"),
    one("sce-sum", f"{CE}:{SUM}"),
    one("sce-smooth", f"{CE}:label-smoothing=0.1"),
    one("sce-smooth-all", f"{CE}:label-smoothing=1,{IGNORED}"),
    one("sce-smooth-weights", f"{CE}:label-smoothing=0.2,{LISTED}"),
    one("sce-smooth-sum", f"{CE}:{SUM},label-smoothing=0.1,{LISTED},{IGNORED}"),
    one(
        "language-model",
        f"{CE}:class-axis=-1,{LISTED},{IGNORED},label-smoothing=0.1",
        tokens=True,
    ),
    one("nll-weights-ignore", f"{NLL}:{LISTED},{IGNORED}"),
    one("nll-sum", f"{NLL}:{SUM}"),
    one("mse-sum", f"mse:{SUM}"),
    one("l1", "l1"),
    one("l1-sum", f"l1:{SUM}"),
    one("smooth-l1", "smooth-l1"),
    one("smooth-l1-beta", "smooth-l1:beta=0.3"),
    one("smooth-l1-0", "smooth-l1:beta=0"),
    one("huber", f"huber:delta=0.7,{SUM}"),
    one("bce", "bce"),
    one("bce-zero", "bce", zero_head=True),
    one("bce-logits", LOGITS),
    one("bce-twice", f"{LOGITS}:{SUM}", "p"),
    one("bce-positive", f"{LOGITS}:pos-weight=3,0.5,1"),
    one("bce-positive-zero", f"{LOGITS}:pos-weight=2.5", zero_head=True),
    one("kl-div", "kl-div"),
    one("kl-div-batchmean", "kl-div:reduction=batchmean", tokens=True),
    one("kl-div-sum", f"kl-div:{SUM}"),
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
