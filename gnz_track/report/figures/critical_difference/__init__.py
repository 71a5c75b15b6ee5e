"""The critical-difference diagram: mean ranks of models across tasks, and bars over those that are not told apart.

- `content`: models, ranks and groups of a comparison, and the caption.
- `shapes`: labels, strokes, dots and bars as data.
- `layout`: the place and the length of every shape, bars among them, computed before anything is drawn.
- `draw`: the diagram as a Matplotlib figure, and as TikZ.
"""
