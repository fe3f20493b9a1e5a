"""The invoice itself."""

from decimal import Decimal


def total(rows: list, tax: Decimal) -> Decimal:
    """The sum of all (quantity, price as text) rows, plus tax, rounded half up to cents."""
    raise NotImplementedError
