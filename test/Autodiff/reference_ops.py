# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that ONNX's reference evaluator lacks or computes wrongly."""

import itertools

import numpy as np
from onnx.reference.op_run import OpRun


class ConvTranspose(OpRun):
    """ONNX's own takes the weights of other groups if there are several."""

    def _run(
        self,
        x,
        w,
        b=None,
        auto_pad=None,
        dilations=None,
        group=None,
        kernel_shape=None,
        output_padding=None,
        output_shape=None,
        pads=None,
        strides=None,
    ):
        rank, group = x.ndim - 2, group or 1
        strides, dilations = strides or [1] * rank, dilations or [1] * rank
        extra = output_padding or [0] * rank
        pads = pads or [0] * (2 * rank)
        counts, kernel = x.shape[2:], w.shape[2:]
        full = [
            (counts[i] - 1) * strides[i] + (kernel[i] - 1) * dilations[i] + 1
            for i in range(rank)
        ]
        sizes = output_shape and list(output_shape[-rank:])
        if sizes is None and str(auto_pad).startswith("SAME"):
            sizes = [counts[i] * strides[i] for i in range(rank)]
        begins = list(pads[:rank])
        if sizes is None:
            sizes = [
                full[i] + extra[i] - pads[i] - pads[i + rank]
                for i in range(rank)
            ]
        else:
            for i in range(rank):
                total = max(full[i] + extra[i] - sizes[i], 0)
                upper = auto_pad == "SAME_UPPER"
                begins[i] = total // 2 if upper else total - total // 2
        rows = x.shape[1] // group
        room = [max(f, b + s) for f, b, s in zip(full, begins, sizes)]
        y = np.zeros((x.shape[0], group * w.shape[1], *room), x.dtype)
        for g in range(group):
            inputs = x[:, g * rows : (g + 1) * rows]
            outputs = y[:, g * w.shape[1] : (g + 1) * w.shape[1]]
            for cell in itertools.product(*map(range, kernel)):
                places = tuple(
                    slice(
                        cell[i] * dilations[i],
                        cell[i] * dilations[i] + counts[i] * strides[i],
                        strides[i],
                    )
                    for i in range(rank)
                )
                weights = w[(slice(g * rows, (g + 1) * rows), ..., *cell)]
                part = np.einsum("nc...,cm->nm...", inputs, weights)
                outputs[(slice(None), slice(None), *places)] += part
        crop = tuple(slice(b, b + s) for b, s in zip(begins, sizes))
        y = y[(slice(None), slice(None), *crop)]
        return (y if b is None else y + b.reshape(-1, *[1] * rank),)


def draw_mask(shape, ratio, training_mode, seed):
    """As the evaluator's own Dropout does."""
    if not training_mode:
        return np.ones(shape, bool)
    draws = np.random.RandomState(seed).uniform(0, 1, shape)
    return draws >= (0.5 if ratio is None else ratio)


def keep(x, mask, ratio, training_mode):
    if not training_mode:
        return x
    return np.where(mask, x / (1 - (0.5 if ratio is None else ratio)), 0)


class BiasDropout(OpRun):
    op_domain = "com.microsoft"

    def _run(self, x, b, residual=None, ratio=None, mode=None, seed=None):
        mask = draw_mask(x.shape, ratio, mode, seed)
        y = keep(x + b, mask, ratio, mode)
        return (y if residual is None else y + residual, mask)[
            : len(self.output)
        ]


