"""Numbers, formulas, correlations and claims of the text, and results of other authors."""
