"""Clusters of Dask: to find one, to ask whether its workers can do the work, and to say that it is gone."""

from __future__ import annotations

import contextlib
import logging
import pickle
import sys
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from svmpress import __version__
from svmpress.errors import InputError, MissingExtraError
from svmpress.model import KernelModel
from svmpress.numerics import threads

if TYPE_CHECKING:
    from distributed import Client

_PATIENCE = "10s"
"""How long a scheduler may take to answer the first time."""
_CHECKED: weakref.WeakKeyDictionary[Any, set[tuple[str, bytes]]] = weakref.WeakKeyDictionary()
"""By client: the workers that can unpack what."""


@contextlib.contextmanager
def cluster(address: str | None = None, workers: int | None = None) -> Iterator[Client]:
    """Give a client of the cluster at an address, or of one made of processes on this machine.

    Parameters
    ----------
    address : str, optional
        Of the scheduler, such as ``tcp://10.0.0.1:8786``.
    workers : int, optional
        How many processes to start where there is no address; they share the threads of this one.

    Raises
    ------
    InputError
        When there is no scheduler at the address.
    MissingExtraError
        Without Dask.
    """
    try:
        from distributed import Client, LocalCluster
    except ImportError as e:
        raise MissingExtraError("work on a cluster", "dask", "dask") from e
    with contextlib.ExitStack() as stack:
        stack.enter_context(_quiet())
        if address is None:
            count = max(1, workers or 1)
            local = LocalCluster(
                n_workers=count,
                threads_per_worker=max(1, threads() // count),
                processes=True,
                dashboard_address=":0",
                silence_logs=50,
            )
            yield stack.enter_context(Client(stack.enter_context(local), set_as_default=False))
            return
        try:
            client = Client(address, timeout=_PATIENCE, set_as_default=False)
        except (OSError, ValueError) as e:
            raise InputError(f"no Dask scheduler answers at {address}: {e}") from e
        yield stack.enter_context(client)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask's own log of connections that are lost off the screen: what matters of it is raised."""
    log = logging.getLogger("distributed.client")
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(level)


@contextlib.contextmanager
def while_there(client: Client | None = None, then: str = "") -> Iterator[None]:
    """Say in one sentence that the cluster went away, or that its workers did not survive the work.

    Parameters
    ----------
    client : distributed.Client, optional
        While it is connected, what else failed was raised by a task, such as a file that a worker does not find.
    then : str
        What becomes of the work when the cluster is gone, to follow in the sentence.

    Raises
    ------
    InputError
    """
    from distributed import CancelledError, KilledWorker
    from distributed.comm import CommClosedError

    try:
        yield
    except KilledWorker as e:
        raise InputError(
            f"{e.task}: its worker ended, {e.allowed_failures + 1} times in all, most likely for want of memory; "
            "give workers more of it, or make partitions smaller"
        ) from e
    except (CancelledError, CommClosedError) as e:
        raise InputError(f"the Dask cluster went away{then}") from e
    except OSError as e:
        if client is not None and client.status == "running":
            raise
        raise InputError(f"the Dask cluster went away{then}") from e


def check_workers(client: Client, model: KernelModel) -> None:
    """Refuse a cluster whose scheduler or workers lack svmpress, its version, or what the model is made of.

    Each worker is asked once for each kind of model; what is sent are names of classes.

    Raises
    ------
    InputError
        Naming one that cannot be used.
    """
    parts = pickle.dumps((__version__, type(model), type(model.kernel), type(model.decoder)))
    known = _CHECKED.setdefault(client, set())
    with while_there(client):
        workers = [w for w in client.scheduler_info(n_workers=-1)["workers"] if (w, parts) not in known]
        said = client.run(_obstacle, parts, workers=workers, on_error="return") if workers else {}
        if not known:
            try:
                said["scheduler"] = client.run_on_scheduler(_obstacle, parts)
            except (ImportError, AttributeError, RuntimeError) as e:
                said["scheduler"] = e
    for who, answer in said.items():
        if answer is not None:
            name = "the scheduler" if who == "scheduler" else f"the worker {who}"
            raise InputError(f"{name} cannot use this model: {answer}; install there what is installed here")
    known.update((worker, parts) for worker in workers)


def _obstacle(parts: bytes) -> str | None:
    """Return why models of these parts cannot be unpacked here; None if they can."""
    try:
        version, *_ = pickle.loads(parts)
    except (ImportError, AttributeError) as e:
        return str(e)
    return None if version == __version__ else f"it has svmpress {__version__}, and its client {version}"


def current_client() -> Client | None:
    """Return the client that a computation would go to; None where there is none."""
    if "distributed" not in sys.modules:
        return None
    from distributed.client import default_client

    try:
        client = default_client()
    except ValueError:
        return None
    return None if client.asynchronous else client


def fair_threads(alone: bool = False) -> int | None:
    """Return how many threads a task may use: its share of those of its worker.

    Parameters
    ----------
    alone : bool
        Whether it is the only task, which may have all threads where there is no worker.

    Returns
    -------
    int or None
        None: as many as ``OMP_NUM_THREADS`` says.
    """
    if "distributed" in sys.modules:
        from distributed import get_worker

        with contextlib.suppress(ValueError):
            state = get_worker().state
            return max(1, state.nthreads // max(1, state.executing_count + len(state.ready)))
    return None if alone else 1
