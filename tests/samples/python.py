"""Invoices and the way they are paid."""

import functools
from dataclasses import dataclass

TAX_RATE = 0.19
_cache: dict[str, "Invoice"] = {}


@dataclass(frozen=True)
class Invoice:
    """One invoice.

    Amounts are in cents.
    """

    number: str
    amount: int = 0

    @property
    def gross(self) -> int:
        """Return the amount with tax."""
        return round(self.amount * (1 + TAX_RATE))

    @classmethod
    async def load(cls, number: str, *, strict: bool = True, **options: object) -> "Invoice":
        return cls(number)

    class Error(Exception):
        pass


def retry(times=3, /, *args):
    # Wraps a call.
    def wrap(function):
        @functools.wraps(function)
        def inner(*inner_args, **kwargs):
            return function(*inner_args, **kwargs)

        return inner

    return wrap


# Yields the numbers.
def numbers(invoices: list[Invoice]) -> "Iterator[str]":
    for invoice in invoices:
        yield invoice.number


if TAX_RATE:

    def _private_fallback(first, second=(1, 2), third={"a": 1}):
        return lambda: first
