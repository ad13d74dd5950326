"""`python -m loopmend` is the command `loopmend`."""

from loopmend.cli import main

if __name__ == "__main__":
    main()
