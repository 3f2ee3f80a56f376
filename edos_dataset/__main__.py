"""`python -m edos_dataset` is `edos`. Workers import this module too, and so no command line unless it runs."""


def main() -> None:
    """Run the command line."""
    from edos_dataset.cli.app import app
    from edos_dataset.runs.lazy_pandas import without_pandas
    from edos_dataset.runs.processes import use_one_arena

    without_pandas()
    use_one_arena()
    app()


if __name__ == "__main__":
    main()
