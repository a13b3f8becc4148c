# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes recipes.npz: the steps of all recipes by torch, in float64.

usage: python make_recipe_references.py

Needs torch beside scripts/requirements-test.txt; the tests themselves read
what it has written. Repeat it where recipes have changed.
"""

import numpy as np
import torch
import torch.nn.functional as F
from torch.optim import swa_utils

import recipes
from recipe_table import RECIPES


class Net(torch.nn.Module):
    def __init__(self, values):
        super().__init__()
        # Names of modules and parameters have dots, those of the list have
        # none.
        self.names = list(values)
        self.values = torch.nn.ParameterList(
            torch.tensor(v, dtype=torch.float64) for v in values.values()
        )

    def named(self):
        return dict(zip(self.names, self.values))

    def forward(self, x):
        w = self.named()
        h = torch.tanh(x @ w["body.weight"] + w["body.bias"])
        y = h @ w["head.weight"] + w["head.bias"]
        return {
            "y": y,
            "p": torch.sigmoid(y),
            "logp": torch.log_softmax(y, -1),
            "z": h @ w["aside.weight"],
        }


def find_losses(recipe, results, labels):
    for weight, function, output, index, arguments in recipe.terms:
        value = results[output]
        if labels[index].dtype == torch.int64 and value.dim() == 3:
            value = value.transpose(1, 2)
        arguments = {
            key: torch.tensor(v).double() if isinstance(v, list) else v
            for key, v in arguments.items()
        }
        yield weight, getattr(F, function)(value, labels[index], **arguments)


def make_optimizer(recipe, net):
    kind, arguments = recipe.torch
    groups = [
        {"params": [value], **(recipe.group(name) if recipe.group else {})}
        for name, value in net.named().items()
    ]
    return getattr(torch.optim, kind)(groups, lr=recipes.RATE, **arguments)


def clip(recipe, net):
    if recipe.clip_value:
        torch.nn.utils.clip_grad_value_(net.parameters(), recipe.clip_value)
    if recipe.clip_norm:
        torch.nn.utils.clip_grad_norm_(net.parameters(), recipe.clip_norm)


def run(recipe):
    net = Net(recipes.parameters(recipe.zero_head))
    optimizer = make_optimizer(recipe, net)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: recipe.schedule[min(step, recipes.STEPS - 1)]
    )
    average = swa_utils.AveragedModel(
        net, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(recipe.average)
    )
    data = recipes.make_data(recipe)
    found = {}

    def keep(name, value):
        found.setdefault(name, []).append(value.detach().numpy().copy())

    for step in range(recipes.STEPS):
        rows = recipes.batch(data, step)
        feed = {name: torch.tensor(v) for name, v in rows.items()}
        x = feed.pop("x").double()
        labels = [
            v.double() if v.is_floating_point() else v for v in feed.values()
        ]
        losses = list(find_losses(recipe, net(x), labels))
        total = sum(weight * loss for weight, loss in losses)
        (total / recipe.accumulate).backward()
        keep("loss", total)
        for index, (_, loss) in enumerate(losses):
            keep(f"part{index}", loss)
        if step == 0:
            for name, value in net.named().items():
                if value.grad is not None:
                    keep(f"{name}_grad", value.grad * recipe.accumulate)
        if (step + 1) % recipe.accumulate == 0:
            clip(recipe, net)
            optimizer.step()
            optimizer.zero_grad()
            if recipe.average:
                average.update_parameters(net)
        schedule.step()
        for name, value in net.named().items():
            keep(name, value)
        if recipe.average and step + 1 >= recipe.accumulate:
            for name, value in average.module.named().items():
                keep(f"{name}.ema", value)
    return pack({name: np.array(values) for name, values in found.items()})


def pack(arrays):
    """One record: an entry of the archive for each array would be larger."""
    fields = [(name, np.float32, value.shape) for name, value in arrays.items()]
    record = np.zeros((), fields)
    for name, value in arrays.items():
        record[name] = value
    return record


def main():
    records = {name: run(recipe) for name, recipe in RECIPES.items()}
    np.savez_compressed(recipes.REFERENCES, **records)
    print(len(records), "recipes")


if __name__ == "__main__":
    main()
