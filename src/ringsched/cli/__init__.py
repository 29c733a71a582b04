"""The command line: parse, call one function of the API, print."""

from ringsched.cli.main import main

__all__ = ["main"]
