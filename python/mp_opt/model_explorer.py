# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Model Explorer's extension: the precision of each node, over its graph.

    model-explorer model.onnx --extensions=mp_opt.model_explorer
"""

from __future__ import annotations

from model_explorer import NodeDataProvider, NodeDataProviderMetadata
from model_explorer.node_data_builder import (
    GraphNodeData,
    ModelNodeData,
    NodeDataResult,
    ThresholdItem,
)

import mp_opt


def node_data(path: str, precision=None, **arguments) -> ModelNodeData:
    """What ``mp_opt.overlay`` says, as Model Explorer's classes."""
    graphs = {}
    for name, data in mp_opt.overlay(path, precision, **arguments).items():
        graphs[name] = GraphNodeData(
            results={
                key: NodeDataResult(
                    value=result["value"], bgColor=result.get("bgColor", "")
                )
                for key, result in data["results"].items()
            },
            thresholds=[ThresholdItem(**item) for item in data.get("thresholds", [])],
        )
    return ModelNodeData(graphsData=graphs)


class MixedPrecisionProvider(NodeDataProvider):
    metadata = NodeDataProviderMetadata(
        id="mp_opt_precision", name="Mixed precision (mp-opt)"
    )

    def __init__(self):
        super().__init__()

    def run(self, model_path: str, settings: dict):
        return node_data(model_path, (settings or {}).get("precision") or None)


main = MixedPrecisionProvider
