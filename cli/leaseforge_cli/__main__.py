"""`python -m leaseforge_cli`: the `leaseforge` command where no script is installed."""

from leaseforge_cli.main import main

if __name__ == "__main__":
    main()
