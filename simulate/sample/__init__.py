"""From runs to intervals: settings, replications, warm-up, units, precision."""
