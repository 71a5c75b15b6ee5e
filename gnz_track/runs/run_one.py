"""One cell in, one result out.

A result says which instructions of the processor computed it: sums of wider vectors are added in another order. Torch
takes the widest vectors that a processor has and it knows, so the same cell gives other bits on another one, and under
``ATEN_CPU_CAPABILITY``. Libraries below it choose for themselves, and have settings of their own. How many threads a
user asked for changes nothing: cells compute on one.
"""

from __future__ import annotations

import contextlib
import os
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import torch

from gnz_track.datasets.steady import hold_steady, open_steady
from gnz_track.models.building import build, count_parameters, load_parts
from gnz_track.problems.baselines import score_constant
from gnz_track.problems.catalogue import Problem, pose
from gnz_track.problems.forms import form_of
from gnz_track.runs.files_of_cell import KEEPS_WEIGHTS, NOTHING, Posed, make_files
from gnz_track.runs.fingerprint import check_code
from gnz_track.runs.isolation.originals import originals
from gnz_track.runs.isolation.process_state import known_state
from gnz_track.runs.owners import is_ours
from gnz_track.runs.protocol_resolution import name_settings, settings_of
from gnz_track.seeds import derive, seed_everything
from gnz_track.store.address import mask
from gnz_track.training.acceleration import kernels
from gnz_track.training.allocator import keep_freed_memory
from gnz_track.training.compiler import describe_forwards
from gnz_track.training.forwards import compute_as_asked
from gnz_track.training.lent import LentInputs
from gnz_track.training.loop import Observer, Trained, answer, train
from gnz_track.training.metrics import METRICS, presumed_metric
from gnz_track.training.usage import Gauge
from gnz_track.types import Cell, CellResult, CellSettings, Failure, Metric, Status, TaskType, Value

__all__ = ["SETTINGS", "lost_result", "make_ready", "name_instructions", "run_one"]


# Settings of the environment that make libraries compute with other instructions or in another order: oneDNN (and under
# its name of before), MKL, OpenBLAS, NumPy, the mathematical functions of glibc, cuBLAS.
SETTINGS = (
    "ONEDNN_MAX_CPU_ISA",
    "DNNL_MAX_CPU_ISA",
    "ONEDNN_DEFAULT_FPMATH_MODE",
    "MKL_CBWR",
    "MKL_ENABLE_INSTRUCTIONS",
    "MKL_DEBUG_CPU_TYPE",
    "OPENBLAS_CORETYPE",
    "NPY_DISABLE_CPU_FEATURES",
    "NPY_ENABLE_CPU_FEATURES",
    "GLIBC_TUNABLES",
    "CUBLAS_WORKSPACE_CONFIG",
    "NVIDIA_TF32_OVERRIDE",
)
MOST_CHARACTERS = 80
# What instructions say where our kernels compute.
KERNELS = "kernels"


def name_instructions(settings: CellSettings | None = None) -> str:
    """Return the vector level of Torch in this process, whether our kernels compute, and ``SETTINGS`` that are set.

    Of the kernels all levels compute the same bits, so that theirs is not told. Of a cell that asks Torch for other
    forwards, by which compiler and in which precision.
    """
    own = [] if kernels() is None else [KERNELS]
    chosen = [f"{name}={os.environ[name][:MOST_CHARACTERS]}" for name in SETTINGS if os.environ.get(name)]
    asked = [] if settings is None else describe_forwards(settings)
    return "; ".join([torch.backends.cpu.get_cpu_capability(), *own, *asked, *chosen])


def run_one(cell: Cell, *, observe: Observer | None = None) -> CellResult:
    """Train and score one cell; nothing is stored, and no setting of the process and no function is left changed.

    An error in the model or in training is a result too: failed, with its traceback. The same cell gives the same
    series bit by bit on one software stack: alone or in any company, in any process, in any order. ``observe`` is told
    of every epoch and has no say.
    """
    facts = _Facts(instructions=name_instructions())
    with _ends_in_children():
        _import_model(cell)
        with known_state(), _functions_for(cell), Gauge(cell.device) as gauge:
            try:
                check_code(cell)
                _run_cell(cell, facts, observe and _in_this_process(observe))
            except (Exception, SystemExit) as error:  # noqa: BLE001  (a failed cell is reported, with all it said)
                # What is raised may quote an address with its password, and is kept and shown.
                told = mask(traceback.format_exc())
                facts.failure = Failure(kind=type(error).__name__, message=mask(str(error)), traceback=told)
    return _result_of(cell, facts, gauge)


def _in_this_process(observe: Observer) -> Observer:
    me = os.getpid()
    return lambda epoch, row: observe(epoch, row) if os.getpid() == me else None


@contextlib.contextmanager
def _ends_in_children() -> Iterator[None]:
    """End here what a model has forked and let go on: a cell has one result, and whoever waits for it has one voice."""
    me = os.getpid()
    try:
        yield
    finally:
        if os.getpid() != me:
            os._exit(0)


def make_ready(cell: Cell) -> None:
    """Do once what all cells of a model on the same data would do: import it, compare its code, and read the data."""
    _import_model(cell)
    with contextlib.suppress(Exception, SystemExit):
        # What is wrong is said by the cell.
        check_code(cell)
        open_steady(cell.data)


@dataclass
class _Facts:
    """Facts known of a cell so far, finished or not."""

    resolved: CellSettings | None = None
    metric: Metric | None = None
    trained: Trained = field(default_factory=Trained)
    settings: dict[str, Value] = field(default_factory=dict)
    n_parameters: int | None = None
    split_digest: str = ""
    posed: Posed = field(default_factory=Posed)
    n_train: int | None = None
    n_test: int | None = None
    baseline: float | None = None
    instructions: str = ""
    failure: Failure | None = None


