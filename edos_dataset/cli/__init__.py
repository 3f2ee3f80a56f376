"""The command line `edos`, a file a command."""
