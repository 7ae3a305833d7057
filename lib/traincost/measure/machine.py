"""Where a run takes place, as far as it is known without loading or starting anything."""

import os
import platform
import sys


def machine():
    """Return the host, and the type and number of accelerators, where they are known.

    Returns
    -------
    dict
        ``host``, ``device`` (its type) and ``devices`` (a number); what is not known is left out. The
        devices are those of the job: a process works on one, and ``WORLD_SIZE`` says how many there are.
    """
    found = {"host": platform.node()}
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    try:
        if cuda is not None and cuda.is_initialized():
            found["device"] = cuda.get_device_name()
            found["devices"] = int(os.environ.get("WORLD_SIZE") or 1)
    except Exception:  # a device that failed, or a variable that is no number
        pass
    return {name: value for name, value in found.items() if value}
