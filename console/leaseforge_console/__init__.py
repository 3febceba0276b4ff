"""The operator's web console: pages, their view models, and live updates. `leaseforge_api.app` mounts it."""
