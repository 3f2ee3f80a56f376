"""`edos` in this process."""

from typer.testing import CliRunner, Result

from edos_dataset.cli.app import app


def edos(*arguments: object, **more: str) -> Result:
    """Carry out a command; an exception that is no exit code of a command fails the test.

    Args:
        arguments: words of the command line.
        more: what `CliRunner.invoke` takes, such as `input`.
    """
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], **more)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result
