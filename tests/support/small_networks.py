"""Small ONNX networks whose answers can be computed by hand: the mean of each channel, times a matrix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
onnx = pytest.importorskip("onnx", reason="onnx is not installed")
TensorProto, helper, numpy_helper = onnx.TensorProto, onnx.helper, onnx.numpy_helper

WEIGHTS = np.array([[1.0, 0.0, 0.0, 2.0], [0.0, 1.0, 0.0, -1.0], [0.0, 0.0, 1.0, 0.5]], np.float32)
"""From the means of red, green and blue to a vector."""
FORMS = ("image_embeds", "pooler_output", "unnamed", "last_hidden_state", "map", "channels last", "fixed batch")


def write_network(path: Path, form: str = "image_embeds", size: Any = "side") -> Path:
    """Write a network that answers with the mean colors of pictures times `WEIGHTS`, in one of several forms."""
    batch: Any = 4 if form == "fixed batch" else "batch"
    last = form == "channels last"
    shape = [batch, size, size, 3] if last else [batch, 3, size, size]
    nodes = [helper.make_node("Transpose", ["pixel_values"], ["first"], perm=[0, 3, 1, 2])] if last else []
    nodes += [
        helper.make_node("GlobalAveragePool", ["first" if last else "pixel_values"], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["means"]),
        helper.make_node("MatMul", ["means", "weights"], ["vector"]),
    ]
    constants = [numpy_helper.from_array(WEIGHTS, "weights")]
    output, kind = "vector", [batch, 4]
    if form in ("image_embeds", "pooler_output"):
        # Others come first, and are not the vectors.
        nodes.append(helper.make_node("Identity", ["vector"], [form]))
        output = form
    elif form in ("last_hidden_state", "map"):
        axes = [1] if form == "last_hidden_state" else [2, 3]
        constants.append(numpy_helper.from_array(np.array(axes, np.int64), "axes"))
        nodes.append(helper.make_node("Unsqueeze", ["vector", "axes"], [form]))
        output, kind = form, [batch, 1, 4] if len(axes) == 1 else [batch, 4, 1, 1]
    outputs = [helper.make_tensor_value_info(output, TensorProto.FLOAT, kind)]
    if form in ("image_embeds", "pooler_output"):
        outputs.insert(0, helper.make_tensor_value_info("means", TensorProto.FLOAT, [batch, 3]))
    inputs = [helper.make_tensor_value_info("pixel_values", TensorProto.FLOAT, shape)]
    graph = helper.make_graph(nodes, "small", inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, str(path))
    return path
