"""A worker process for tests: settings from the environment, the fault tasks of this folder."""

import os
import sys
from pathlib import Path

from leaseforge.settings import read
from leaseforge_worker.loader import load_tasks
from leaseforge_worker.run import run_worker
from leaseforge_worker.settings import WorkerSettings

if __name__ == "__main__":
    tasks = load_tasks(["fault_tasks"], folder=Path(__file__).parent)
    sys.exit(run_worker(read(WorkerSettings, os.environ), tasks))
