"""Every name that is written into a store: experiments, runs, tags, params, metrics, artifacts.

To rename anything in the tracking store, change it here and nowhere else.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Collection, Mapping, Sequence

from gnz_track.errors import BadValue
from gnz_track.types import Direction

__all__ = [
    "curve_key",
    "experiment_name",
    "legal_key",
    "original_key",
    "read_bookkeeping",
    "read_origins",
    "run_name",
    "score_key",
    "series_of",
    "standing_views",
    "sweep_experiment",
    "tag_is",
    "tell_models",
    "view_key",
    "view_of_sweep",
    "write_bookkeeping",
]

PREFIX = "gnz"

# Kinds of run (tag KIND): one per cell; one per sweep, which holds environments, tables and reports; one per search,
# and where it is asked for, one per trial of it.
KIND = "gnz.kind"
CELL, SWEEP_RUN, SEARCH_RUN = "cell", "sweep", "search"

# What this package needs to find, own and repeat a run, as JSON in one tag: nobody filters or groups by it. Stores of
# earlier versions have a tag for each of its names.
BOOKKEEPING = "gnz.bookkeeping"
RECORD, ATTEMPT, BOOK = "gnz.record", "gnz.attempt", "gnz.cells"
OWNER, HEARTBEAT = "gnz.owner", "gnz.heartbeat"
# Whether a run has weights only for as long as no cell of its task and model is better.
STANDING, STANDING_BEST = "gnz.weights", "best"
KEPT_TOGETHER = (RECORD, ATTEMPT, BOOK, OWNER, HEARTBEAT, STANDING)

# Tags of every run of a cell; the user interface groups by them.
SUITE = "gnz.suite"
SWEEP = "gnz.sweep"
TASK = "gnz.task"
CATEGORY = "gnz.category"
TASK_TYPE = "gnz.task_type"
DATASET = "gnz.dataset"
MODEL = "gnz.model"
MODEL_SOURCE, MODEL_DIGEST = "gnz.model.source", "gnz.model.digest"
SEED = "gnz.seed"
METRIC = "gnz.metric"
SCORE_KEY = "gnz.metric.key"
# What the metric gives to whoever has learnt nothing; a tag, so that a repetition of an older run lacks no number.
BASELINE = "gnz.metric.baseline"
DIRECTION = "gnz.direction"
PROTOCOL = "gnz.protocol"
HYPERPARAMETERS = "gnz.hyperparameters"
FINGERPRINT = "gnz.fingerprint"
# On a search and its trials, its name; on a cell, the name of the search that chose its hyperparameters.
SEARCH = "gnz.search"
DATASET_DIGEST = "gnz.data.digest"
SPLIT_DIGEST = "gnz.split.digest"
# Examples in the training and in the test part: what tests for overlapping splits ask.
N_TRAIN, N_TEST = "gnz.split.train", "gnz.split.test"
VERSION = "gnz.version"
ERROR = "gnz.error"
NOT_FINITE = "gnz.not_finite"
# JSON of the files that a cell leaves: name -> digest and size.
FILES = "gnz.files"
# JSON of the final metrics that were computed from stored predictions later: key -> where they come from.
ORIGINS = "gnz.rescored"
ENVIRONMENT = "gnz.env"
# Only on cells that finished with a score: failed attempts, searches and audits do not count in a group of runs.
COUNTS, COUNTS_YES = "gnz.counts", "yes"
# The run of its sweep, to which the interface leads from a cell.
PARENT = "mlflow.parentRunId"
GIT_COMMIT = "mlflow.source.git.commit"
GIT_BRANCH = "mlflow.source.git.branch"
GIT_DIRTY = "gnz.git.dirty"
SOURCE_NAME = "mlflow.source.name"
SOURCE_TYPE = "mlflow.source.type"
SOURCE_TYPE_LOCAL = "LOCAL"
# Where a run has a folder that is a model; MLflow reads nothing else of it.
LOGGED_MODELS = "mlflow.log-model.history"
ENV_DEVICE = "env.device"
INSTRUCTIONS = "env.instructions"

# Tags of a sweep's run: the digest of its published table, and what the store held when it was written.
TABLE = "gnz.table"
TABLE_STATE = "gnz.table.state"

# Tags of a search, beside those that it shares with cells; and of a trial.
SEARCH_KIND = "gnz.search.kind"
SAMPLER = "gnz.search.sampler"
SPACE_DIGEST = "gnz.search.space"
BEST_TRIAL = "gnz.search.best"

# Tags of an experiment.
NOTE = "mlflow.note.content"
PRIMARY_METRIC = "mlflow.experiment.primaryMetric.name"
GREATER_IS_BETTER = "mlflow.experiment.primaryMetric.greaterIsBetter"
EXPERIMENT_KIND = "mlflow.experimentKind"
EXPERIMENT_KIND_OURS = "custom_model_development"

# A view of the runs page: its name, columns, filter and grouping, which an address opens by the end of this tag's name.
VIEW = "mlflow.sharedViewState."
BY_MODEL, SETTINGS = "gnz-by-model", "gnz-settings"
# The first version of MLflow that names views; an older one takes such a tag for a broken link.
FIRST_WITH_VIEWS = (3, 15)

# An audit of a dataset: its kind of run, the experiment of all of them, a tag with its verdict, and its file.
AUDIT, AUDIT_EXPERIMENT, DECISION, AUDIT_FILE = "audit", "gnz/audits", "gnz.audit.decision", "audit.json"

# Params that name a cell, beside its settings: charts and filters of the interface take params before tags.
NAMING_PARAMS = ("model", "task", "seed", "protocol")
# Params and metrics of a sweep's run: what it is about, and how each model did.
MEAN_PREFIX, RANK_PREFIX = "mean/", "rank/"
N_FINISHED, N_FAILED = "cells/finished", "cells/failed"

# Final metrics, each logged once at step 0, so that what the interface calls "latest" is the selected epoch's value.
TEST_PREFIX, VALIDATION_PREFIX, CURVE_PREFIX = "test/", "val/", "curve/"
SELECTED_EPOCH = "selected_epoch"
# What protocols score beside the selected epoch: the key of the score, and one of these behind it.
ON_TRAINING, AT_BEST_VALIDATION = "_on_training", "_at_best_validation"
# The curve that has a value for every epoch that was trained, the last one always kept.
EVERY_EPOCH = "train/loss"
# The interface sorts its charts by name: what a cell cost comes after its curves and scores.
SECONDS = "usage/seconds"
CPU_SECONDS = "usage/cpu_seconds"
SECONDS_PER_EPOCH = "usage/seconds_per_epoch"
PEAK_RSS = "usage/peak_rss_mib"
PEAK_DEVICE = "usage/peak_device_mib"
MEMORY = "usage/memory_mib"
N_PARAMETERS = "usage/parameters"
N_TRIALS = "usage/trials"
N_FAILED_TRIALS = "usage/failed_trials"
N_EPOCHS = "usage/epochs"

# Artifacts.
TRACEBACK_FILE = "traceback.txt"
CELL_FILE = "cell.json"
PREDICTIONS_FILE, CONFIGURATION_FILE, SERIES_FILE = "predictions.parquet", "config.json", "curves.parquet"
# In the run of the first cell of each split digest that a sweep ends.
SPLIT_FILE = "split.parquet"
# A folder that MLflow's interface shows as a model: the weights of the selected epoch, and of the last where that is
# another one.
MODEL_FOLDER = "model"
WEIGHTS_FILE, LAST_FILE, MLMODEL_FILE = (
    f"{MODEL_FOLDER}/{name}" for name in ("model.safetensors", "last.safetensors", "MLmodel")
)
OF_MODEL = (WEIGHTS_FILE, LAST_FILE, MLMODEL_FILE)
LONG_PARAMS_FILE = "long_params.json"
TABLE_FILE = "results.parquet"
PLAN_FILE = "plan.json"
SEARCH_FILE, TRIALS_FILE = "search.json", "trials.parquet"
ENVIRONMENT_FOLDER, BOOK_FOLDER, REPORT_FOLDER = "environments", "cells", "report"

# What MLflow takes; it cuts longer values off without a word, so nothing longer is ever handed over.
MOST_PARAM_CHARACTERS, MOST_TAG_CHARACTERS, MOST_KEY_CHARACTERS = 6000, 8000, 250
MOST_DIGEST_CHARACTERS, MOST_EXPERIMENT_CHARACTERS = 36, 256
MOST_DATASET_CHARACTERS, MOST_EXPERIMENT_TAG_CHARACTERS = 500, 5000
# What a file of ours, or a request to a server, takes at most of a text that is in no tag.
MOST_TEXT = 500_000
MOST_PARAMS, MOST_CURVE_POINTS, MOST_ERROR_CHARACTERS = 30, 100, 300
# One request to MLflow holds at most a thousand metrics, params and tags; final metrics and params need the rest.
MOST_POINTS = 900
DATASET_CONTEXT = "training"

_LEGAL = re.compile(r"[/\w.\- :]")
_ESCAPED = re.compile(r"_x([0-9a-f]+)_")


def legal_key(name: str) -> str:
    """Return a metric or param name as MLflow takes it.

    ``@`` is spelt out, since ``hits@10`` and ``hits_at_10`` are one metric; every other character that MLflow refuses
    is escaped, so that no two names become one: :func:`original_key` turns it back.

    >>> legal_key("hits@10"), legal_key("f1(macro)"), legal_key("accuracy")
    ('hits_at_10', 'f1_x28_macro_x29_', 'accuracy')
    """
    # In a key, "_x" stands for nothing but the start of an escape.
    text = name.replace("@", "_at_").replace("_x", "_x5f_x")
    key = "".join(one if _LEGAL.fullmatch(one) else f"_x{ord(one):x}_" for one in text)
    if not is_path(key) or len(key) > MOST_KEY_CHARACTERS:
        allowed = f"1 to {MOST_KEY_CHARACTERS} characters, parts parted by one slash, none of them '.' or '..'"
        raise BadValue("name of a metric or hyperparameter", name, allowed)
    return key


def original_key(key: str) -> str:
    """Return the name that :func:`legal_key` was given, ``@`` spelt out.

    >>> original_key("f1_x28_macro_x29_")
    'f1(macro)'
    """
    return _ESCAPED.sub(_unescaped, key)


def _unescaped(found: re.Match[str]) -> str:
    code = int(found.group(1), 16)
    # What is no character was written by somebody else, and means itself.
    return chr(code) if code <= sys.maxunicode else found.group()


def is_path(key: str) -> bool:
    """Tell whether MLflow takes a key as a relative path in its shortest form."""
    return bool(key) and all(part not in {"", ".", ".."} for part in key.split("/"))


def score_key(metric: str) -> str:
    """Return the final metric that holds a test score at the selected epoch: ``test/accuracy``."""
    return TEST_PREFIX + legal_key(metric)


def validation_key(series: str) -> str:
    """Return the final metric that holds a validation score at the selected epoch, of a series ``val/<metric>``."""
    return VALIDATION_PREFIX + legal_key(series.removeprefix(VALIDATION_PREFIX))


def curve_key(series: str) -> str:
    """Return the metric that holds a curve over epochs: ``curve/train/loss``, ``curve/test/accuracy``."""
    return CURVE_PREFIX + legal_key(series)


def series_of(key: str) -> str:
    """Return the series that :func:`curve_key` was given, ``@`` spelt out."""
    return original_key(key.removeprefix(CURVE_PREFIX))


def experiment_name(suite: str, task: str) -> str:
    """Return the experiment of the cells of one task: ``gnz/<suite>/<task>``."""
    name = f"{PREFIX}/{suite}/{task}"
    if not suite or not task or len(name) > MOST_EXPERIMENT_CHARACTERS:
        allowed = f"a suite and a task, together at most {MOST_EXPERIMENT_CHARACTERS} characters"
        raise BadValue("experiment", name, allowed)
    return name


def sweep_experiment(suite: str) -> str:
    """Return the experiment of the sweeps of a suite: ``gnz/<suite>``, one run per sweep."""
    return f"{PREFIX}/{suite}"


def run_name(model: str, seed: int, varied: Sequence[tuple[str, object]] = ()) -> str:
    """Return the name of a run, shown in lists and legends: ``GCN s3``, ``GCN s3 lr=0.1``.

    Parameters
    ----------
    model, seed
        Model and seed of the run.
    varied
        Hyperparameters that differ from the defaults.
    """
    name = f"{model} s{seed}" + "".join(f" {key}={value}" for key, value in varied)
    return name if len(name) <= MOST_KEY_CHARACTERS else name[: MOST_KEY_CHARACTERS - 3] + "..."


def experiment_tags(task: str, metric: str, direction: Direction) -> dict[str, str]:
    """Return what an experiment says of itself: its primary metric and two lines of description.

    Parameters
    ----------
    task
        Name of the task.
    metric, direction
        Its primary metric.
    """
    better = "larger" if direction is Direction.up else "smaller"
    key = score_key(metric)
    note = (
        f"Task **{task}**, primary metric `{key}` ({better} is better), read at the selected epoch.\n\n"
        f"One run per cell; group by `{MODEL}` or `{SWEEP}`. Curves lie under `{CURVE_PREFIX}`."
    )
    return {
        PRIMARY_METRIC: key,
        GREATER_IS_BETTER: "true" if direction is Direction.up else "false",
        EXPERIMENT_KIND: EXPERIMENT_KIND_OURS,
        TASK: task,
        METRIC: metric,
        DIRECTION: str(direction),
        NOTE: note,
    }


def write_bookkeeping(tags: Mapping[str, str]) -> dict[str, str]:
    """Return tags in which those that nobody filters by are one.

    >>> write_bookkeeping({"gnz.task": "cora", "gnz.record": "r", "gnz.owner": ""})
    {'gnz.task': 'cora', 'gnz.bookkeeping': '{"record": "r"}'}
    """
    kept = {key.removeprefix(f"{PREFIX}."): tags[key] for key in KEPT_TOGETHER if tags.get(key)}
    return {
        **{key: value for key, value in tags.items() if key not in KEPT_TOGETHER},
        **({BOOKKEEPING: json.dumps(kept)} if kept else {}),
    }


def read_bookkeeping(tags: Mapping[str, str]) -> dict[str, str]:
    """Return what :func:`write_bookkeeping` put together, by its own tags, and what earlier versions kept apart.

    >>> read_bookkeeping({"gnz.bookkeeping": '{"record": "r"}', "gnz.owner": "o"})
    {'gnz.owner': 'o', 'gnz.record': 'r'}
    """
    try:
        found = json.loads(tags.get(BOOKKEEPING, "{}"))
    except (ValueError, RecursionError):
        # Somebody edited it.
        found = {}
    kept = found if isinstance(found, dict) else {}
    together = {f"{PREFIX}.{name}": value for name, value in kept.items() if isinstance(value, str)}
    apart = {key: tags[key] for key in KEPT_TOGETHER if key in tags}
    return {**apart, **{key: value for key, value in together.items() if key in KEPT_TOGETHER}}


def tell_models(files: Collection[str]) -> str:
    """Return the text by which MLflow's interface knows that among the files of a run there is a model, if there is.

    >>> tell_models(["config.json"]), tell_models([MLMODEL_FILE])
    ('', '[{"artifact_path": "model", "flavors": {"python_function": {}}}]')
    """
    about = [{"artifact_path": MODEL_FOLDER, "flavors": {"python_function": {}}}]
    return json.dumps(about) if MLMODEL_FILE in files else ""


def read_origins(tags: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return, of each final metric that was computed after its run had ended, where it comes from.

    >>> read_origins({"gnz.rescored": '{"test/nll": {"version": "1.0"}}'})
    {'test/nll': {'version': '1.0'}}
    """
    try:
        found = json.loads(tags.get(ORIGINS) or "{}")
    except (ValueError, RecursionError):
        # Somebody edited it.
        found = {}
    return {key: of for key, of in found.items() if isinstance(of, dict)} if isinstance(found, dict) else {}


