"""``python -m verified_tir`` is ``vtir``, of the environment of that Python."""

from verified_tir.cli.main import main

if __name__ == "__main__":
    main()
