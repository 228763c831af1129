"""Pictures of single results, for notebooks: ``result.plot()`` ends here."""
