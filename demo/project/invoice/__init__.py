"""A small package for invoices."""
