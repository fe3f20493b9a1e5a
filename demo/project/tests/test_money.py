import unittest
from decimal import Decimal

from invoice import money


class Money(unittest.TestCase):
    def test_plain(self):
        self.assertEqual(money.parse("12.30"), Decimal("12.30"))

    def test_thousands(self):
        self.assertEqual(money.parse("1,234.50"), Decimal("1234.50"))

    def test_words_are_refused(self):
        with self.assertRaises(ValueError):
            money.parse("twelve")
