"""Models with names that look like markup; imported in processes of their own only, since it registers."""

from __future__ import annotations

from own_nets import ALL, Plain

from gnz_track import multi_task_factory, register_model


@register_model(task_type=ALL, name="[red]x[/red]", factory=multi_task_factory(Plain))
class Marked(Plain):
    """Looks red."""


@register_model(task_type=ALL, name="[/nope]", factory=multi_task_factory(Plain))
class Unbalanced(Plain):
    """Would be an error as markup."""
