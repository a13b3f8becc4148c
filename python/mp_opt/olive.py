# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mp-opt as a pass of Olive.

    olive run --config run.json --package-config $(python -m mp_opt.olive)

prints the path of the package config, which names the pass MpOptMixedPrecision.
"""

from __future__ import annotations

import os
from pathlib import Path

import mp_opt

PACKAGE_CONFIG = Path(__file__).with_name("olive_config.json")

if __name__ == "__main__":
    print(PACKAGE_CONFIG)
else:
    from olive.model import ONNXModelHandler
    from olive.passes import Pass
    from olive.passes.pass_config import BasePassConfig, PassConfigParam

    class MpOptMixedPrecision(Pass):
        """Arguments are those of ``mp_opt.convert``."""

        @classmethod
        def _default_config(cls, accelerator_spec):
            def optional(kind, text):
                return PassConfigParam(type_=kind, default_value=None, description=text)

            return {
                "precision": optional(str, "bf16 or fp16"),
                "policy": optional(str, "a file, or a policy of Keras"),
                "allow": optional(list, "operators that may be 16 bit"),
                "deny": optional(list, "operators that stay fp32"),
                "allow_node": optional(list, "patterns of nodes' names"),
                "deny_node": optional(list, "patterns of nodes' names"),
                "dim": optional(dict, "sizes of symbolic dimensions"),
                "strict": PassConfigParam(
                    type_=bool,
                    default_value=False,
                    description="fail where 16 bit cannot be had",
                ),
            }

        def _run_for_config(
            self, model: ONNXModelHandler, config: BasePassConfig,
            output_model_path: str,
        ) -> ONNXModelHandler:  # fmt: skip
            path = Path(output_model_path)
            if path.suffix != ".onnx":
                path = path / os.path.basename(model.model_path)
            path.parent.mkdir(parents=True, exist_ok=True)
            arguments = config.model_dump(include=set(self._default_config(None)))
            mp_opt.convert(model.model_path, output=path, **arguments)
            return ONNXModelHandler(str(path))
