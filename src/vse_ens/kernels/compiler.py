"""The compiler of kernels: Numba's, with less work for what kernels do not have."""

from __future__ import annotations

import operator
from typing import Any

from numba.core import ir, typed_passes, types, untyped_passes
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
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

# Numba 0.61 runs the passes of LLVM otherwise.
_HAS_PASS_BUILDERS = hasattr(JITCPUCodegen, "_pass_builder")


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


class _KernelLibrary(JITCodeLibrary):
    """The machine code of a kernel, which LLVM optimizes once.

    Numba has each function optimized as far as that goes, then all of them together twice: once to remove counts of
    references, which most kernels do not have.
    """

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout
        passes, builder = self._codegen._function_pass_manager(opt=1)
        for function in module.functions:
            passes.run(function, builder)

    def _optimize_final_module(self) -> None:
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)


class KernelCompiler(CompilerBase):
    """Numba's compiler without the unused passes; it knows `max` and `min` of exactly two numbers."""

    def define_pipelines(self) -> list[Any]:
        """Return the passes."""
        # Numba makes a library of its own if there is none.
        if self.state.library is None and _HAS_PASS_BUILDERS:
            self.state.library = _KernelLibrary(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
            self.state.library.enable_object_caching()
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [(one, about) for one, about in passes.passes if one not in _UNUSED_PASSES]
        passes.add_pass_after(_DirectExtremes, untyped_passes.InlineInlinables)
        passes.finalize()
        return [passes]
