"""The compiler of kernels: Numba's, with less work for what kernels do not have."""

from __future__ import annotations

import operator
from typing import Any

from numba.core import ir, typed_passes, types, untyped_passes
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.extending import intrinsic

# Each reads all of a kernel's code for what no kernel has: closures, blocks of `with`, and literal types. One of them
# turns expressions of whole arrays into loops. Kernels write these loops out; an expression would allocate an array for
# every operation.
_UNUSED_PASSES = frozenset(
    {
        untyped_passes.WithLifting,
        untyped_passes.InlineClosureLikes,
        untyped_passes.MakeFunctionToJitFunction,
        untyped_passes.FindLiterallyCalls,
        untyped_passes.LiteralUnroll,
        untyped_passes.LiteralPropagationSubPipelinePass,
        typed_passes.NopythonRewrites,
        typed_passes.DumpParforDiagnostics,
    }
)


def _extreme(comparison: Any) -> Any:
    """Return the code of `max` or `min`: the second number if it compares so with the first, as in Python."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        common = signature.return_type
        first, second = (
            context.cast(builder, value, given, common) for value, given in zip(values, signature.args, strict=True)
        )
        is_better = context.get_function(comparison, types.boolean(common, common))
        return builder.select(is_better(builder, (second, first)), second, first)

    return generate


@intrinsic
def _larger(typing: Any, one: Any, other: Any) -> Any:
    return typing.unify_types(one, other)(one, other), _extreme(operator.gt)


@intrinsic
def _smaller(typing: Any, one: Any, other: Any) -> Any:
    return typing.unify_types(one, other)(one, other), _extreme(operator.lt)


_EXTREMES = ((max, _larger), (min, _smaller))


@register_pass(mutates_CFG=False, analysis_only=False)
class _DirectExtremes(FunctionPass):
    """Compiles `max` and `min` of two numbers in place; Numba compiles a function for every kernel and type."""

    _name = "direct_extremes"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        """Replace the functions by ours."""
        for block in state.func_ir.blocks.values():
            for assigned in block.find_insts(ir.Assign):
                if isinstance(assigned.value, ir.Global):
                    for function, ours in _EXTREMES:
                        if assigned.value.value is function:
                            assigned.value.value = ours
        return True


class KernelCompiler(CompilerBase):
    """Numba's compiler without the unused passes; it knows `max` and `min` of exactly two numbers."""

    def define_pipelines(self) -> list[Any]:
        """Return the passes."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [(one, about) for one, about in passes.passes if one not in _UNUSED_PASSES]
        passes.add_pass_after(_DirectExtremes, untyped_passes.InlineInlinables)
        passes.finalize()
        return [passes]