def view_key(sweep: str) -> str:
    """Return the key of the view that shows the cells of one sweep in an experiment; no two sweeps share one."""
    plain = re.sub(r"[^\w\-]+", "_", sweep, flags=re.ASCII)[:80]
    return f"{PREFIX}-{plain if plain == sweep else plain + '-' + hashlib.sha256(sweep.encode()).hexdigest()[:8]}"


def standing_views(about: Mapping[str, str], *, at: int) -> dict[str, str]:
    """Return the tags of an experiment that hold its views: cells by model, and their settings beside their scores.

    Parameters
    ----------
    about
        Those of :func:`experiment_tags`.
    at
        Now, in milliseconds since 1970.
    """
    charts = {"compareRunCharts": [_parallel_chart(about)], "compareRunSections": [_SECTION]}
    # Otherwise the interface puts its own sections before this one.
    settings = {**_shown(about, ()), **charts, "isAccordionReordered": True, "runsHiddenMode": "SHOW_ALL"}
    return {
        VIEW + BY_MODEL: _write_view("by model", {**_shown(about, ()), **_grouped(())}, at=at),
        VIEW + SETTINGS: _write_view("settings", settings, at=at),
    }


def view_of_sweep(
    about: Mapping[str, str], *, at: int, sweep: str, models: Sequence[str], conditions: Sequence[str]
) -> tuple[str, str]:
    """Return the tag of an experiment that holds the view of one sweep: a row for each model, its runs folded away.

    Parameters
    ----------
    about, at
        Those of :func:`standing_views`.
    sweep
        Name of the sweep.
    models
        Models of the sweep.
    conditions
        Which cells are shown, in MLflow's words.
    """
    state = {**_shown(about, conditions), **_grouped(models)}
    return VIEW + view_key(sweep), _write_view(f"{sweep} by model", state, at=at)


