"""Started by hooks/run as `python -I -S __main__.py EVENT DATA_FOLDER [EXIT_CODE (0)]`."""

import gc
import sys

gc.disable()  # the process ends before there is anything to collect
if sys.version_info < (3, 9):  # the launcher tries the next interpreter; nothing was read yet
    sys.exit(1)
if __name__ == "__main__":
    sys.path.append(__file__[: -len("/loopkit/hooks/__main__.py")])
    sys.pycache_prefix = sys.argv[2] + "/pyc"  # the plugin's own folder stays as it was installed
    from loopkit.hooks import dispatch

    dispatch.main(sys.argv)