class BitmaskDropout(OpRun):
    op_domain = "com.microsoft"

    def _run(self, x, ratio=None, mode=None, seed=None):
        mask = draw_mask(x.shape, ratio, mode, seed)
        bits = np.zeros(-(-mask.size // 32) * 32, bool)
        bits[: mask.size] = mask.ravel()
        places = np.left_shift(np.uint32(1), np.arange(32, dtype=np.uint32))
        words = (bits.reshape(-1, 32) * places).sum(1).astype(np.uint32)
        return (keep(x, mask, ratio, mode), words)[: len(self.output)]


class Dropout(OpRun):
    """ONNX's own does not run without a ratio."""

    def _run(self, x, ratio=None, mode=None, seed=None):
        mask = draw_mask(x.shape, ratio, mode, seed)
        return (keep(x, mask, ratio, mode), mask)[: len(self.output)]


class MaxPool(OpRun):
    """ONNX's own has wrong indices or sizes for some strides and pads."""

    def _run(
        self,
        x,
        auto_pad=None,
        ceil_mode=None,
        dilations=None,
        kernel_shape=None,
        pads=None,
        storage_order=None,
        strides=None,
    ):
        rank, sizes = x.ndim - 2, x.shape[2:]
        strides, dilations = strides or [1] * rank, dilations or [1] * rank
        pads = list(pads or [0] * (2 * rank))
        counts = []
        for i in range(rank):
            span = (kernel_shape[i] - 1) * dilations[i] + 1
            if str(auto_pad).startswith("SAME"):
                count = -(-sizes[i] // strides[i])
                total = max((count - 1) * strides[i] + span - sizes[i], 0)
                lower = auto_pad == "SAME_LOWER"
                pads[i] = total - total // 2 if lower else total // 2
            else:
                room = sizes[i] + pads[i] + pads[i + rank] - span
                up = strides[i] - 1 if ceil_mode else 0
                count = (room + up) // strides[i] + 1
                # No window starts in the pads at the end.
                if ceil_mode and (count - 1) * strides[i] >= sizes[i] + pads[i]:
                    count -= 1
            counts.append(count)
        y = np.empty((*x.shape[:2], *counts), x.dtype)
        indices = np.empty(y.shape, np.int64)
        order = "F" if storage_order else "C"
        for place in np.ndindex(*counts):
            cells = [
                [
                    p * s - b + k * d
                    for k in range(size)
                    if 0 <= p * s - b + k * d < all_of
                ]
                for p, s, b, d, size, all_of in zip(
                    place, strides, pads, dilations, kernel_shape, sizes
                )
            ]
            cells = np.array(list(itertools.product(*cells)))
            found = x[(slice(None), slice(None), *cells.T)]
            first = found.argmax(-1)
            where = (slice(None), slice(None), *place)
            y[where] = found.max(-1)
            flat = np.ravel_multi_index(tuple(cells.T), sizes, order=order)
            images = np.arange(first.size).reshape(first.shape)
            indices[where] = flat[first] + images * np.prod(sizes)
        return (y, indices)[: len(self.output)]


def spatial(x):
    return tuple(range(2, x.ndim))


class GlobalMaxPool(OpRun):
    """ONNX's own is right for images of two axes only."""

    def _run(self, x):
        return (x.max(spatial(x), keepdims=True),)


class GlobalLpPool(OpRun):
    def _run(self, x, p=None):
        sums = (np.abs(x) ** p).sum(spatial(x), keepdims=True)
        return (sums ** (1 / p),)


class GroupNormalization(OpRun):
    """ONNX's own goes through fp32: too coarse for difference quotients."""

    def _run(
        self, x, s, b, epsilon=None, num_groups=None, stash_type=None
    ):
        rows = x.reshape(x.shape[0], num_groups, -1)
        rows = rows - rows.mean(-1, keepdims=True)
        rows = rows / np.sqrt((rows**2).mean(-1, keepdims=True) + epsilon)
        # One element for each group, or for each channel.
        rows = rows.reshape(x.shape[0], s.size, -1)
        y = rows * s[:, None] + b[:, None]
        return (y.reshape(x.shape),)


class LpNormalization(OpRun):
    """ONNX's own takes no absolute values."""

    def _run(self, x, axis=None, p=None):
        norm = (np.abs(x) ** p).sum(axis, keepdims=True) ** (1 / p)
        return (np.where(norm == 0, 0, x / np.where(norm == 0, 1, norm)),)


class LRN(OpRun):
    """ONNX's own takes the batch for the channels."""

    def _run(self, x, alpha=None, beta=None, bias=None, size=None):
        sums = np.zeros_like(x)
        for c in range(x.shape[1]):
            begin, end = c - (size - 1) // 2, c + size // 2 + 1
            sums[:, c] = (x[:, max(begin, 0) : end] ** 2).sum(1)
        return (x / (bias + alpha / size * sums) ** beta,)


class MeanVarianceNormalization(OpRun):
    """ONNX's own adds an fp32 constant, which is an error."""

    def _run(self, x, axes=None):
        axes = tuple(axes)
        x = x - x.mean(axes, keepdims=True)
        return (x / (np.sqrt((x**2).mean(axes, keepdims=True)) + 1e-9),)


class NegativeLogLikelihoodLoss(OpRun):
    """ONNX's own counts the ignored label -1 in the mean."""

    def _run(self, x, labels, w=None, ignore_index=None, reduction=None):
        counts = np.ones(labels.shape, bool)
        if ignore_index is not None:
            counts = labels != ignore_index
        safe = np.where(counts, labels, 0)
        weights = counts * (1.0 if w is None else w[safe])
        picked = np.take_along_axis(x, safe[:, None], 1)[:, 0]
        y = -picked * weights
        if reduction == "mean":
            y = y.sum() / weights.sum()
        return (np.asarray(y.sum() if reduction == "sum" else y, x.dtype),)


OPS = [
    BiasDropout,
    BitmaskDropout,
    ConvTranspose,
    Dropout,
    GlobalLpPool,
    GlobalMaxPool,
    GroupNormalization,
    LpNormalization,
    LRN,
    MaxPool,
    MeanVarianceNormalization,
    NegativeLogLikelihoodLoss,
]