def _run_cell(cell: Cell, facts: _Facts, observe: Observer | None) -> None:
    # Data are mapped: whoever writes into their files changes what is trained on.
    with hold_steady(cell.data, digest=cell.dataset_digest, name=cell.task.dataset) as dataset:
        settings = settings_of(cell, is_multi_label=dataset.is_multi_label)
        facts.resolved, facts.metric = settings, METRICS.get(settings.metric)
        facts.instructions = name_instructions(settings)
        problem = pose(dataset, settings)
        facts.posed = Posed(sizes=problem.sizes, form=form_of(dataset, settings, problem.sizes))
        # Of the data, training has what the problem holds, and nothing else.
        del dataset
        facts.split_digest = problem.split_digest
        facts.n_train, facts.n_test = problem.part_sizes
        if not cell.is_blind:
            constant = problem.constant(settings.metric)
            facts.baseline = score_constant(problem.scorers["test"], constant, settings.metric)
        # Parameters and dropout come from the global generators, reset here as the published protocol does; what else
        # is random (splits, batches, negatives) has a derived seed of its own.
        init_seed = settings.seed_of("init")
        seed_everything(init_seed)
        model = build(cell.model, cell.task.task_type, problem.sizes, options=settings.options).to(cell.device)
        asked = _materialise(model if is_ours(cell.model) else LentInputs(model), problem)
        facts.settings, facts.n_parameters = name_settings(settings, cell.model), count_parameters(model)
        seed, trained = derive(init_seed, _basis_of_batches(cell, problem), "batches"), facts.trained
        # Until the next cell, which begins by giving back. Codes of a large graph come once an epoch; these would stay.
        keep_freed_memory(even_large=is_ours(cell.model) and not settings.neighbours)
        with compute_as_asked(model, settings, name=cell.model.name):
            parts = problem.objective, problem.scorers
            train(asked, *parts, settings, batch_seed=seed, trained=trained, observe=observe)
            if cell.keep != NOTHING:
                trained.answers = answer(asked, trained.prediction, problem.scorers)
                state = model.state_dict() if cell.keep in KEEPS_WEIGHTS else {}
                facts.posed = replace(facts.posed, split=problem.split(), state=state)


def _basis_of_batches(cell: Cell, problem: Problem) -> str:
    """Return what the order of batches is derived from beside the seed: the data, or a blind problem's links alone."""
    is_without_test = cell.is_blind and cell.task.task_type is TaskType.link_pred
    return problem.split_digest if is_without_test else cell.dataset_digest


def _materialise(model: torch.nn.Module, problem: Problem) -> torch.nn.Module:
    """Show the graph to a model some of whose parameters have no shape yet: the optimiser has to know them."""
    if any(isinstance(parameter, torch.nn.UninitializedParameter) for parameter in model.parameters()):
        with torch.no_grad():
            problem.objective.predict(model.eval())
    return model


def _import_model(cell: Cell) -> None:
    """Import the model of somebody else before anything is set, so that its first cell is trained as any other."""
    if not is_ours(cell.model):
        with contextlib.suppress(Exception, SystemExit):
            # What is wrong with it is said where it is built.
            load_parts(cell.model)


def _functions_for(cell: Cell) -> contextlib.AbstractContextManager[None]:
    """Train our models with the functions that we know, and others with those that their import has left."""
    return originals.in_force() if is_ours(cell.model) else originals.as_found()


def lost_result(cell: Cell, kind: str, message: str) -> CellResult:
    """Return the result of a cell whose worker did not live to give one: failed, for the reason given.

    Parameters
    ----------
    cell
        Cell that was lost.
    kind, message
        Name of the failure, and what happened.
    """
    message = mask(message)
    facts = _Facts(failure=Failure(kind=kind, message=message, traceback=f"{kind}: {message}\n"))
    return _result_of(cell, facts, Gauge(cell.device))


def _result_of(cell: Cell, facts: _Facts, gauge: Gauge) -> CellResult:
    is_finished = facts.failure is None
    metric = facts.metric or presumed_metric(cell.task)
    trained = facts.trained
    scores = trained.scores.get("val" if cell.is_blind else "test", {}) if is_finished else {}
    files, left_out = make_files(cell, facts.resolved, trained, facts.posed, is_finished=is_finished)
    return CellResult(
        cell=cell,
        status=Status.finished if is_finished else Status.failed,
        metric=metric.name,
        direction=metric.direction,
        score=scores[metric.name] if is_finished else None,
        scores=scores,
        series={name: tuple(values) for name, values in trained.series.items()},
        settings=facts.settings,
        selected_epoch=trained.selected_epoch if is_finished else None,
        n_parameters=facts.n_parameters,
        seconds=gauge.seconds,
        seconds_per_epoch=trained.seconds_per_epoch if is_finished else None,
        cpu_seconds=gauge.cpu_seconds,
        peak_rss_mib=gauge.peak_rss_mib,
        peak_device_mib=gauge.peak_device_mib,
        memory_mib=gauge.memory_mib,
        instructions=facts.instructions,
        dataset_digest=cell.dataset_digest,
        split_digest=facts.split_digest,
        n_train=facts.n_train,
        n_test=facts.n_test,
        baseline=facts.baseline,
        failure=facts.failure,
        files=files,
        left_out=left_out,
    )
