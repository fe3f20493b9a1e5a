import unittest
from decimal import Decimal

from invoice import bill


class Bill(unittest.TestCase):
    def test_with_tax(self):
        rows = [(3, "1,000.00"), (2, "0.125")]
        self.assertEqual(bill.total(rows, Decimal("0.19")), Decimal("3570.30"))

    def test_empty(self):
        self.assertEqual(bill.total([], Decimal("0.19")), Decimal("0.00"))
