"""Long runs: what a worker costs while idle, wake-ups, held leases, memory, drains. See __main__.py for the sizes."""
