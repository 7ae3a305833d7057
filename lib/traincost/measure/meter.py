"""The ``cost_`` columns of a run: what it took to produce, beside what it scored.

Contract: counts are integers, seconds come from a monotonic clock, memory is in MiB (2**20
bytes). What was not measured has no column. torch and Lightning are imported only by the
functions that need them.

There is no memory column per model. Most of what a run holds (interpreter, torch, data) is
resident before the first candidate model exists, so the peak divided by the workers would be
less than any one model needs. ``cost_memory_mib`` is the ceiling of one worker: the figure a
machine is sized by.
"""

import contextlib
import numbers
import resource
import sys
import time

from traincost.measure.energy import Counters

MIB = 2**20


def parameters(model, trainable=None):
    """Count the parameters of a torch module, shared weights once.

    Parameters
    ----------
    model : torch.nn.Module
        Counted in the state it is in: a component frozen during training counts as frozen.
    trainable : bool, optional
        True counts what gradient descent moves (``requires_grad``), False what it does not;
        left out, both.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        A lazy parameter has no shape yet; run one batch through the model first.
    """
    total = 0
    for name, parameter in model.named_parameters():  # yields a shared parameter once
        if trainable is not None and parameter.requires_grad is not bool(trainable):
            continue
        if "Uninitialized" in type(parameter).__name__:
            raise ValueError(
                f"parameter {name!r} is lazy and has no shape yet; run one batch through the "
                "model before its parameters are counted"
            )
        total += parameter.numel()
    return total


def peak_memory():
    """Return the high-water mark, in MiB, of the busiest worker this process used.

    On CUDA: the largest ``max_memory_allocated`` over devices, the memory handed to tensors,
    without the allocator's cache or the CUDA context; so it reads lower than nvidia-smi.
    Otherwise: the larger of this process's resident peak and that of its largest child that
    has ended. The latter only rises: a second run in one process inherits the first's peak.
    """
    devices = _cuda_devices()
    if devices:
        cuda = sys.modules["torch"].cuda
        return max(cuda.max_memory_allocated(device) for device in devices) / MIB
    child = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * _rss_bytes()
    return max(_own_peak_bytes(), child) / MIB


def _own_peak_bytes():
    """Return this process's resident peak.

    On Linux from VmHWM (proc_pid_status(5)): ru_maxrss outlives exec, so a process started by
    a large one would report its starter's peak.
    """
    with contextlib.suppress(OSError), open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _rss_bytes()


def _rss_bytes():
    """Return the unit of ru_maxrss: bytes on macOS, KiB on Linux (getrusage(2) of each)."""
    return 1 if sys.platform == "darwin" else 1024


