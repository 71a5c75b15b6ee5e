"""TODO of this folder.

- `audits`: audits on pages: a section of reports whose tasks were audited, badges beside these tasks, a page of
  their own
- `data`: runs and pairs that the page's script shows on demand, as compact JSON
- `figures`: the figures of a report: which are drawn, how large a comparison may be for them, and each as
  inline SVG
- `methods`: the paragraph on methods that a paper needs, and its references, from the choices of a comparison
- `page`: one page of HTML: everything that a report says, in one file that asks no network for anything
- `provenance`: origin of the numbers: data, code, machines and sweeps, and the commands that make them again
- `searches`: the section of the page on searches: its tables, and which figures it shows
"""
