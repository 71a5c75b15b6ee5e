"""TODO of this folder.

- `content`: A comparison as what its critical-difference diagram says
- `draw`: the critical-difference diagram as TikZ, set in the fonts of the document that includes it
- `layout`: lay out a critical-difference diagram: pure geometry, computed before anything is drawn
- `shapes`: what a critical-difference diagram is made of, as data: all lengths in points, y upwards
"""
