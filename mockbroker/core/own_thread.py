"""Has methods of a running cluster's objects run in the cluster's thread, from whatever thread they are called."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

Result = TypeVar("Result")
Parameters = ParamSpec("Parameters")
Owner = TypeVar("Owner", bound="InOwnThread")
Run = Callable[[Callable[[], Any]], Any]


def directly(work: Callable[[], Result]) -> Result:
    """The result of ``work``, called in this thread."""
    return work()


class InOwnThread:
    """An object of a cluster. ``run`` calls a function in the cluster's thread, if that is another, and returns its
    result; nothing changes meanwhile.
    """

    run: Run = staticmethod(directly)


def in_own_thread(
    method: Callable[Concatenate[Owner, Parameters], Result],
) -> Callable[Concatenate[Owner, Parameters], Result]:
    """Decorate a method that other threads may call."""

    @wraps(method)
    def call(owner: Owner, /, *args: Any, **kwargs: Any) -> Result:
        result: Result = owner.run(lambda: method(owner, *args, **kwargs))
        return result

    return call
