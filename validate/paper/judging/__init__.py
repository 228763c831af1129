"""How a printed number is judged: beside ours, and where it differs beside its neighbours."""
