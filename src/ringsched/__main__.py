"""`python -m ringsched`."""

from ringsched.cli import main

main()
