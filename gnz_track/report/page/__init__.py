"""The page of a report: one file of HTML that asks no network for anything.

- `page`: the page itself, from a report and its figures.
- `data`: tables that stand on the page, and runs and pairs that its script shows on demand.
- `figures`: the figures of a report: which are drawn, and each as inline SVG.
- `methods`: the paragraph on methods that a paper needs, the summary in one sentence, and rules of protocols.
- `studies`: the page of a study, and its tables and figures as files.
- `template`: templates of pages, and pages as files.
- `provenance`: data, code and machines behind the numbers, and the commands that make them again.
- `searches`: the section on searches.
- `predictions`: the section on stored predictions.
- `audits`: the section on audits, and a page of audits alone.
"""
