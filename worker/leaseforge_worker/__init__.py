"""The worker process: claims jobs under leases, runs their tasks, settles what they did."""
