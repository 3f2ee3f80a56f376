"""`python -m edos_dataset` is `edos`."""

from edos_dataset.cli.app import app

if __name__ == "__main__":
    app()
