"""Values that a trial is to try: a function of the terms of its study, its number, and the trials of earlier rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import optuna
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState, create_trial

from gnz_track.seeds import derive
from gnz_track.tuning.samplers import SamplerInputs, distributions_of, make_sampler
from gnz_track.tuning.spaces import Dimension, Value
from gnz_track.tuning.study_terms import StudyTerms
from gnz_track.types import Direction

__all__ = ["DIRECTIONS", "propose", "sampler_inputs_of"]

DIGITS = 4
DIRECTIONS = {Direction.up: StudyDirection.MAXIMIZE, Direction.down: StudyDirection.MINIMIZE}

Values = Mapping[str, Value]


def sampler_inputs_of(terms: StudyTerms, first: Sequence[Values], number: int) -> SamplerInputs:
    """Return what the sampler of a trial is made from.

    Parameters
    ----------
    terms
        Terms of the study.
    first
        Values that no sampler proposes.
    number
        Number of the trial.
    """
    return SamplerInputs(
        space=terms.space,
        seed=derive(terms.seed, terms.label),
        trial_seed=derive(terms.seed, terms.label, number),
        first=first,
    )


def propose(
    terms: StudyTerms, inputs: SamplerInputs, number: int, earlier: Sequence[FrozenTrial], beside: Sequence[Values]
) -> Values:
    """Return a value for every name of the space.

    Parameters
    ----------
    terms
        Terms of the study.
    inputs
        What the sampler is made from.
    number
        Number of the trial.
    earlier
        Trials that have ended.
    beside
        Values of the trials that run at the same time.
    """
    past = _replay(terms, earlier, beside)
    # The sampler looks up, and writes, what it knows of the trial.
    past.add_trial(create_trial(state=TrialState.RUNNING))
    bare = past.get_trials(deepcopy=False)[number]
    sampler = make_sampler(terms.sampler, inputs)
    distributions = distributions_of(terms.space)
    # The whole space, and not what Optuna infers of it: a default outside of the space would leave nothing.
    open_ones = {name: distribution for name, distribution in distributions.items() if not distribution.single()}
    together = sampler.sample_relative(past, bare, open_ones)
    # Drawn in the order of the names.
    drawn = {
        name: together[name] if name in together else sampler.sample_independent(past, bare, name, distribution)
        for name, distribution in open_ones.items()
    }
    return {name: _tidy_value(terms.space[name], drawn.get(name)) for name in distributions}


def _tidy_value(dimension: Dimension, value: Any) -> Value:
    """Return a value with no more digits than anybody writes down; that of one choice is the choice."""
    if value is None:
        return dimension.choices[0]
    if dimension.choices or dimension.is_whole:
        return value  # type: ignore[no-any-return]
    return min(max(float(f"{value:.{DIGITS}g}"), dimension.low), dimension.high)


def _replay(terms: StudyTerms, earlier: Sequence[FrozenTrial], beside: Sequence[Values]) -> optuna.Study:
    """Return a study in memory that knows what a proposal may depend on, and nothing else."""
    past = optuna.create_study(direction=DIRECTIONS[terms.direction])
    distributions = distributions_of(terms.space)
    for trial in earlier:
        past.add_trial(
            create_trial(
                state=trial.state,
                value=trial.value if trial.state is TrialState.COMPLETE else None,
                params=trial.params,
                distributions=trial.distributions,
                intermediate_values=trial.intermediate_values,
            )
        )
    for params in beside:
        known = {name: distributions[name] for name in params}
        past.add_trial(create_trial(state=TrialState.RUNNING, params=dict(params), distributions=known))
    return past
