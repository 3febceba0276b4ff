"""Operator stories on the whole product: a real browser, a real server, a real worker, real Redis."""
