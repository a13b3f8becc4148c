#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convert a model to fp16 with another tool, to be timed as a whole process.

  ort  onnxruntime's transformers.float16
  occ  onnxconverter-common's float16
Both keep input and output types and leave Softmax and LayerNormalization in
fp32, as mp-opt's built-in fp16 profile does. Neither knows bf16.
"""

import argparse
import os

import onnx

FP32_OPS = ["Softmax", "LayerNormalization"]


def with_onnxruntime(model):
    from onnxruntime.transformers import float16

    return float16.convert_float_to_float16(
        model, keep_io_types=True, op_block_list=FP32_OPS
    )


def with_onnxconverter_common(model):
    from onnxconverter_common import float16

    return float16.convert_float_to_float16(
        model,
        keep_io_types=True,
        op_block_list=[*float16.DEFAULT_OP_BLOCK_LIST, *FP32_OPS],
    )


PEERS = {"ort": with_onnxruntime, "occ": with_onnxconverter_common}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("peer", choices=list(PEERS))
    parser.add_argument("source", metavar="IN.onnx")
    parser.add_argument("target", metavar="OUT.onnx")
    arguments = parser.parse_args()
    model = PEERS[arguments.peer](onnx.load(arguments.source))
    target = arguments.target
    onnx.save_model(
        model,
        target,
        save_as_external_data=True,
        location=os.path.basename(target) + ".data",
    )


if __name__ == "__main__":
    main()
