"""Run the command line with ``python -m vse_ens``."""

from vse_ens.cli.app import main

if __name__ == "__main__":
    main()