def _cuda_devices():
    """Return the CUDA devices in use, without initialising CUDA where nothing used it."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return range(0)
    return range(torch.cuda.device_count())


class Meter:
    """Time a run and read what it peaked at.

    Parameters
    ----------
    concurrency : int
        How many models were trained at once: the workers that had something to do, so never
        more than `models`. May be set until the columns are read.
    models : int
        How many models the run trained; 1 unless the run was a search.
    energy : energy.Counters, optional
        What counts the energy; that of this machine's counters if left out. Its `problems` say why one
        cannot be read.

    Examples
    --------
    >>> with Meter() as meter:
    ...     total = sum(range(1000))
    >>> sorted(meter.columns())[:2]
    ['cost_concurrency', 'cost_memory_mib']
    """

    def __init__(self, concurrency=1, models=1, energy=None):
        self.concurrency, self.models = concurrency, models
        self.energy = energy or Counters()
        self._started = self._runtime_s = self._memory_mib = None
        self._check_counts()
        if models != 1:  # 1 may be the default, to be set once a search knows its number
            self._check_workers()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exception):
        self.stop()
        return False

    def start(self):
        """Start the clock and reset the CUDA counters that hold a peak."""
        for device in _cuda_devices():
            sys.modules["torch"].cuda.reset_peak_memory_stats(device)
        self._runtime_s = self._memory_mib = None
        self.energy.start()
        self._started = time.perf_counter()

    def stop(self):
        """Stop the clock and read the peak. RuntimeError if the meter was not started."""
        if self._started is None:
            raise RuntimeError("the meter was stopped before it was started; call start() first")
        _synchronize()
        self._runtime_s = time.perf_counter() - self._started
        self.energy.stop()
        self._memory_mib = peak_memory()
        self._started = None

    def columns(self, model=None):
        """Return the cost columns of the run.

        Parameters
        ----------
        model : torch.nn.Module, optional
            The scored model; without it there are no parameter columns.

        Returns
        -------
        dict
            ``cost_runtime_s``; ``cost_runtime_per_run_s`` = runtime x concurrency / models, the
            worker-seconds reserved per model; ``cost_memory_mib``; ``cost_concurrency`` and
            ``cost_models``; ``cost_energy_kwh`` and its parts, where a counter can be read; and the
            three ``cost_*parameters``.

        Raises
        ------
        RuntimeError
            The meter has not been stopped.
        ValueError
            `concurrency` or `models` is not a positive integer, or concurrency exceeds models.
        """
        if self._runtime_s is None:
            raise RuntimeError("the meter was read before it was stopped; call stop() first")
        self._check_counts()
        self._check_workers()
        concurrency, models = int(self.concurrency), int(self.models)
        columns = {
            "cost_runtime_s": self._runtime_s,
            "cost_runtime_per_run_s": self._runtime_s * concurrency / models,
            "cost_memory_mib": self._memory_mib,
            "cost_concurrency": concurrency,
            "cost_models": models,
            **self.energy.columns(),
        }
        if model is not None:
            columns["cost_parameters"] = parameters(model)
            columns["cost_trainable_parameters"] = parameters(model, trainable=True)
            columns["cost_frozen_parameters"] = parameters(model, trainable=False)
        return columns

    def _check_counts(self):
        for name in ("concurrency", "models"):
            value = getattr(self, name)
            if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < 1:
                raise ValueError(f"`{name}` must be an integer of at least 1, got {value!r}")

    def _check_workers(self):
        if self.concurrency > self.models:
            raise ValueError(
                f"`concurrency` ({self.concurrency}) exceeds `models` ({self.models}): count only "
                "the workers that had a model to train"
            )


def _synchronize():
    """Wait for queued CUDA work, so that a clock reading covers it."""
    for device in _cuda_devices():
        sys.modules["torch"].cuda.synchronize(device)


class InferenceTimer:
    """Time the test pass: the whole of it, and the forward passes of its batches.

    With Lightning it is a callback: ``Trainer(callbacks=[timer])`` times ``trainer.test``.
    Without, wrap the pass and its loader::

        with timer:
            for batch in timer.batches(loader):
                model(batch)

    A batch lasts from the moment the loader has handed it over until the next is asked for;
    the epoch is what a caller waits for, loading included. Each use starts afresh.
    """

    def __new__(cls):
        # A trainer takes only what derives from its Callback; a script without Lightning must
        # not import it for this.
        base = _callback_class()
        if base is not None and not issubclass(cls, base):
            cls = type(cls.__name__, (cls, base), {"__module__": cls.__module__})
        return super().__new__(cls)

    def __init__(self):
        super().__init__()
        self._reset()

    def _reset(self):
        self._epoch_started = self._batch_started = self._epoch_s = None
        self._batches_s, self._n_batches = 0.0, 0

    def __enter__(self):
        self._reset()
        self._epoch_started = _now()
        return self

    def __exit__(self, kind=None, value=None, traceback=None):
        if kind is None:
            self._epoch_s = _now() - self._epoch_started
        else:
            self._reset()  # a pass that broke off measured nothing
        return False

    def batches(self, loader):
        """Yield the batches of `loader`, timing what is done with each."""
        for batch in loader:
            self.start_batch()
            yield batch
            self.end_batch()

    def start_batch(self):
        """Start the clock of one batch's forward pass."""
        self._batch_started = _now()

    def end_batch(self):
        """Stop the clock of the batch started last."""
        self._batches_s += _now() - self._batch_started
        self._n_batches += 1

    def columns(self):
        """Return ``cost_inference_batch_s`` (mean) and ``cost_inference_epoch_s``.

        Empty where no test pass has run to its end.
        """
        if self._epoch_s is None or not self._n_batches:
            return {}
        return {
            "cost_inference_batch_s": self._batches_s / self._n_batches,
            "cost_inference_epoch_s": self._epoch_s,
        }

    # -- Lightning's hooks ---------------------------------------------------------------------

    def on_test_epoch_start(self, trainer, module):
        self.__enter__()

    def on_test_batch_start(self, trainer, module, batch, batch_idx, dataloader_idx=0):
        self.start_batch()

    def on_test_batch_end(self, trainer, module, outputs, batch, batch_idx, dataloader_idx=0):
        self.end_batch()

    def on_test_epoch_end(self, trainer, module):
        self.__exit__()


def _callback_class():
    """Return the Callback of the Lightning that is loaded, or None."""
    for name in ("lightning.pytorch.callbacks", "pytorch_lightning.callbacks"):
        if name in sys.modules:
            return sys.modules[name].Callback
    return None


def _now():
    _synchronize()
    return time.perf_counter()
