"""``python -m vse_ens`` is ``vse``."""

from vse_ens.cli.app import main

if __name__ == "__main__":
    main()
