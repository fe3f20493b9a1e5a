import unittest
from decimal import Decimal

from invoice import lines


class Lines(unittest.TestCase):
    def test_whole(self):
        self.assertEqual(lines.total(3, Decimal("1.10")), Decimal("3.30"))

    def test_half_goes_up(self):
        self.assertEqual(lines.total(1, Decimal("0.125")), Decimal("0.13"))