def tag_is(key: str, value: str) -> str:
    """Return MLflow's condition on a tag; nothing where it cannot be said, since it knows no escape of a quote."""
    quote = next((mark for mark in "'\"" if mark not in value), "")
    return f"tags.`{key}` = {quote}{value}{quote}" if quote else ""


def _write_view(name: str, state: Mapping[str, object], *, at: int) -> str:
    return json.dumps({"name": name, "createdAt": at, "updatedAt": at, "state": json.dumps(state)})


def _shown(about: Mapping[str, str], conditions: Sequence[str]) -> dict[str, object]:
    score = f"metrics.`{about[PRIMARY_METRIC]}`"
    columns = [score, *(f"params.`{name}`" for name in _SHOWN_PARAMS)]
    return {
        "searchFilter": " AND ".join([tag_is(COUNTS, COUNTS_YES), *conditions]),
        "orderByKey": score,
        "orderByAsc": about[GREATER_IS_BETTER] == "false",
        "selectedColumns": [*columns, "attributes.`Duration`"],
        "columnOrder": columns,
        # As wide as all digits of a mean, and the word behind it.
        "columnWidths": {score: 250},
    }


def _grouped(folded: Sequence[str]) -> dict[str, object]:
    return {
        "groupBy": {"aggregateFunction": "average", "groupByKeys": [{"mode": "param", "groupByData": "model"}]},
        "groupsExpanded": {f"param.model.{model}": False for model in folded},
    }


