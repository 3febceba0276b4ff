"""The `leaseforge` command: the top layer, which may use every other part."""
