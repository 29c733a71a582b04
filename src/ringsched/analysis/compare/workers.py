"""Where the runs of a comparison are done: here, on all cores, or on a Dask cluster.

joblib and Dask are imported on use, because importing them is slow.
"""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pickle import PicklingError
from typing import TYPE_CHECKING, Any, TypeVar

from ringsched.analysis.compare.runs import ComparisonRow, Task, run_task
from ringsched.errors import InputError, RingschedError, needs

if TYPE_CHECKING:
    from distributed import Client, Future


# Sum of squared numbers of jobs over all runs (time grows faster than the jobs) up to which starting other
# processes takes longer than the work: 100 runs of 160 jobs are 2.6 s in this process, 6 to 7 s with a pool.
SMALL_WORK = 3_000_000
CONNECT_S = 10

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def rows_of(tasks: Sequence[Task], *, workers: int | None, dask: str | None) -> Iterator[ComparisonRow]:
    """Return an iterator over the rows as they are finished; `workers` None chooses the number.

    An unreachable Dask cluster raises here, before the first row is requested.
    """
    if not tasks:
        return iter(())
    if dask is not None:
        return _on_dask(tasks, _connected(dask))
    num_workers = min(len(tasks), _useful_workers(tasks) if workers is None else workers)
    return map(run_task, tasks) if num_workers <= 1 else on_cores(run_task, tasks, num_workers)


def check_dask() -> None:
    """Raise if Dask is not installed."""
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise InputError(needs("Dask", "dask"), field="dask") from None


def _useful_workers(tasks: Sequence[Task]) -> int:
    if sum(len(task.scenario.jobs) ** 2 for task in tasks) <= SMALL_WORK and all(
        isinstance(task.policy, str) for task in tasks
    ):
        return 1
    import joblib  # type: ignore[import-untyped]

    return int(joblib.cpu_count())


def on_cores(
    function: Callable[[_Item], _Result], items: Sequence[_Item], num_workers: int
) -> Iterator[_Result]:
    """Yield the results of `function` for all items as they are finished, in several processes."""
    from concurrent.futures.process import BrokenProcessPool

    try:
        with _interrupts_held_back():
            results = _started(function, items, num_workers)
        with _closed_in_silence(results):
            for result in results:  # noqa: UP028 - `yield from` would close them aloud
                yield result
    except BrokenProcessPool:
        raise RingschedError(
            "a worker process was killed, perhaps because memory ran out; try fewer workers"
        ) from None
    except (PicklingError, TypeError, AttributeError) as error:
        if not _is_about_pickling(error):
            raise
        raise InputError(
            f"cannot be sent to another process ({error}); use one worker", field="a policy"
        ) from error


def _started(
    function: Callable[[_Item], _Result], items: Sequence[_Item], num_workers: int
) -> Generator[_Result, None, None]:
    from joblib import Parallel, delayed, parallel_config

    with parallel_config(backend="loky", n_jobs=num_workers, inner_max_num_threads=1):
        parallel = Parallel(return_as="generator_unordered", batch_size="auto")
    results: Generator[_Result, None, None] = parallel(delayed(function)(item) for item in items)
    return results


@contextmanager
def _closed_in_silence(results: Generator[_Result, None, None]) -> Iterator[None]:
    """Close the generator at the end: joblib warns of results that were not taken, as after Ctrl-C."""
    try:
        yield
    finally:
        with warnings.catch_warnings(action="ignore"):
            results.close()


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Start processes that ignore the terminal's Ctrl-C; this process handles it after they are started.

    Processes inherit the blocked and ignored signal from their first instruction on, even if a library
    unblocks it. This process ends the workers silently. A signal that arrives meanwhile stays pending
    until the handler is restored.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    handler = signal.getsignal(signal.SIGINT)
    may_ignore = threading.current_thread() is threading.main_thread() and handler is not None
    try:
        if may_ignore:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        yield
    finally:
        if may_ignore:
            signal.signal(signal.SIGINT, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _is_about_pickling(error: BaseException) -> bool:
    return isinstance(error, PicklingError) or "pickle" in str(error)


def _on_dask(tasks: Sequence[Task], client: Client) -> Iterator[ComparisonRow]:
    from distributed import as_completed

    with client:
        futures = client.map(run_task, tasks, pure=False)
        try:
            for future in as_completed(futures, loop=client.loop):  # type: ignore[no-untyped-call]
                yield _result(future)
        finally:  # releases the cluster after Ctrl-C or an error
            client.cancel(futures)  # type: ignore[no-untyped-call]


def _connected(address: str) -> Client:
    from distributed import Client

    try:
        _check_address(address)
        return Client(address, timeout=CONNECT_S, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"= {address}: no Dask scheduler responds ({reason})", field="dask") from None


def _check_address(address: str) -> None:
    """Raise ValueError for an invalid address; a client with an invalid address hangs when it is closed."""
    from distributed.comm.addressing import parse_address, parse_host_port
    from distributed.comm.registry import get_backend

    scheme, place = parse_address(address)
    get_backend(scheme)
    if scheme in ("tcp", "tls"):
        parse_host_port(place)


def _result(future: Future[Any]) -> ComparisonRow:
    """Return the result of a Dask worker; errors that are not ours are reported as the worker's."""
    from distributed import KilledWorker

    try:
        row: ComparisonRow = future.result()
    except ImportError as error:
        raise RingschedError(f"a Dask worker cannot run this: {error}; install ringsched there") from error
    except KilledWorker as error:
        raise RingschedError("Dask workers were killed, perhaps because memory ran out") from error
    return row
