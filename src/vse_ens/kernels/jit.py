"""Compilation of kernels: options, the cache on disk, and prefetching."""

from __future__ import annotations

import gc
import hashlib
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from llvmlite import ir
from numba.core import cgutils, event, types
from numba.core.caching import FunctionCache
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher
from numba.core.runtime.nrt import rtsys
from numba.extending import intrinsic

from vse_ens.kernels.compiler import KernelCompiler
from vse_ens.system import open_lock, try_lock

Function = TypeVar("Function", bound=Callable[..., Any])

# Sums may be reordered and multiplications fused, so that loops vectorize. NaN and infinity keep their meaning: the
# trainer checks for them.
_FAST = {"reassoc", "contract", "arcp", "nsz"}
# Multiplications are fused, but sums keep their order.
_ORDERED = {"contract"}

# Nothing calls kernels from C: without the wrappers for that, a cold start takes less time.
_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
    "pipeline_class": KernelCompiler,
}
# Code of a kernel that allocates nothing needs no counts of references to arrays: its caller holds them. Counting
# makes the code larger and slower to compile. Without it, allocating is an error of the compiler.
_COUNT_REFERENCES = "_nrt"

_FLOATS_PER_LINE = 16
_SECONDS_KEPT = 86400.0  # a process of an older version may still be running
_LOCK_SECONDS = 60.0  # a process that was stopped may hold a lock; then others compile as well

_config: Any = numba.config
_decorating = threading.Lock()


def kernel(function: Function) -> Function:
    """Compile a kernel that releases the GIL, is cached on disk, and allocates no arrays."""
    return _kernel(function, _FAST, allocates=False)


def allocating_kernel(function: Function) -> Function:
    """Compile a kernel as `kernel` does that may allocate arrays, which takes longer to compile."""
    return _kernel(function, _FAST, allocates=True)


def ordered_kernel(function: Function) -> Function:
    """Compile a kernel as `kernel` does, but without reordering its sums; it may allocate."""
    return _kernel(function, _ORDERED, allocates=True)


def _kernel(function: Function, fastmath: set[str], *, allocates: bool) -> Function:
    folder = cache_folder()
    options = _OPTIONS | {_COUNT_REFERENCES: allocates}
    compiled = numba.njit(cache=folder is not None, fastmath=fastmath, **options)
    with _decorating:
        # Numba reads the setting when it decorates. Other kernels of the process keep their own folder.
        before, _config.CACHE_DIR = _config.CACHE_DIR, str(folder or "")
        try:
            decorated: Any = compiled(function)
            if folder is not None and not _config.DISABLE_JIT:
                decorated.__class__, decorated._cache.__class__ = _Kernel, _Cache
            return cast("Function", decorated)
        finally:
            _config.CACHE_DIR = before


class _Cache(FunctionCache):
    """Loads compiled code without Numba's registries, which only the compiler needs: they take a fifth of a second.

    Of several processes that need a kernel at once, such as the workers of a cluster, one compiles it while the others
    wait. One process at a time writes to an index: two would give their code the same file, or lose an entry.
    """

    locks: ExitStack
    """What this process holds while it compiles."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the code for a signature, or None if this process is to compile it."""
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            code = self._load_overload(sig, target_context)
            if code is None:
                key = repr(self._index_key(sig, target_context.codegen()))
                self.locks.enter_context(self._lock("-" + hashlib.blake2b(key.encode(), digest_size=6).hexdigest()))
                code = self._load_overload(sig, target_context)
            return code

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save the code for a signature."""
        with self._lock(""):
            super().save_overload(sig, data)

    def _lock(self, name: str) -> AbstractContextManager[None]:
        self._impl.locator.ensure_cache_path()
        return _locked(Path(self._cache_path) / f"{self._impl.filename_base}{name}.lock")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock, which ends with the process at the latest; continue without it after `_LOCK_SECONDS`."""
    descriptor = open_lock(path)
    try:
        deadline = time.monotonic() + _LOCK_SECONDS
        with suppress(OSError):
            while not try_lock(descriptor) and time.monotonic() < deadline:
                time.sleep(0.01)
        yield
    finally:
        os.close(descriptor)


