"""The `softsense` command, as a script and as `python -m softsense`: Ctrl-C is heard while it is still loading."""

import os
import sys

# NumPy's threads would take memory and time at every start, for products that softsense does not have.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def main() -> int:
    """Run the command line and return its exit code."""
    if sys.getfilesystemencoding() == "ascii":
        # Told so by its environment, Python takes no name of a file for text; names and output are UTF-8 here.
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])
    try:
        from softsense import cli

        return cli.main()
    except (KeyboardInterrupt, RuntimeError) as error:
        # While a class is being made, Python before 3.12 wraps what comes in `__set_name__` of its attributes.
        if isinstance(error, RuntimeError) and not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        print("interrupted before anything was measured", file=sys.stderr)
        return 130


if __name__ == "__main__":
    code = main()
    # If Ctrl-C came in code that a module had compiled from text, `python -m` would end by the signal and ignore the
    # exit code. Running other compiled text resets that.
    exec("")
    sys.exit(code)