def _parallel_chart(about: Mapping[str, str]) -> dict[str, object]:
    return {
        "type": "PARALLEL",
        "uuid": "gnz-settings-chart",
        "metricSectionId": _SECTION["uuid"],
        "selectedParams": ["lr", "heads"],
        "selectedMetrics": [about[PRIMARY_METRIC]],
        "showAllRuns": True,
        "runsCountToCompare": 10,
        "deleted": False,
        "isGenerated": False,
    }


_SHOWN_PARAMS = ("lr", "hidden_channels", "n_layers", "heads", "dropout")
_SECTION = {
    "uuid": "gnz-settings-section",
    "name": "settings",
    "display": True,
    "isReordered": False,
    "deleted": False,
    "isGenerated": False,
}


def folder_name(experiment: str) -> str:
    """Return a folder for the artifacts of an experiment; no two experiments share one."""
    plain = re.sub(r"[^\w.\-]+", "_", experiment, flags=re.ASCII).strip(".")[:80]
    return f"{plain}-{hashlib.sha256(experiment.encode()).hexdigest()[:8]}"


def environment_file(digest: str) -> str:
    """Return the artifact, in a sweep's run, that holds one environment."""
    return f"{ENVIRONMENT_FOLDER}/{digest}.json"


def book_file(digest: str) -> str:
    """Return the artifact, in a sweep's run, from which the sweep's cells can be rebuilt."""
    return f"{BOOK_FOLDER}/{digest}.json"