class _Kernel(CPUDispatcher):
    """A kernel whose cache holds its locks until the code is saved, or the compiler fails."""

    _cache: Any

    def compile(self, sig: Any) -> Any:
        """Return the address of the code for a signature; load or compile it first."""
        with global_compiler_lock, ExitStack() as self._cache.locks:
            return super().compile(sig)


class _Inlined(CPUDispatcher):
    """A function without the code that lets Python call it, which would only make compiling longer."""

    def __call__(self, *_arguments: Any) -> Any:
        # Numba would call address 0.
        raise TypeError(f"{self.py_func.__name__} is inlined: only a kernel can call it")


def inline(function: Function) -> Function:
    """Compile a function that is inlined into every kernel that calls it. Python cannot call it."""
    inlined: Any = numba.njit(forceinline=True, fastmath=_FAST, **_OPTIONS | {"no_cpython_wrapper": True})(function)
    if isinstance(inlined, CPUDispatcher):  # not with NUMBA_DISABLE_JIT
        inlined.__class__ = _Inlined
    return cast("Function", inlined)


def inline_once(function: Function) -> Function:
    """Insert a function into the kernel that calls it before that is compiled.

    This compiles faster than `inline` where a kernel has one call of the function, and slower where it has several.
    """
    return cast("Function", numba.njit(inline="always", fastmath=_FAST, **_OPTIONS)(function))


class _PauseCollector(event.Listener):
    """Pauses the garbage collector while Numba compiles: it would visit all of the compiler's objects many times."""

    def __init__(self) -> None:
        self._depth = 0  # a kernel is compiled while another one is; Numba's lock keeps other threads out
        self._was_enabled = False

    def on_start(self, _event: Any) -> None:
        if self._depth == 0:
            self._was_enabled = gc.isenabled()
            gc.disable()
        self._depth += 1

    def on_end(self, _event: Any) -> None:
        self._depth -= 1
        if self._depth == 0 and self._was_enabled:
            gc.enable()


event.register("numba:compile", _PauseCollector())


@cache
def source_version() -> int:
    """Return a number that changes with any file of this package.

    Numba's disk cache checks the file of the kernel only, not the files of functions that are inlined into it.
    """
    digest = hashlib.blake2b(digest_size=6)
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return int.from_bytes(digest.digest(), "little")


@cache
def cache_folder() -> Path | None:
    """Return the folder of compiled kernels, or None if no folder is writable.

    Every version of the sources has its own folder: Numba unpickles an index before it compares versions, and an index
    that names a module that has since moved would end the run.
    """
    version = f"vse-ens-{source_version():012x}"
    beside = Path(__file__).parent / "__pycache__"
    given, home = os.environ.get("NUMBA_CACHE_DIR"), os.environ.get("HOME")
    parents = [Path(given)] if given else [beside, *([Path(home) / ".cache" / "numba"] if home else [])]
    for parent in parents:
        folder = parent / version
        try:
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
        except OSError:
            continue
        if parent == beside:  # no other installation uses this one
            _remove_older(folder)
        return folder
    return None


def _remove_older(folder: Path) -> None:
    for other in folder.parent.glob("vse-ens-*"):
        with suppress(OSError):  # another process may remove it at the same time
            if other != folder and time.time() - other.stat().st_mtime > _SECONDS_KEPT:
                shutil.rmtree(other)


if os.environ.get("NUMBA_DISABLE_JIT", "0") == "1":

    def prefetch_item(array: Any, index: int) -> None:
        """Do nothing: the interpreter gains nothing from prefetching."""

else:

    @intrinsic
    def prefetch_item(_typing: Any, array: Any, _index: Any) -> Any:
        """Prefetch the cache line of an item of an array without gaps; the index counts the items of all rows."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            item = builder.gep(data, [arguments[1]], inbounds=False)
            address = builder.bitcast(item, ir.IntType(8).as_pointer())
            word = ir.IntType(32)
            prefetch = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(ir.VoidType(), [address.type, word, word, word]), "llvm.prefetch.p0i8"
            )
            # for reading, with high locality, into the data cache
            builder.call(prefetch, [address, word(0), word(3), word(1)])
            return context.get_dummy_value()

        return types.void(array, types.intp), generate


@inline
def prefetch_row(table: Any, row: int) -> None:
    """Prefetch the cache lines of a row of a table of floats without gaps."""
    for f in range(0, table.shape[1], _FLOATS_PER_LINE):
        prefetch_item(table, row * table.shape[1] + f)
