"""Long calls from asyncio. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import contextvars
import threading
from typing import TYPE_CHECKING, Any, Callable, Optional, TypeVar

from .errors import Cancelled

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")

_cancelled: contextvars.ContextVar[Optional[threading.Event]] = contextvars.ContextVar("sidbeam", default=None)


async def to_thread(call: Callable[..., T], /, *arguments: Any, **named: Any) -> T:
    """As ``asyncio.to_thread``, but the library hears of it when the task that awaits the call is cancelled.

        version = await asyncio.wait_for(sidbeam.to_thread(catalog.compact), timeout=600)

    That ends what Ctrl-C would end: builds, the reading of catalogue files, :meth:`Catalog.compact`, and the wait of
    :meth:`Catalog.refresh`; other calls, such as a publish, are finished. The task goes on when the call is over, so
    that all is as it was, or done; a second cancellation does not wait for that. A call that still waits for a thread
    of the pool is withdrawn, and never made. What a call raises that nobody awaits any more is dropped.
    """
    import asyncio  # which takes longer to import than all else here

    begun, cancelled = threading.Event(), threading.Event()
    context = contextvars.copy_context()
    context.run(_cancelled.set, cancelled)

    def work() -> T:
        begun.set()  # before it looks: who cancels does the opposite, so that one of them sees the other
        check()
        return call(*arguments, **named)

    running = asyncio.get_running_loop().run_in_executor(None, context.run, work)
    running.add_done_callback(_seen)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        cancelled.set()
        if begun.is_set():
            await asyncio.wait([running])
        raise


def _seen(running: asyncio.Future[Any]) -> None:
    """Asks for its exception, which the loop would otherwise report as never retrieved."""
    if not running.cancelled():
        running.exception()


def awaited() -> bool:
    """Whether this call may be cancelled with the task that awaits it."""
    return _cancelled.get() is not None


def check() -> None:
    """Raises :class:`Cancelled` where it has been."""
    cancelled = _cancelled.get()
    if cancelled is not None and cancelled.is_set():
        raise Cancelled("the task that awaits the call was cancelled")
